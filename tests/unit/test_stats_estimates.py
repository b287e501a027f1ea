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


def test_a_mean_over_draws_has_the_interval_of_its_logarithm():
    found = positive_mean_t(np.array([0.5, 0.0, 1.5, 0.6]))
    factor = np.exp(3.1824463 * np.std([0.5, 0.0, 1.5, 0.6], ddof=1) / 2 / 0.65)  # t with 3 degrees, a printed table
    assert found == pytest.approx((0.65, 0.65 / factor, 0.65 * factor), rel=1e-7)
    assert_equal(positive_mean_t(np.array([0.1, 0.2])), Estimate(0.15000000000000002, NAN, NAN))
    assert_equal(positive_mean_t(np.zeros(3)), Estimate(0.0, NAN, NAN))


@pytest.mark.parametrize("draws", [4, 10])
@pytest.mark.parametrize(("sigma", "least"), [(0.7, 0.92), (1.3, 0.9)])
def test_a_mean_over_draws_is_covered_where_they_differ_by_factors(draws, sigma, least):
    drawn = np.random.Generator(np.random.Philox(1))
    # Churn grows with a draw's sensitivity until it is that of all noise together.
    sensitivities = 0.5 * np.exp(sigma * drawn.normal(size=(200_000,)))
    churns = sensitivities / (1 + sensitivities)
    studies, truth = drawn.choice(churns, (3000, draws)), churns.mean()
    held = [[low < truth < high for _, low, high in (positive_mean_t(study), mean_t(study))] for study in studies]
    logarithmic, linear = np.mean(held, axis=0)
    assert logarithmic > least
    assert logarithmic > linear
