"""Pitman's and Morgan's test holds its level and has power where the F test has none."""

import numpy as np
import pytest
from scipy import stats

from toolnoise.stats.paired_sds import paired_sd_ratio

STUDIES = 4000


def _arms(runs: int, correlation: float, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    draws = np.random.default_rng(7)
    one, other = draws.standard_normal((2, STUDIES, runs))
    return one, ratio * (correlation * one + np.sqrt(1 - correlation**2) * other)


def _rejected(a: np.ndarray, b: np.ndarray, bound: float = 0.0) -> float:
    found = [paired_sd_ratio(*arms) for arms in zip(a, b, strict=True)]
    return float(np.mean([2 * min(one.above(bound), one.below(bound)) < 0.05 for one in found]))


def test_the_pvalue_is_that_of_the_correlation_of_sum_and_difference():
    a, b = _arms(8, 0.6, 1.7)
    found = paired_sd_ratio(a[0], b[0])
    of_correlation = stats.pearsonr(a[0] + b[0], b[0] - a[0]).pvalue
    assert 2 * min(found.above(0), found.below(0)) == pytest.approx(of_correlation, rel=1e-9)


@pytest.mark.parametrize("runs", [5, 10])
@pytest.mark.parametrize("correlation", [0, 0.5, 0.95])
def test_equal_sds_are_called_different_in_five_percent(runs, correlation):
    assert _rejected(*_arms(runs, correlation, 1)) == pytest.approx(0.05, abs=0.012)


def test_the_interval_holds_the_ratio_in_95_percent():
    a, b = _arms(10, 0.8, 1.6)
    inside = [
        low <= np.log(1.6) <= high
        for _, low, high in (paired_sd_ratio(*arms).estimate for arms in zip(a, b, strict=True))
    ]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.012)


def test_correlated_runs_show_a_ratio_that_the_f_test_misses():
    a, b = _arms(5, 0.95, 2)
    variances = np.var(b, axis=1, ddof=1) / np.var(a, axis=1, ddof=1)
    by_f = 2 * np.minimum(stats.f.cdf(variances, 4, 4), stats.f.sf(variances, 4, 4)) < 0.05
    assert _rejected(a, b) > 0.65 > 0.1 > by_f.mean()


def test_what_cannot_be_tested_is_none():
    some = np.array([1.0, 2.0, 4.0])
    assert paired_sd_ratio(some, np.ones(3)) is None
    assert paired_sd_ratio(some[:2], some[:2] ** 2) is None
    assert paired_sd_ratio(some, 3 * some) is None
