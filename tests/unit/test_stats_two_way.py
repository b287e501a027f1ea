"""Pairwise measures of other runs on other examples."""

import numpy as np
import pytest
from numpy.testing import assert_equal

from toolnoise.formulas.churn import churn as churn_of_runs
from toolnoise.formulas.example_churn import ExampleChurn
from toolnoise.stats.estimates import UNDEFINED, Estimate
from toolnoise.stats.jackknife import pairwise_jackknife
from toolnoise.stats.two_way import two_way_bootstrap

DRAWS = np.random.Generator(np.random.Philox(7))
PREDICTIONS = DRAWS.integers(0, 3, (8, 300)) * (DRAWS.random(300) < 0.3)


def churn(predictions, stream=1, **options):
    return two_way_bootstrap(ExampleChurn(predictions), *predictions.shape, stream, **options)


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


def test_equal_runs_differ_nowhere():
    assert churn(np.zeros((4, 20), int)) == (0, 0, 0)


def test_two_runs_have_a_value_one_has_none():
    assert_equal(churn(PREDICTIONS[:2]), Estimate(np.mean(PREDICTIONS[0] != PREDICTIONS[1]), np.nan, np.nan))
    assert_equal(churn(PREDICTIONS[:1]), UNDEFINED)
