import pytest

from toolnoise.base.noise_sources import ALGORITHMIC, SOURCES, replicate
from toolnoise.study.variants import VARIANTS, Variant, variant


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
        "bit": ("bit",),
    }
    assert [*ALGORITHMIC, "impl", "bit"] == list(SOURCES)
    assert all(variant(name) == Variant(sources, 0) for name, sources in VARIANTS.items())


@pytest.mark.parametrize(
    ("name", "sources", "bit_after"),
    [
        ("shuffle+impl", ("shuffle", "impl"), 0),
        ("shuffle+augment+impl", ("shuffle", "augment", "impl"), 0),
        ("init+bit", ("init", "bit"), 0),
        ("bit_1", ("bit",), 1),
        ("dropout+bit_100", ("dropout", "bit"), 100),
        ("+".join(SOURCES), SOURCES, 0),
    ],
)
def test_any_sources_may_be_combined_and_a_bit_may_be_moved_later(name, sources, bit_after):
    assert variant(name) == Variant(sources, bit_after)


@pytest.mark.parametrize(
    "name",
    [
        *[
            "",
            "+",
            "weather",
            "all",
            "impl+shuffle",
            "shuffle+shuffle",
            "shuffle+",
            "+impl",
            "algo+bit",
            "control+impl",
        ],
        *[
            "shuffle+weather",
            "bit_0",
            "bit_01",
            "bit_",
            "bit_-1",
            "bit_1.5",
            "bit_\u0661",
            "bit_1+bit",
            "impl_3",
            "bit+init",
        ],
    ],
)
def test_anything_else_is_no_variant(name):
    assert variant(name) is None


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", VARIANTS)
def test_a_source_has_the_runs_seed_if_it_may_vary_and_else_that_of_no_run(source, name, make_spec):
    varying = VARIANTS[name]
    assert replicate(source, make_spec(name, 5)) == (5 if source in varying else 0)
