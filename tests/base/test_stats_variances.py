"""Variances, by rows and columns, of pairs and of a test set, against their definitions and by simulation."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_equal

from toolnoise.formulas.churn import ExampleChurn, two_way_bootstrap
from toolnoise.formulas.churn import churn as churn_of_runs
from toolnoise.formulas.groups import (
    distribution_wise_sd,
    distribution_wise_variance,
    independent_errors_sd,
)
from toolnoise.formulas.variance_components import NONE, components, of_own_row
from toolnoise.stats.estimates import UNDEFINED, Estimate
from toolnoise.stats.jackknife import pairwise_jackknife
from toolnoise.stats.spread import root_mean_square, sd_robust

# Components of variance, against their definition and by simulation


TRUE = {"row": 1.0, "within": 0.7, "column": 0.2, "interaction": 0.5}


def table(draws, rows, columns):
    scales = np.sqrt([TRUE["row"], TRUE["column"], TRUE["interaction"]])
    shapes = (rows, 1), (1, columns), (rows, columns)
    return sum(scale * draws.normal(size=shape) for scale, shape in zip(scales, shapes, strict=True))


def test_estimates_are_unbiased_and_intervals_cover():
    draws = np.random.Generator(np.random.Philox(7))
    found = [components(table(draws, 4, 5), crossed=True) for _ in range(1000)]
    for name, wanted in TRUE.items():
        values, lows, highs = np.array([getattr(one, name) for one in found]).T
        assert abs(values.mean() - wanted) < 4 * values.std() / np.sqrt(len(values)), name
        assert 0.93 < np.mean((lows <= wanted) & (wanted <= highs)) < 0.995, name


def test_rows_alone_are_told_apart_where_columns_mean_nothing():
    found = components(np.array([[1.0, 2.0], [5.0, 6.0], [9.0, 10.0]]), crossed=False)
    assert found.within.value == pytest.approx(0.5)
    assert found.row.value == pytest.approx((2 * 16 - 0.5) / 2)
    assert np.isnan(found.column.value)


def test_equal_runs_have_no_variance_and_a_single_draw_has_no_components():
    zero = components(np.full((3, 4), 0.1), crossed=True)
    assert all(part.value == 0 for part in zero)
    np.testing.assert_array_equal(components(np.ones((1, 5)), crossed=True), NONE)


def test_the_variance_within_rows_is_covered_where_all_rows_have_the_same_columns():
    draws, held = np.random.Generator(np.random.Philox(8)), []
    for _ in range(600):
        column, rest = np.sqrt(0.6) * draws.normal(size=(1, 8)), np.sqrt(0.4) * draws.normal(size=(8, 8))
        _, low, high = components(column + rest, crossed=True).within
        held.append(low < 1 < high)
    assert np.mean(held) > 0.93


@pytest.mark.parametrize(("rows", "sigma", "least"), [(3, 0, 0.95), (4, 1.3, 0.9)])
def test_the_interaction_is_covered_where_rows_differ_in_noise(rows, sigma, least):
    """`bench/error_rates.py` has this for more rows and sigmas."""
    draws, held = np.random.Generator(np.random.Philox(9)), []
    for _ in range(600):
        sds = np.exp(sigma / 2 * draws.normal(size=(rows, 1)))
        _, low, high = components(sds * draws.normal(size=(rows, 16)), crossed=True).interaction
        held.append(low <= np.exp(sigma**2 / 2) <= high)
    assert np.mean(held) >= least


def test_the_interaction_of_a_row_is_its_own():
    sds, draws = np.array([[0.0], [1.0], [2.0], [4.0]]), np.random.Generator(np.random.Philox(10))
    rests = sds * draws.normal(size=(4, 100_000))
    rests -= rests.mean(axis=0)
    np.testing.assert_allclose(of_own_row(4 / 3 * rests.var(axis=1)), [0, 1, 4, 16], atol=0.15)
    # Of two rows, each has half of the rest: nothing says which is noisier.
    np.testing.assert_array_equal(of_own_row(np.array([2.0, 2.0])), [2, 2])


# Pairwise measures of other runs on other examples


DRAWS = np.random.Generator(np.random.Philox(7))
PREDICTIONS = DRAWS.integers(0, 3, (8, 300)) * (DRAWS.random(300) < 0.3)


def churn(predictions, stream=1, **options):
    return two_way_bootstrap(ExampleChurn(predictions), stream, **options)


def test_its_value_is_the_jackknifes_and_its_interval_wider():
    both, runs_alone = churn(PREDICTIONS), pairwise_jackknife(churn_of_runs(PREDICTIONS))
    assert both.value == pytest.approx(runs_alone.value)
    assert both.low < runs_alone.low < runs_alone.high < both.high


def test_examples_that_are_all_alike_add_nothing():
    # What a run says of one example it says of all.
    predictions = np.repeat(DRAWS.random((40, 1)) < 0.2, 50, axis=1)
    both, runs_alone = churn(predictions), pairwise_jackknife(churn_of_runs(predictions))
    assert both.high - both.low == pytest.approx(runs_alone.high - runs_alone.low, rel=0.25)


def test_many_runs_leave_the_uncertainty_of_the_examples():
    # Every run errs as every other does, so that what varies is which examples are hard.
    hard = DRAWS.random(400) < 0.3
    predictions = np.where(hard, DRAWS.integers(0, 2, (60, 400)), 0)
    found = churn(predictions, resamples=300)
    counts = predictions.sum(axis=0)
    by_example = 2 * counts * (60 - counts) / (60 * 59)
    assert (found.high - found.low) / 2 == pytest.approx(1.96 * by_example.std() / 20, rel=0.15)


def test_it_repeats_exactly_and_only_with_its_stream():
    assert churn(PREDICTIONS, resamples=50) == churn(PREDICTIONS, resamples=50)
    assert churn(PREDICTIONS, resamples=50) != churn(PREDICTIONS, stream=2, resamples=50)


def test_two_runs_have_a_value_one_has_none():
    assert_equal(churn(PREDICTIONS[:2]), Estimate(np.mean(PREDICTIONS[0] != PREDICTIONS[1]), np.nan, np.nan))
    assert_equal(churn(PREDICTIONS[:1]), UNDEFINED)
    assert_equal(churn(np.zeros((4, 20), int)), Estimate(0.0))


# What the size of a test set makes of an SD, and the variance that is left


def of_runs(right, step=0.0):
    """The variance of runs of one draw."""
    return distribution_wise_variance([right], sd_robust(right.mean(axis=1), step))


RIGHT = st.tuples(st.integers(2, 6), st.integers(2, 9)).flatmap(lambda shape: arrays(np.bool_, shape))


@given(RIGHT)
def test_the_distribution_wise_variance_is_the_mean_covariance_of_two_examples(right):
    covariances = np.cov(right.T.astype(float), ddof=1)
    pairs = [covariances[i, j] for i, j in itertools.permutations(range(right.shape[1]), 2)]
    assert of_runs(right).value == pytest.approx(np.mean(pairs), abs=1e-12)


def test_runs_that_share_their_luck_unequally_can_make_it_negative():
    right = np.array([[True, False], [False, True]])  # equally good, on different examples
    assert of_runs(right).value == pytest.approx(-0.5)


def test_runs_that_are_equally_accurate_by_luck_may_have_some():
    right = np.array([[True, True, False], [True, False, True], [True, True, False], [True, False, True]])
    found = of_runs(right, 1 / 3)
    assert found.low == found.value < 0 < found.high


def test_the_distribution_wise_sd_is_the_root_with_the_sign_of_the_variance():
    assert distribution_wise_sd(Estimate(-0.04, -0.09, 0.25)) == pytest.approx((-0.2, -0.3, 0.5))
    assert distribution_wise_sd(Estimate(0.0, 0.0, 0.0)) == (0, 0, 0)
    assert_equal(distribution_wise_sd(UNDEFINED), UNDEFINED)


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
    assert of_runs(np.tile([True, False, True], (4, 1))) == (0, 0, 0), "bit-equal"
    assert_equal(of_runs(np.ones((1, 5), bool)), UNDEFINED)
    assert_equal(of_runs(np.ones((5, 1), bool)), UNDEFINED)
    assert np.isnan(independent_errors_sd(np.ones((1, 5), bool)))
