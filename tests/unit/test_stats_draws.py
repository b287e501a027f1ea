"""What is independent, for every combination of variants."""

import itertools

import numpy as np
import pytest

from toolnoise.base import noise_sources
from toolnoise.base.spec import Spec
from toolnoise.stats import draws
from toolnoise.study.variants import VARIANTS


def spec_of(varying, noise, **more):
    hardware = {"name": "cpu", "engine": "tensorflow", "impl_noise": noise}
    parts = {"model": {"name": "m"}, "recipe": {}, "hardware": hardware, "variant": {"name": "v", "varying": varying}}
    return Spec.read({"study_seed": 0, "seed": 0, **parts, **more})


def drawn(variant, seeds, noise="reduction-order", **more):
    """The draws of runs of a variant, as a dump has them."""
    found = noise_sources.draws(spec_of(VARIANTS[variant], noise, **more), seeds)
    return [{source: numbers and numbers[run] for source, numbers in found.items()} for run in range(len(seeds))]


FREE = ("algo", "algo_impl")  # variants that fix no algorithmic source


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations_with_replacement(VARIANTS, 2)))
def test_units_of_two_variants_are_their_common_algorithmic_draws(one, other):
    seeds = [1, 2, 3, 4, 5]
    a, b = draws.units(drawn(one, seeds), drawn(other, seeds))
    both_free = one in FREE and other in FREE
    if both_free:
        np.testing.assert_array_equal(a, b)  # paired: run s of one belongs to run s of the other
    for units, variant, beside in ((a, one, other), (b, other, one)):
        # One draw, unless every algorithmic source varies and the other does not tie the runs together.
        tied = beside in noise_sources.ALGORITHMIC
        assert len(set(units)) == (5 if variant in FREE and not tied else 1), (variant, beside)


def test_draws_of_a_variant_are_units_and_pair_with_algo():
    impl, algo = drawn("impl", [10001, 10002, 20001, 20002], draw=1), drawn("algo", [1, 2, 3])
    a, b = draws.units(impl, algo)
    assert a.tolist() == [0, 0, 1, 1]
    assert b.tolist() == [0, 1, 2]


def test_native_noise_is_drawn_anew_and_makes_no_unit():
    runs = drawn("algo_impl", [1, 2], noise="native")
    assert [run["impl"] for run in runs] == [None, None]
    assert draws.units(runs)[0].tolist() == [0, 1]


@pytest.mark.parametrize("variant", FREE)
def test_run_s_of_two_toolings_share_every_algorithmic_draw(variant):
    one, other = drawn(variant, [1, 2, 3], noise="reduction-order"), drawn(variant, [1, 2, 3], noise="native")
    plan = draws.design(*draws.units(one, other))
    assert plan.way == "paired"
    assert draws.shared_between(plan, one, other) == list(noise_sources.ALGORITHMIC)


def test_what_is_bit_identical_is_one_run():
    assert draws.merged(np.array([0, 1, 2, 3]), ["x", "y", "x", "z"]).tolist() == [0, 1, 0, 3]


def test_members_are_in_the_order_of_the_runs():
    assert [list(runs) for runs in draws.members(np.array([4, 1, 4, 1]))] == [[0, 2], [1, 3]]


EIGHT = tuple(name for name in VARIANTS if name != "bit")


@pytest.mark.parametrize(("one", "other"), list(itertools.product(EIGHT, EIGHT)))
def test_two_variants_are_paired_or_one_of_them_is_one_draw(one, other):
    a, b = draws.units(drawn(one, [1, 2, 3, 4, 5]), drawn(other, [1, 2, 3, 4, 5]))
    found = draws.design(a, b)
    assert found.way == ("paired" if one in FREE and other in FREE else "one draw")


@pytest.mark.parametrize(
    ("a", "b", "way", "compared", "shared"),
    [
        ([0, 1, 2], [0, 1, 2], "paired", ([0, 1, 2], [0, 1, 2]), 3),
        ([0, 1, 2, 3], [1, 1, 2, 4], "partly paired", ([1, 2, 0, 3], [1, 2, 4]), 2),
        ([0, 1], [2, 3, 3], "independent", ([0, 1], [2, 3]), 0),
        ([0, 1, 2], [2, 3, 4], "partly paired", ([2, 0, 1], [2, 3, 4]), 1),
        ([0, 1, 2], [2, 3], "partly paired", ([2, 0, 1], [2, 3]), 1),
        ([0, 1], [0, 1, 2], "partly paired", ([0, 1], [0, 1, 2]), 2),
        ([0, 1, 2], [3, 3], "one draw", ([0, 1, 2], [3]), 0),
        ([0, 1, 2], [2, 2], "one draw", ([2, 0, 1], [2]), 1),
        ([0, 0], [0], "one draw", ([0], [0]), 1),
    ],
)
def test_the_design_follows_from_the_units_of_both_arms(a, b, way, compared, shared):
    found = draws.design(np.array(a), np.array(b))
    assert (found.way, found.shared) == (way, shared)
    assert (found.units_a.tolist(), found.units_b.tolist()) == compared


@pytest.mark.parametrize(("assumption", "way"), [("paired", "paired"), ("same start", "one draw")])
def test_what_is_assumed_of_runs_without_draws_ties_them(assumption, way):
    a, b = draws.units(draws.assumed(3, assumption), draws.assumed(3, assumption))
    assert draws.design(a, b).way == way


def test_runs_of_which_nothing_is_known_are_all_on_their_own():
    a, b = draws.units(draws.assumed(3, "independent"), drawn("algo", [1, 2]))
    assert [a.tolist(), b.tolist()] == [[0, 1, 2], [3, 4]]


def test_shared_sources_are_those_with_one_draw_in_all_runs():
    assert draws.shared(drawn("init", [1, 2])) == ["shuffle", "augment", "dropout"]
    assert draws.shared(drawn("impl", [1, 2])) == list(noise_sources.ALGORITHMIC)
    assert draws.shared(draws.assumed(2, "same start")) == ["init"]
    algo, both = drawn("algo", [1, 2, 3]), drawn("algo_impl", [2, 3, 4])
    plan = draws.design(*draws.units(algo, both))
    assert draws.shared_between(plan, algo, both) == list(noise_sources.ALGORITHMIC)
    apart = draws.design(*draws.units(algo, drawn("algo", [7, 8])))
    assert draws.shared_between(apart, algo, drawn("algo", [7, 8])) == []


def test_means_over_units_weigh_units_and_not_runs():
    numbers = np.array([5, 5, 5, 8])
    np.testing.assert_array_equal(
        draws.unit_means(np.array([0.1, 0.1, 0.1, 0.4]), numbers, np.array([5, 8])), [0.1, 0.4]
    )
    matrix = np.arange(16.0).reshape(4, 4)
    blocks = draws.pair_means(matrix, numbers, numbers, np.array([5, 8]), np.array([8]))
    np.testing.assert_allclose(blocks, [[matrix[:3, 3].mean()], [matrix[3, 3]]])
    same = draws.same_unit_means(matrix + matrix.T, numbers)
    np.testing.assert_allclose(same, [np.mean([1 + 4, 2 + 8, 6 + 9])])


def test_a_source_that_a_training_does_not_use_ties_no_runs_together():
    spec = spec_of(["init", "shuffle"], "native")

    def units(unused):
        found = noise_sources.draws(spec, [1, 2, 3], unused)
        return draws.units(
            [{source: numbers and numbers[run] for source, numbers in found.items()} for run in range(3)]
        )[0].tolist()

    # The recipe of the authors' code has neither augmentation nor dropout, which their ALGO would fix.
    assert units(["augment", "dropout"]) == [0, 1, 2]
    assert units(["augment"]) == [0, 0, 0]


def test_units_of_one_run_each_are_taken_as_they_are():
    rng = np.random.default_rng(3)
    rows, columns = rng.permutation(7) * 2, rng.permutation(5)
    matrix = rng.normal(size=(7, 5))
    chosen, others = np.array([12, 0, 4]), np.array([3, 1])
    one, other = chosen[:, np.newaxis] == rows, others[:, np.newaxis] == columns
    found = draws.pair_means(matrix, rows, columns, chosen, others)
    assert (found == one.astype(float) @ matrix @ other.astype(float).T).all()
