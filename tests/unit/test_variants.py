import pytest

from toolnoise.variants import ALGORITHMIC, SOURCES, VARIANTS, replicate


def test_what_each_variant_lets_vary():
    assert VARIANTS == {
        "algo_impl": ("init", "shuffle", "augment", "dropout", "impl"),
        "algo": ("init", "shuffle", "augment", "dropout"),
        "impl": ("impl",),
        "control": (),
        "init": ("init",),
        "shuffle": ("shuffle",),
        "augment": ("augment",),
        "dropout": ("dropout",),
    }
    assert set(SOURCES) - set(ALGORITHMIC) == {"impl"}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("varying", VARIANTS.values(), ids=list(VARIANTS))
def test_a_source_has_the_runs_seed_if_it_may_vary_and_else_that_of_no_run(source, varying):
    assert replicate(source, varying, 5) == (5 if source in varying else 0)
