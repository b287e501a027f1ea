"""Tests of two SDs: their definitions, their symmetry, and what cannot be decided."""

import numpy as np
import pytest
from numpy.testing import assert_equal
from scipy import stats

from toolnoise.stats.result import UNDECIDED
from toolnoise.stats.two_spreads import brown_forsythe, equivalence, f_test, f_test_from_sds, permutation_test

DRAWS = np.random.Generator(np.random.Philox(1))
NARROW, WIDE = DRAWS.normal(0.9, 0.002, 10), DRAWS.normal(0.5, 0.01, 12)
EVERY_TEST = [f_test, brown_forsythe, lambda a, b: permutation_test(a, b, 1), lambda a, b: equivalence(a, b, 1.5)]


def test_f_is_the_ratio_of_variances_and_its_interval_inverts_the_test():
    found = f_test(NARROW, WIDE)
    assert found.statistic == pytest.approx(np.var(NARROW, ddof=1) / np.var(WIDE, ddof=1))
    assert found.pvalue == pytest.approx(2 * stats.f.cdf(found.statistic, 9, 11))
    for end in found.confidence_interval:
        # Runs whose true ratio is at the end of the interval: the F test of them is just at its level.
        assert f_test(NARROW / end, WIDE).pvalue == pytest.approx(0.05)


def test_f_from_published_sds_is_that_of_the_runs():
    found = f_test_from_sds(np.std(NARROW, ddof=1), 10, np.std(WIDE, ddof=1), 12)
    assert (found.pvalue, *found.effect) == pytest.approx((f_test(NARROW, WIDE).pvalue, *f_test(NARROW, WIDE).effect))


@pytest.mark.parametrize("test", EVERY_TEST)
def test_either_arm_may_come_first(test):
    one, other = test(NARROW, WIDE), test(WIDE, NARROW)
    assert one.pvalue == pytest.approx(other.pvalue, abs=0.01)
    assert one.effect.value == pytest.approx(1 / other.effect.value)
    assert one.effect.low == pytest.approx(1 / other.effect.high)


@pytest.mark.parametrize("test", EVERY_TEST)
def test_means_and_units_do_not_matter(test):
    moved, found = test(100 * NARROW + 7, 100 * WIDE - 3), test(NARROW, WIDE)
    assert (moved.pvalue, *moved.effect) == pytest.approx((found.pvalue, *found.effect), rel=1e-6)


def test_equal_sds_pass_and_far_ones_do_not():
    for test in EVERY_TEST[:3]:
        assert test(NARROW, NARROW[::-1]).pvalue > 0.9
        assert test(NARROW, WIDE).pvalue < 0.01


def test_brown_forsythe_without_its_zeros_against_the_plain_test_in_many_runs():
    one, other = DRAWS.normal(0, 1, 2001), DRAWS.normal(0, 1.05, 2001)
    plain = stats.levene(one, other, center="median")
    assert brown_forsythe(one, other).pvalue == pytest.approx(plain.pvalue, rel=0.02)


def test_brown_forsythe_by_hand():
    # Distances 3 1 0 1 2 and, of an even number, 2 1 1 4: without the zero; the pair of ones as sqrt(2).
    one, other = np.array([3.0, 1.0, 1.0, 2.0]), np.array([np.sqrt(2), 2.0, 4.0])
    found = brown_forsythe(np.array([7.0, 9.0, 10.0, 11.0, 12.0]), np.array([0.0, 1.0, 3.0, 6.0]))
    assert found.statistic == pytest.approx(stats.ttest_ind(one, other).statistic ** 2)
    assert found.pvalue == pytest.approx(stats.ttest_ind(one, other).pvalue)
    assert found.effect.value == pytest.approx(one.mean() / other.mean())


def test_permutations_repeat_exactly_and_only_with_their_stream():
    assert permutation_test(NARROW, WIDE, 3) == permutation_test(NARROW, WIDE, 3)
    mild = NARROW[:6]
    assert permutation_test(mild, NARROW[5:], 3).pvalue != permutation_test(mild, NARROW[5:], 4).pvalue


def test_permutations_agree_with_scipys():
    one, other = NARROW[:6] - NARROW[:6].mean(), 3 * (NARROW[4:] - NARROW[4:].mean())
    one, other = (arm * np.sqrt(len(arm) / (len(arm) - 1)) for arm in (one, other))

    def distance(a, b, axis):
        return np.abs(np.log(np.std(a, ddof=1, axis=axis) / np.std(b, ddof=1, axis=axis)))

    everything = stats.permutation_test((one, other), distance, n_resamples=np.inf, alternative="greater")
    assert permutation_test(one, other, 1).pvalue == pytest.approx(everything.pvalue, abs=0.012)


@pytest.mark.parametrize("margin", [1.1, 1.6, 2.5, 4])
def test_equivalence_is_claimed_exactly_if_the_90_percent_interval_lies_within_the_margin(margin):
    for arm in (NARROW, 1.3 * NARROW, NARROW / 2):
        other = NARROW[::-1][:8]
        ratio = np.std(arm, ddof=1) / np.std(other, ddof=1)
        low, high = ratio / np.sqrt(stats.f.ppf([0.95, 0.05], 9, 7))
        assert (equivalence(arm, other, margin).pvalue < 0.05) == (1 / margin < low and high < margin)


@pytest.mark.parametrize("test", EVERY_TEST)
@pytest.mark.parametrize(
    ("a", "b"),
    [(np.full(5, 0.9), NARROW), (NARROW, np.full(5, 0.9)), (np.full(5, 0.9), np.full(5, 0.9)), (NARROW, NARROW[:1])],
)
def test_equal_runs_or_a_single_one_decide_nothing(test, a, b):
    assert_equal(test(a, b), UNDECIDED)
