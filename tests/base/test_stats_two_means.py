"""Comparisons of means: Welch's test, Hedges' g, probability of improvement, and arms partly of paired runs."""

import numpy as np
import pytest
from numpy.testing import assert_equal
from scipy import stats

from toolnoise.comparison.two_arms import (
    hedges_g,
    pair_weight,
    paired_difference,
    partly_paired_difference,
    probability_of_improvement,
)
from toolnoise.stats.estimates import UNDEFINED, Estimate
from toolnoise.stats.two_means import UNDECIDED, mean_difference

# Comparisons of means: Welch's test, Hedges' g and the probability of improvement


DRAWS = np.random.Generator(np.random.Philox(2))
BASE, BETTER = DRAWS.normal(0.90, 0.002, 10), DRAWS.normal(0.903, 0.005, 7)


def test_the_difference_has_welchs_test_and_interval():
    found, scipys = mean_difference(BASE, BETTER), stats.ttest_ind(BETTER, BASE, equal_var=False)
    assert found[:2] == pytest.approx((scipys.statistic, scipys.pvalue))
    assert found.effect[1:] == pytest.approx(tuple(scipys.confidence_interval()))
    assert found.effect.value == pytest.approx(BETTER.mean() - BASE.mean())


@pytest.mark.parametrize(("runs", "ratio"), [((2, 10), 0.5), ((3, 10), 0.5), ((5, 20), 0.5)])
def test_a_small_arm_and_a_larger_one_name_few_false_winners(runs, ratio):
    """The small arm has the larger SD, or an equal one; by Welch's degrees of freedom 2 runs against 10 have 10 %."""
    a, b = (DRAWS.normal(0, sd, (2_000, count)) for count, sd in zip(runs, (1, ratio), strict=True))
    assert np.mean([mean_difference(*both).pvalue < 0.05 for both in zip(a, b, strict=True)]) <= 0.06
    by_welch = np.mean(stats.ttest_ind(a, b, axis=1, equal_var=False).pvalue < 0.05)
    assert (by_welch > 0.06) == (runs[0] < 5)


def test_equal_arms_have_welchs_test_even_if_they_are_small_and_others_no_more_than_their_degrees_of_freedom():
    for runs in (3, 4):
        a, b = BASE[:runs], BETTER[:runs]
        assert mean_difference(a, b).pvalue == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue)
    small = [(most, 0.9 + 1e-6 * np.arange(runs), BETTER) for runs, most in ((2, 1.2), (3, 2.5), (4, 4.5))]
    for most, *arms in (*small, (1.2, BASE[:2], 1 - BASE[:2])):
        found = mean_difference(*arms)
        assert found.pvalue == pytest.approx(2 * stats.t.sf(abs(found.statistic), most))


def test_bit_equal_arms_differ_or_they_do_not():
    same, other = np.full(3, 0.5), np.full(4, 0.75)
    assert mean_difference(same, same) == (0, 1, (0, 0, 0))
    assert mean_difference(same, other) == (np.inf, 0, (0.25, 0.25, 0.25))


@pytest.mark.parametrize("runs", [2, 5, 10])
def test_equal_accuracies_in_each_arm_are_no_proof(runs):
    one = np.full(runs, 0.90), np.full(runs, 0.91)  # apart by one example of 100
    found = mean_difference(*one, (0.01, 0.01))
    assert found.effect == pytest.approx((0.01, 0.01 - 0.03689 / runs, 0.01 + 0.03689 / runs), rel=1e-3)
    assert found.pvalue == pytest.approx(min(1, 2 * np.exp(-runs)))
    assert (found.pvalue <= 0.05) == (found.effect.low > 0) == (runs > 2)
    assert mean_difference(one[0], one[0], (0.01, 0.01)).pvalue == 1


def test_equal_values_without_a_smallest_difference_are_not_tested():
    found = mean_difference(np.full(3, 0.5), np.full(3, 0.6), (0.0, np.nan))
    assert_equal(found[1:], (np.nan, Estimate(found.effect.value, np.nan, np.nan)))


def test_what_cannot_be_compared_is_undefined():
    assert_equal(mean_difference(BASE, BETTER[:1]), UNDECIDED)
    assert_equal(hedges_g(BASE, BETTER[:1]), UNDEFINED)
    assert_equal(hedges_g(np.full(3, 0.5), np.full(3, 0.6)), UNDEFINED)
    assert_equal(probability_of_improvement(BASE, BASE[:0]), UNDEFINED)


@pytest.mark.parametrize("runs", [2, 3])
def test_accuracies_that_differ_by_the_luck_of_one_example_are_seldom_called_different(runs):
    arms = DRAWS.integers(0, 2, (1_000, 2, runs)) / 100
    assert np.mean([mean_difference(*two, (0.01, 0.01)).pvalue <= 0.05 for two in arms]) <= 0.05


def test_g_is_the_difference_in_sds_made_smaller_for_few_runs():
    pooled = np.sqrt((9 * BASE.var(ddof=1) + 6 * BETTER.var(ddof=1)) / 15)
    found = hedges_g(BASE, BETTER)
    assert found.value == pytest.approx((BETTER.mean() - BASE.mean()) / pooled * (1 - 3 / (4 * 15 - 1)), rel=1e-3)


def test_the_ends_of_gs_interval_are_where_the_t_found_is_at_the_edge():
    found = hedges_g(BASE, BETTER)
    t = stats.ttest_ind(BETTER, BASE).statistic
    shifts = t * np.array([found.low, found.high]) / found.value
    assert stats.nct.cdf(t, 15, shifts) == pytest.approx([0.975, 0.025], abs=2e-5)


def test_g_has_no_bias_in_four_runs():
    arms = DRAWS.normal(0, 1, (300, 2, 4)) + np.array([[0.0], [1.0]])
    assert np.mean([hedges_g(*two).value for two in arms]) == pytest.approx(1, abs=0.15)


def test_improvement_counts_pairs_and_half_the_ties():
    found = probability_of_improvement(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0]))
    assert found.value == (1 + 0.5 + 0 + 3) / 6


def test_the_interval_of_improvement_is_where_the_score_test_is_at_its_level():
    chance, low, high = probability_of_improvement(BASE, BETTER)
    for end in (low, high):
        hanley_mcneil = end * (1 - end) * (1 + 7.5 * ((1 - end) / (2 - end) + end / (1 + end))) / 70
        assert abs(chance - end) / np.sqrt(hanley_mcneil) == pytest.approx(1.959964, rel=1e-5)


def test_even_where_every_run_is_better_the_interval_has_a_width():
    one, low, high = probability_of_improvement(BASE, BASE + 1)
    assert (one, high) == (1, 1)
    assert 0.6 < low < 0.9
    assert probability_of_improvement(BASE + 1, BASE) == pytest.approx(Estimate(0, 0, 1 - low))


def test_pairs_are_tested_by_their_differences_as_in_scipy():
    a, b = BASE[:4], BASE[:4] + np.array([0.1, 0.3, 0.2, 0.25])
    found, scipys = paired_difference(a, b), stats.ttest_rel(b, a)
    assert (found.statistic, found.pvalue) == pytest.approx((scipys.statistic, scipys.pvalue))
    assert found.effect[1:] == pytest.approx(scipys.confidence_interval())
    assert found.pvalue < mean_difference(a, b).pvalue
    assert_equal(paired_difference(a[:1], b[:1]), UNDECIDED)


def test_equal_differences_of_pairs_are_certain_only_without_a_step():
    a = np.array([0.5, 0.75])
    assert paired_difference(a, a) == (0, 1, (0, 0, 0))
    found = paired_difference(a, a + 0.25, 0.25)
    assert found.pvalue > 0.05
    assert found.effect.low < 0 < found.effect.value == 0.25
    assert paired_difference(np.zeros(9), np.full(9, 0.25), 0.25).pvalue < 0.05


def test_pairs_of_the_same_draw_do_not_count_for_paired_arms():
    a = np.array([1.0, 2.0, 3.0])
    found = probability_of_improvement(a, a + 0.5, 3)
    assert found.value == pytest.approx(0.5)  # without the three of the same draw, which are all better
    assert probability_of_improvement(a, a + 0.5).value == pytest.approx(2 / 3)
    assert probability_of_improvement(a, a[:2] + 0.5, 1).value == pytest.approx(2 / 5)
    assert_equal(probability_of_improvement(a[:1], a[:1], 1), UNDEFINED)


# Arms of which some runs are paired: the ends are Student's and Welch's tests, and between them no power is lost


STUDIES = 1_000


def arms(runs_a, runs_b, pairs, correlation, ratio=1.0, studies=STUDIES):
    """Normal runs of two methods in many studies; the first ones of both are correlated."""
    rng = np.random.Generator(np.random.Philox(11))
    a, own = rng.standard_normal((studies, runs_a)), rng.standard_normal((studies, runs_b))
    common = correlation * a[:, :pairs] + np.sqrt(1 - correlation**2) * own[:, :pairs]
    return a, ratio * np.concatenate([common, own[:, pairs:]], axis=1)


def named(a, b, pairs, gain=0.0):
    """The share of studies with a winner."""
    return np.mean([partly_paired_difference(*both, pairs).pvalue < 0.05 for both in zip(a, b + gain, strict=True)])


def test_if_all_runs_are_paired_it_is_students_test_of_the_differences():
    for a, b in zip(*arms(6, 6, 6, 0.7, 1.5, studies=5), strict=True):
        found, scipys = partly_paired_difference(a, b, 6), stats.ttest_rel(b, a)
        assert (found.statistic, found.pvalue) == pytest.approx((scipys.statistic, scipys.pvalue))
        assert found.effect[1:] == pytest.approx(tuple(scipys.confidence_interval()))


@pytest.mark.parametrize("runs", [(6, 6), (3, 3), (5, 9)])
def test_if_none_is_it_is_welchs(runs):
    for a, b in zip(*arms(*runs, 0, 0, 1.5, studies=5), strict=True):
        found, scipys = partly_paired_difference(a, b, 0), stats.ttest_ind(b, a, equal_var=False)
        assert (found.statistic, found.pvalue) == pytest.approx((scipys.statistic, scipys.pvalue))
        assert found.effect[1:] == pytest.approx(tuple(scipys.confidence_interval()))


def test_a_single_pair_hardly_changes_the_test():
    a, b = arms(20, 20, 1, 0.9, studies=200)
    one, none = (
        np.array([partly_paired_difference(*both, pairs).pvalue for both in zip(a, b, strict=True)]) for pairs in (1, 0)
    )
    assert np.quantile(np.abs(one - none), 0.95) < 0.06


def test_no_power_is_lost_where_some_runs_are_paired():
    """`bench/error_rates.py` has this at four correlations."""
    gain, correlation = 1.3, 0.8
    alone = named(*arms(10, 10, 0, correlation), 0, gain)
    for pairs in (1, 2, 5):
        a, b = arms(10, 10, pairs, correlation)
        assert named(a, b, pairs, gain) > alone - 0.05, pairs
        assert named(a, b, pairs) <= 0.06, pairs


def test_runs_that_are_not_paired_cost_little_where_pairs_agree():
    pairs = 6
    a, b = arms(10, 10, pairs, 0.95)
    gain = 3.3 * np.sqrt(0.1 / pairs)
    by_pairs = np.mean(stats.ttest_rel(a[:, :pairs], b[:, :pairs] + gain, axis=1).pvalue < 0.05)
    assert named(a, b, pairs, gain) > by_pairs - 0.08


@pytest.mark.parametrize(
    ("runs_a", "runs_b", "pairs", "correlation", "ratio"),
    [
        (3, 10, 1, 0.5, 0.5),
        (4, 10, 4, 0.7, 0.5),
        (5, 5, 4, 0.8, 2.0),
    ],
)
def test_unequal_arms_name_no_more_false_winners(runs_a, runs_b, pairs, correlation, ratio):
    # Of 1,000 studies at 6 %, 19 of 20 have no more than 7.3 %.
    assert named(*arms(runs_a, runs_b, pairs, correlation, ratio), pairs) <= 0.073


def test_the_interval_is_where_the_test_rejects():
    a, b = arms(8, 6, 5, 0.8, studies=40)
    for both in zip(a, b + 0.8, strict=True):
        found = partly_paired_difference(*both, 5)
        assert (found.pvalue < 0.05) == (found.effect.low > 0 or found.effect.high < 0)
        assert found.effect.value == pytest.approx(-partly_paired_difference(*both[::-1], 5).effect.value)


def test_pairs_weigh_more_the_better_they_agree():
    found = [arms(10, 10, 6, correlation, studies=1) for correlation in (0, 0.7, 0.9, 0.999)]
    weights = [pair_weight(a[0], b[0], 6).value for a, b in found]
    assert weights == sorted(weights)
    assert weights[0] < 0.2
    assert 0.9 < weights[-1] <= 1
    a, b = found[-1]
    assert pair_weight(a[0], b[0], 3).value == 0  # three pairs tell too little


def test_equal_runs_are_certain_only_without_a_step():
    same, other = np.full(4, 0.5), np.full(5, 0.75)
    assert partly_paired_difference(same, other, 2) == (np.inf, 0, (0.25, 0.25, 0.25))
    assert partly_paired_difference(same, other, 2, 0.25).effect.low < 0.25
    assert partly_paired_difference(same, same, 2) == (0, 1, (0, 0, 0))
    assert_equal(partly_paired_difference(same[:1], other, 1), UNDECIDED)
