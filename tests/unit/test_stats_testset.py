"""What the size of a test set makes of an SD, and the variance that is left."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_equal

from toolnoise.stats.estimates import UNDEFINED, Estimate
from toolnoise.stats.spread import root_mean_square, sd_robust
from toolnoise.stats.testset import (
    binomial_sd,
    distribution_wise_sd,
    distribution_wise_variance,
    independent_errors_sd,
)


def of_runs(right, step=0.0):
    """The variance of runs of one draw."""
    return distribution_wise_variance([right], sd_robust(right.mean(axis=1), step))


RIGHT = st.tuples(st.integers(2, 6), st.integers(2, 9)).flatmap(lambda shape: arrays(np.bool_, shape))


@given(RIGHT)
def test_the_distribution_wise_variance_is_the_mean_covariance_of_two_examples(right):
    covariances = np.cov(right.T.astype(float), ddof=1)
    pairs = [covariances[i, j] for i, j in itertools.permutations(range(right.shape[1]), 2)]
    assert of_runs(right).value == pytest.approx(np.mean(pairs), abs=1e-12)


@given(RIGHT)
def test_it_is_what_independent_errors_leave_of_the_variance(right):
    examples = right.shape[1]
    wanted = examples / (examples - 1) * (right.mean(axis=1).var(ddof=1) - independent_errors_sd(right) ** 2)
    found = of_runs(right)
    assert found.value == pytest.approx(wanted, abs=1e-12)
    assert not (found.low > found.value or found.value > found.high)


def test_runs_that_share_their_luck_unequally_can_make_it_negative():
    right = np.array([[True, False], [False, True]])  # equally good, on different examples
    assert of_runs(right).value == pytest.approx(-0.5)


def test_bit_equal_runs_have_none_at_all():
    assert of_runs(np.tile([True, False, True], (4, 1))) == (0, 0, 0)


def test_runs_that_are_equally_accurate_by_luck_may_have_some():
    right = np.array([[True, True, False], [True, False, True], [True, True, False], [True, False, True]])
    found = of_runs(right, 1 / 3)
    assert found.low == found.value < 0 < found.high


def test_the_distribution_wise_sd_is_the_root_with_the_sign_of_the_variance():
    assert distribution_wise_sd(Estimate(-0.04, -0.09, 0.25)) == pytest.approx((-0.2, -0.3, 0.5))
    assert distribution_wise_sd(Estimate(0.0, 0.0, 0.0)) == (0, 0, 0)
    assert_equal(distribution_wise_sd(UNDEFINED), UNDEFINED)


def test_it_is_unbiased_where_errors_are_independent():
    draws = np.random.Generator(np.random.Philox(3))
    found = [of_runs(draws.random((10, 100)) < 0.8).value for _ in range(600)]
    assert abs(np.mean(found)) < 3 * np.std(found) / np.sqrt(600)


def test_its_interval_is_that_of_the_variance_less_what_independent_errors_make():
    right = np.random.Generator(np.random.Philox(4)).random((10, 50)) < 0.8
    bounds = np.array(sd_robust(right.mean(axis=1))[1:]) ** 2
    wanted = 50 / 49 * (bounds - independent_errors_sd(right) ** 2)
    assert of_runs(right)[1:] == pytest.approx(tuple(wanted))


def test_over_draws_it_is_the_mean_variance_less_the_mean_of_independent_errors():
    draws = [np.random.Generator(np.random.Philox(seed)).random((4, 60)) < 0.7 for seed in range(3)]
    sd = root_mean_square(np.array([right.mean(axis=1).std(ddof=1) for right in draws]))
    value, low, high = distribution_wise_variance(draws, sd)
    assert value == pytest.approx(np.mean([of_runs(right).value for right in draws]))
    independent = np.mean([independent_errors_sd(right) ** 2 for right in draws])
    assert (low, high) == pytest.approx(tuple(60 / 59 * (np.square(sd[1:]) - independent)))


def test_one_run_or_one_example_has_none():
    assert_equal(of_runs(np.ones((1, 5), bool)), UNDEFINED)
    assert_equal(of_runs(np.ones((5, 1), bool)), UNDEFINED)
    assert np.isnan(independent_errors_sd(np.ones((1, 5), bool)))


def test_examples_that_all_err_alike_and_independently_have_the_binomial_sd():
    draws = np.random.Generator(np.random.Philox(5))
    right = draws.random((400, 1000)) < 0.8
    assert independent_errors_sd(right) == pytest.approx(binomial_sd(0.8, 1000), rel=0.01)
    assert right.mean(axis=1).std(ddof=1) == pytest.approx(binomial_sd(0.8, 1000), rel=0.1)
