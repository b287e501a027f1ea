"""Means and standard deviations with intervals, and p-values of several tests."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_equal
from scipy import stats

from toolnoise.formulas.churn import ExampleChurn, two_way_bootstrap
from toolnoise.formulas.groups import (
    distribution_wise_variance,
    independent_errors_sd,
)
from toolnoise.formulas.variance_components import components
from toolnoise.papers.identical.draw import range_in_sds
from toolnoise.stats.estimates import (
    Estimate,
    equal_runs_sd,
    mean_t,
    positive_mean_t,
    root_mean_square,
    sd_chi2,
    sd_robust,
)
from toolnoise.stats.significance import holm

NAN = np.nan


def normal(count, replicate=1):
    return np.random.Generator(np.random.Philox(replicate)).normal(0.9, 0.01, count)


@pytest.mark.parametrize(
    ("count", "low", "high"),
    [
        (5, 0.60, 2.87),
        (10, 0.69, 1.83),
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


def test_mean_has_students_interval():
    found = mean_t(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    half = 2.7764451 * np.sqrt(2.5 / 5)  # t at .975 with 4 degrees of freedom, from a printed table
    assert found == pytest.approx((3, 3 - half, 3 + half), rel=1e-7)


def test_equal_values_of_a_rate_leave_room_for_deviations_that_no_run_shows():
    # All of 50 examples right in 5 runs: at 1.5 % errors per example, this happens in one of forty studies.
    found = mean_t(np.ones(5), 1 / 50)
    assert 1 - found.low == found.high - 1 == pytest.approx(3.689 / 250, rel=1e-3)
    assert found.low**250 == pytest.approx(0.025, rel=0.06)
    assert_equal(mean_t(np.ones(5), NAN), Estimate(1.0, NAN, NAN))


T3 = 3.1824463  # t at .975 with 3 degrees of freedom, from a printed table


def test_a_mean_over_draws_has_the_interval_of_its_logarithm():
    values = np.array([0.5, 0.4, 1.5, 0.6])
    squared = np.var(np.sqrt(values), ddof=1) / np.mean(np.sqrt(values)) ** 2
    factor = np.exp(T3 * np.sqrt(((1 + squared) ** 4 - 1) / 3))
    assert positive_mean_t(values) == pytest.approx((0.75, 0.75 / factor, 0.75 * factor), rel=1e-7)
    wider = np.exp(T3 * np.sqrt(((1 + squared) ** 4 - 1) / 3 + 0.5))
    assert positive_mean_t(values, 0.5).high == pytest.approx(0.75 * wider, rel=1e-7)


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


TRUE = {"algo": 1.0, "impl": 0.7, "impl_alone": 0.2, "interaction": 0.5}


def table(draws, rows, columns):
    scales = np.sqrt([TRUE["algo"], TRUE["impl_alone"], TRUE["interaction"]])
    shapes = (rows, 1), (1, columns), (rows, columns)
    return sum(scale * draws.normal(size=shape) for scale, shape in zip(scales, shapes, strict=True))


def test_estimates_are_unbiased_and_intervals_cover():
    draws = np.random.Generator(np.random.Philox(7))
    found = [components(table(draws, 4, 5), crossed=True) for _ in range(1000)]
    for name, wanted in TRUE.items():
        values, lows, highs = np.array([getattr(one, name) for one in found]).T
        assert abs(values.mean() - wanted) < 4 * values.std() / np.sqrt(len(values)), name
        assert 0.93 < np.mean((lows <= wanted) & (wanted <= highs)) < 0.995, name


DRAWS = np.random.Generator(np.random.Philox(7))


def churn(predictions, stream=1, **options):
    return two_way_bootstrap(ExampleChurn(predictions), stream, **options)


def test_many_runs_leave_the_uncertainty_of_the_examples():
    # Every run errs as every other does, so that what varies is which examples are hard.
    hard = DRAWS.random(400) < 0.3
    predictions = np.where(hard, DRAWS.integers(0, 2, (60, 400)), 0)
    found = churn(predictions, resamples=300)
    counts = predictions.sum(axis=0)
    by_example = 2 * counts * (60 - counts) / (60 * 59)
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * by_example.std() / 20, rel=0.15)


def of_runs(right, step=0.0):
    """The variance of runs of one draw."""
    return distribution_wise_variance([right], sd_robust(right.mean(axis=1), step))


RIGHT = st.tuples(st.integers(2, 6), st.integers(2, 9)).flatmap(lambda shape: arrays(np.bool_, shape))


@given(RIGHT)
def test_the_distribution_wise_variance_is_the_mean_covariance_of_two_examples(right):
    covariances = np.cov(right.T.astype(float), ddof=1)
    pairs = [covariances[i, j] for i, j in itertools.permutations(range(right.shape[1]), 2)]
    assert of_runs(right).value == pytest.approx(np.mean(pairs), abs=1e-12)


def test_its_interval_is_that_of_the_variance_less_what_independent_errors_make():
    right = np.random.Generator(np.random.Philox(4)).random((10, 50)) < 0.8
    bounds = np.array(sd_robust(right.mean(axis=1))[1:]) ** 2
    wanted = 50 / 49 * (bounds - independent_errors_sd(right) ** 2)
    assert of_runs(right)[1:] == pytest.approx(tuple(wanted))
