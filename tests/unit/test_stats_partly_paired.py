"""Arms of which some runs are paired: the ends are Student's and Welch's tests, and between them no power is lost."""

import numpy as np
import pytest
from numpy.testing import assert_equal
from scipy import stats

from toolnoise.comparison.partly_paired import pair_weight, partly_paired_difference
from toolnoise.stats.two_means import UNDECIDED

STUDIES = 2_500


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


def test_all_pairs_but_one_are_almost_all():
    a, b = arms(20, 20, 20, 0.95, studies=200)
    most, whole = (
        np.array([partly_paired_difference(*both, pairs).effect for both in zip(a, b, strict=True)])
        for pairs in (19, 20)
    )
    assert np.quantile(np.abs(most - whole).max(axis=1), 0.95) < 0.15 * np.median(whole[:, 2] - whole[:, 1])


@pytest.mark.parametrize("correlation", [0.45, 0.8, 0.97])
def test_no_power_is_lost_where_some_runs_are_paired(correlation):
    gain = 1.3
    alone = named(*arms(10, 10, 0, correlation), 0, gain)
    for pairs in (1, 2, 3, 5):
        a, b = arms(10, 10, pairs, correlation)
        assert named(a, b, pairs, gain) > alone - 0.05, pairs
        assert named(a, b, pairs) <= 0.06, pairs


@pytest.mark.parametrize("pairs", [6, 9])
def test_runs_that_are_not_paired_cost_little_where_pairs_agree(pairs):
    a, b = arms(10, 10, pairs, 0.95)
    gain = 3.3 * np.sqrt(0.1 / pairs)
    by_pairs = np.mean(stats.ttest_rel(a[:, :pairs], b[:, :pairs] + gain, axis=1).pvalue < 0.05)
    assert named(a, b, pairs, gain) > by_pairs - 0.08


@pytest.mark.parametrize(
    ("runs_a", "runs_b", "pairs", "correlation", "ratio"),
    [
        (2, 10, 2, 0.0, 0.5),
        (3, 10, 1, 0.5, 0.5),
        (4, 10, 4, 0.7, 0.5),
        (5, 20, 5, 0.5, 0.5),
        (5, 5, 4, 0.8, 2.0),
        (3, 3, 2, 0.9, 1.0),
        (10, 30, 5, 0.7, 1.0),
    ],
)
def test_unequal_arms_name_no_more_false_winners(runs_a, runs_b, pairs, correlation, ratio):
    # Of 2,500 studies at 6 %, 19 of 20 have no more than 6.8 %.
    assert named(*arms(runs_a, runs_b, pairs, correlation, ratio), pairs) <= 0.068


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
