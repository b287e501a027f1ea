import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_equal

from toolnoise.stats.estimates import UNDEFINED, Estimate, mean_t, positive_mean_t, standard_deviation

NAN = np.nan
FRACTIONS = st.lists(st.integers(0, 997).map(lambda count: count / 997), max_size=12).map(np.array)


def test_mean_has_students_interval():
    found = mean_t(np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    half = 2.7764451 * np.sqrt(2.5 / 5)  # t at .975 with 4 degrees of freedom, from a printed table
    assert found == pytest.approx((3, 3 - half, 3 + half), rel=1e-7)


def test_one_run_has_a_mean_but_no_interval():
    assert_equal(mean_t(np.array([0.1])), Estimate(0.1, NAN, NAN))


def test_no_run_has_no_mean():
    assert_equal(mean_t(np.array([])), UNDEFINED)


def test_undefined_values_have_an_undefined_mean():
    assert_equal(mean_t(np.array([NAN, NAN, NAN])), UNDEFINED)


@given(st.integers(1, 997), st.integers(2, 50))
def test_equal_values_have_exactly_their_own_mean_and_no_spread(count, runs):
    values = np.full(runs, count / 997)
    assert mean_t(values) == (values[0], values[0], values[0])
    assert standard_deviation(values) == 0


def test_equal_values_of_a_rate_leave_room_for_deviations_that_no_run_shows():
    # All of 50 examples right in 5 runs: at 1.5 % errors per example, this happens in one of forty studies.
    found = mean_t(np.ones(5), 1 / 50)
    assert 1 - found.low == found.high - 1 == pytest.approx(3.689 / 250, rel=1e-3)
    assert found.low**250 == pytest.approx(0.025, rel=0.06)
    assert_equal(mean_t(np.ones(5), NAN), Estimate(1.0, NAN, NAN))


def test_sd_has_ddof_one_and_goes_over_the_last_axis():
    found = standard_deviation(np.array([[2.0, 4.0, 4.0, 6.0], [0.0, 0.0, 0.0, 1.0]]))
    np.testing.assert_allclose(found, [np.sqrt(8 / 3), 0.5], rtol=1e-15)


@given(FRACTIONS.filter(lambda values: len(values) > 1))
def test_sd_equals_numpys(values):
    assert standard_deviation(values) == pytest.approx(np.std(values, ddof=1), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("count", [0, 1])
def test_fewer_than_two_runs_have_no_sd(count):
    assert np.isnan(standard_deviation(np.ones(count)))


@given(FRACTIONS)
def test_the_interval_of_a_mean_holds_it(values):
    found = mean_t(values)
    if len(values) > 1:
        assert found.low <= found.value <= found.high
    assert all(type(part) is float for part in found)


def test_clipping_moves_bounds_but_neither_the_value_nor_the_undefined():
    assert Estimate(0.9, -0.1, 1.2).within(0, 1) == Estimate(0.9, 0.0, 1.0)
    assert Estimate(0.9, 0.8, 0.95).within(0, 1) == Estimate(0.9, 0.8, 0.95)
    assert_equal(UNDEFINED.within(0, 1), UNDEFINED)


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


@pytest.mark.parametrize(("draws", "runs"), [(3, 4), (4, 4), (5, 4), (10, 10)])
@pytest.mark.parametrize(("sigma", "least"), [(0, 0.95), (0.7, 0.92), (1.3, 0.9)])
@pytest.mark.parametrize("noisy", [1, 0.75])
def test_a_mean_over_draws_is_covered_where_they_differ_by_log_normal_factors(draws, runs, sigma, least, noisy):
    drawn = np.random.Generator(np.random.Philox(6))
    values = np.exp(sigma * drawn.normal(size=(4000, draws))) * drawn.chisquare(runs - 1, (4000, draws)) / (runs - 1)
    studies = values * (drawn.random((4000, draws)) < noisy)
    low, high = np.array([positive_mean_t(study)[1:] for study in studies]).T
    truth, given = noisy * np.exp(sigma**2 / 2), ~np.isnan(low)
    assert (given == (np.count_nonzero(studies, axis=1) > 1)).all()
    assert np.mean((low <= truth) & (truth <= high), where=given) >= least
