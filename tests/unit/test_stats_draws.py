"""What is independent, for every combination of variants."""

import itertools

import numpy as np
import pytest

from toolnoise.base import noise_sources
from toolnoise.stats import draws
from toolnoise.study.variants import VARIANTS


def drawn(variant, seeds, noise="reduction-order", **more):
    """The draws of runs of a variant, as a dump has them."""
    spec = {"variant": {"varying": VARIANTS[variant]}, "hardware": {"impl_noise": noise}, **more}
    found = noise_sources.draws(spec | {"seed": 0}, seeds)
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


def test_what_is_bit_identical_is_one_run():
    assert draws.merged(np.array([0, 1, 2, 3]), ["x", "y", "x", "z"]).tolist() == [0, 1, 0, 3]


def test_members_are_in_the_order_of_the_runs():
    assert [list(runs) for runs in draws.members(np.array([4, 1, 4, 1]))] == [[0, 2], [1, 3]]
