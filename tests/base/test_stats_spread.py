"""Means and standard deviations with intervals, and p-values of several tests."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_equal
from scipy import stats

from toolnoise.papers.identical.draw import range_in_sds
from toolnoise.stats.estimates import UNDEFINED, Estimate, mean_t, positive_mean_t, standard_deviation
from toolnoise.stats.jackknife import MANY
from toolnoise.stats.multiplicity import holm
from toolnoise.stats.spread import (
    equal_runs_sd,
    root_mean_square,
    sd_chi2,
    sd_robust,
    sd_without_each,
)

NAN = np.nan


def normal(count, replicate=1):
    return np.random.Generator(np.random.Philox(replicate)).normal(0.9, 0.01, count)


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [
        (5, 0.60, 2.87),
        (10, 0.69, 1.83),
        (16, 0.74, 1.55),
        (25, 0.78, 1.39),
        (50, 0.84, 1.25),
        (100, 0.88, 1.16),
    ],
)
def test_chi_square_interval_has_the_published_factors(count, low, high):
    found = sd_chi2(normal(count))
    assert round(found.low / found.value, 2) == low
    assert round(found.high / found.value, 2) == high


@pytest.mark.parametrize("count", [2, 3, 10])
def test_equal_values_without_a_step_have_an_sd_of_exactly_zero_without_an_interval(count):
    values = np.full(count, 0.1)
    for found in (sd_chi2(values), sd_robust(values), sd_chi2(values, NAN), sd_robust(values, NAN)):
        assert_equal(found, Estimate(0.0, NAN, NAN))
    assert_equal(mean_t(values), Estimate(0.1, NAN, NAN))


@pytest.mark.parametrize(("count", "steps"), [(2, 11.3), (5, 0.98), (10, 0.64), (100, 0.193)])
def test_equal_values_of_a_rate_leave_an_sd_possible_that_falls_with_the_runs(count, steps):
    values = np.full(count, 0.9)
    found = sd_chi2(values, 1 / 50)
    assert found == sd_robust(values, 1 / 50) == equal_runs_sd(count, 1 / 50)
    assert found == pytest.approx((0, 0, steps / 50), rel=5e-3)


@pytest.mark.parametrize("runs", [3, 5, 10])
def test_at_the_bound_runs_are_equal_in_one_of_forty_studies(runs):
    variance = equal_runs_sd(runs, 1.0).high ** 2
    draws = np.random.Generator(np.random.Philox(runs))
    up, down = draws.poisson(variance / 2, (2, 40_000, runs))
    assert np.mean(np.ptp(up - down, axis=1) == 0) == pytest.approx(0.025, abs=0.003)
    # In a class near 100 % examples deviate to one side alone.
    assert np.mean(np.ptp(draws.poisson(variance, (40_000, runs)), axis=1) == 0) < 0.025


def test_many_values_without_each_have_the_sd_of_the_rest():
    values = np.random.Generator(np.random.Philox(5)).normal(100, 1, MANY + 1)
    wanted = [np.delete(values, place).std(ddof=1) for place in range(len(values))]
    np.testing.assert_allclose(sd_without_each(values), wanted, rtol=1e-12)
    assert not sd_without_each(np.ones(MANY + 1)).any()


def bonett(values):
    """The interval of a variance as Bonett (2006) writes it, and its root."""
    n, z = len(values), 1.959964
    trimmed = stats.trim_mean(values, 1 / (2 * np.sqrt(n - 4)))
    kurtosis = n * ((values - trimmed) ** 4).sum() / ((values - values.mean()) ** 2).sum() ** 2
    c = n / (n - z)
    error = c * np.sqrt((kurtosis - (n - 3) / n) / (n - 1))
    centre = np.log(c * values.var(ddof=1))
    return values.std(ddof=1), *np.exp(np.array([centre - z * error, centre + z * error]) / 2)


@pytest.mark.parametrize("values", [normal(10), normal(30, 2) ** 3, np.array([3, 3, 4, 7, 7, 7, 9, 9]) / 10])
def test_the_robust_interval_is_bonetts(values):
    assert sd_robust(values) == pytest.approx(bonett(values), rel=1e-5)


def test_the_robust_interval_needs_five_runs():
    found = sd_robust(np.array([0.0, 0.0, 0.0, 2.0]))
    assert_equal(found, Estimate(1.0, NAN, NAN))
    assert_equal(sd_robust(np.array([])), UNDEFINED)


def test_the_range_of_normal_runs_in_sds_grows_with_their_number_as_tables_of_quality_control_have_it():
    # d2, to three digits.
    wanted = {2: 1.128, 3: 1.693, 5: 2.326, 10: 3.078, 16: 3.532, 25: 3.931}
    assert {runs: round(range_in_sds(runs), 3) for runs in wanted} == wanted
    assert range_in_sds(1) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("draws", "runs", "sigma", "least"), [(4, 4, 0, 0.94), (10, 10, 1.3, 0.9)])
def test_an_sd_over_draws_is_covered_where_draws_differ_in_noise(draws, runs, sigma, least):
    """`bench/error_rates.py` has this, and means, for more draws and sigmas."""
    drawn = np.random.Generator(np.random.Philox(int(10 * sigma)))
    variances = np.exp(sigma * drawn.normal(size=(1000, draws)))
    sds = np.sqrt(variances * drawn.chisquare(runs - 1, (1000, draws)) / (runs - 1))
    low, high = np.array([root_mean_square(study)[1:] for study in sds]).T
    truth, given = np.exp(sigma**2 / 4), ~np.isnan(low)
    assert given.mean() > 0.9
    assert least < np.mean(((low < truth) & (truth < high))[given]) < 0.98
    # The interval of a pooled variance takes draws for equally noisy.
    pooled, freedom = np.sqrt(np.mean(sds**2, axis=1)), draws * (runs - 1)
    low, high = pooled * np.sqrt(freedom / stats.chi2.ppf([[0.975], [0.025]], freedom))
    assert (np.mean((low < truth) & (truth < high)) < 0.9) == (sigma > 0)


def test_an_sd_over_draws_may_have_a_draw_without_noise_but_not_only_such():
    found = root_mean_square(np.array([0.0, 1.0, 1.0, 1.0]))
    assert found.value == pytest.approx(np.sqrt(3 / 4))
    assert 0 < found.low < found.value < found.high < 2
    assert_equal(root_mean_square(np.zeros(4)), Estimate(0.0, NAN, NAN))
    assert_equal(root_mean_square(np.array([0.0, 0.0, 0.0, 1.0])), Estimate(0.5, NAN, NAN))
    assert_equal(root_mean_square(np.array([1.0, 2.0])), Estimate(np.sqrt(2.5), NAN, NAN))
    # It would reach further than any SD of an accuracy does.
    found = root_mean_square(np.array([0.001, 0.001, 1.0]))
    assert found.value == pytest.approx(np.sqrt(1.000002 / 3))
    assert_equal(found[1:], (NAN, NAN))


# Means and SDs


SHARES = st.lists(st.integers(0, 997).map(lambda count: count / 997), max_size=12).map(np.array)


def test_mean_has_students_interval():
    found = mean_t(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    half = 2.7764451 * np.sqrt(2.5 / 5)  # t at .975 with 4 degrees of freedom, from a printed table
    assert found == pytest.approx((3, 3 - half, 3 + half), rel=1e-7)


@given(st.integers(1, 997), st.integers(2, 50))
def test_equal_values_have_exactly_their_own_mean_and_no_spread(count, runs):
    values = np.full(runs, count / 997)
    assert_equal(mean_t(values), Estimate(values[0]))
    assert standard_deviation(values) == 0


def test_one_run_has_a_mean_and_no_interval_and_what_is_undefined_has_neither_mean_nor_sd():
    assert_equal(mean_t(np.array([0.1])), Estimate(0.1, NAN, NAN))
    for of in (mean_t, sd_chi2):
        assert_equal(of(np.array([])), UNDEFINED)
        assert_equal(of(np.full(3, NAN)), UNDEFINED)
    assert_equal(sd_chi2(np.ones(1)), UNDEFINED)


def test_equal_values_of_a_rate_leave_room_for_deviations_that_no_run_shows():
    # All of 50 examples right in 5 runs: at 1.5 % errors per example, this happens in one of forty studies.
    found = mean_t(np.ones(5), 1 / 50)
    assert 1 - found.low == found.high - 1 == pytest.approx(3.689 / 250, rel=1e-3)
    assert found.low**250 == pytest.approx(0.025, rel=0.06)
    assert_equal(mean_t(np.ones(5), NAN), Estimate(1.0, NAN, NAN))


@given(SHARES.filter(lambda values: len(values) > 1))
def test_sd_equals_numpys(values):
    assert standard_deviation(values) == pytest.approx(np.std(values, ddof=1), rel=1e-12, abs=1e-15)
    assert np.isnan(standard_deviation(values[:1])) and np.isnan(standard_deviation(values[:0]))


T3 = 3.1824463  # t at .975 with 3 degrees of freedom, from a printed table


def test_a_mean_over_draws_has_the_interval_of_its_logarithm():
    values = np.array([0.5, 0.4, 1.5, 0.6])
    squared = np.var(np.sqrt(values), ddof=1) / np.mean(np.sqrt(values)) ** 2
    factor = np.exp(T3 * np.sqrt(((1 + squared) ** 4 - 1) / 3))
    assert positive_mean_t(values) == pytest.approx((0.75, 0.75 / factor, 0.75 * factor), rel=1e-7)
    wider = np.exp(T3 * np.sqrt(((1 + squared) ** 4 - 1) / 3 + 0.5))
    assert positive_mean_t(values, 0.5).high == pytest.approx(0.75 * wider, rel=1e-7)


def test_draws_without_noise_are_no_sign_of_a_draw_with_very_much():
    # One draw in four has none, and the others are alike: the mean of such draws varies as their number does.
    found = positive_mean_t(np.array([2.0, 0.0, 2.0, 2.0]))
    factor = np.exp(T3 * np.sqrt((4 / 3 - 1) / 3))
    assert found == pytest.approx((1.5, 1.5 / factor, 1.5 * factor), rel=1e-7)
    # What is below 0 by estimation counts as none, too, but in the mean.
    assert positive_mean_t(np.array([2.0, -0.4, 2.0, 2.0])) == pytest.approx((1.4, 1.4 / factor, 1.4 * factor))


def test_a_mean_over_draws_has_an_interval_however_wide_if_two_draws_have_noise():
    found = positive_mean_t(np.array([1e-4, 1e-4, 1.0]))
    assert 0 < found.low < 1e-6
    assert found.high > 1e6
    assert positive_mean_t(np.array([1e-30] * 200 + [1.0])) == (pytest.approx(1 / 201), 0, np.inf)
    for values, mean in (([0.0, 0.0, 0.0, 0.5], 0.125), ([0.0, 0.0, 0.0], 0), ([0.25, 0.75], 0.5)):
        assert_equal(positive_mean_t(np.array(values)), Estimate(mean, NAN, NAN))


@pytest.mark.parametrize(
    ("draws", "runs", "sigma", "noisy", "least"), [(3, 4, 0, 1, 0.95), (4, 4, 1.3, 0.75, 0.9), (10, 10, 1.3, 1, 0.9)]
)
def test_a_mean_over_draws_is_covered_where_they_differ_by_log_normal_factors(draws, runs, sigma, noisy, least):
    drawn = np.random.Generator(np.random.Philox(6))
    values = np.exp(sigma * drawn.normal(size=(1000, draws))) * drawn.chisquare(runs - 1, (1000, draws)) / (runs - 1)
    studies = values * (drawn.random((1000, draws)) < noisy)
    low, high = np.array([positive_mean_t(study)[1:] for study in studies]).T
    truth, given = noisy * np.exp(sigma**2 / 2), ~np.isnan(low)
    assert (given == (np.count_nonzero(studies, axis=1) > 1)).all()
    assert np.mean((low <= truth) & (truth <= high), where=given) >= least


# Adjusted p-values


PVALUES = st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array)


@given(PVALUES)
def test_holm_rejects_what_his_steps_reject(pvalues):
    for level in (0.01, 0.05, 0.5):
        rejected, left = set(), len(pvalues)
        for place in np.argsort(pvalues, kind="stable"):
            if pvalues[place] * left > level:
                break
            rejected.add(int(place))
            left -= 1
        assert set(np.flatnonzero(holm(pvalues) <= level)) == rejected


def test_holm_by_hand():
    assert_allclose(holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])
    # An undefined p-value is no test.
    assert_equal(holm(np.array([NAN, 0.01, NAN, 0.02])), np.insert(holm(np.array([0.01, 0.02])), [0, 1], NAN))
    assert_equal(holm(np.array([NAN])), [NAN])
    assert holm(np.array([])).shape == (0,)
