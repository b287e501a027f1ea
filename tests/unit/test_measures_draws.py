"""A measure of one draw becomes one of all draws."""

import numpy as np
import pytest
from numpy.testing import assert_equal

from toolnoise.measures.draws import Grouped, over_draws
from toolnoise.stats.estimates import Estimate, mean_t
from toolnoise.stats.sd_ratio import by_size

NAN = np.nan


def over(metric, *found):
    """One row over draws that have these estimates."""
    drawn = Grouped([np.array([draw]) for draw in range(len(found))], len(found), np.empty((0, 0), int), False)
    ((name, group, estimate),) = over_draws(drawn, lambda some: [(metric, "all", found[some[0]])])
    assert (name, group) == (metric, "all")
    return estimate


def test_a_mean_of_draws_has_its_interval_over_draws():
    values = np.array([0.1, 0.2, 0.4])
    found = over("churn", *(Estimate(value, NAN, NAN) for value in values))
    assert found == mean_t(values).within(0, 1)


def test_draws_with_equal_values_keep_the_interval_of_one_draw():
    assert over("accuracy_sd", Estimate(0.0, 0.0, 0.0), Estimate(0.0, 0.0, 0.0)) == (0, 0, 0)
    assert over("accuracy_sd", Estimate(0.0, 0.0, 0.02), Estimate(0.0, 0.0, 0.02)) == (0, 0, 0.02)
    assert_equal(over("churn", Estimate(0.1, NAN, NAN), Estimate(0.1, 0.0, 0.2)), Estimate(0.1, NAN, NAN))


def test_the_distribution_wise_sd_is_the_root_of_the_mean_variance_with_its_sign():
    found = over("accuracy_sd_distribution", Estimate(-0.2, NAN, NAN), Estimate(0.1, NAN, NAN))
    assert found.value == pytest.approx(-np.sqrt(0.015))
    assert found.low < found.value < 0 < found.high


def test_draws_do_not_show_what_other_examples_would_change():
    found = over("churn_new_examples", Estimate(0.1, 0.0, 0.2), Estimate(0.2, 0.1, 0.3))
    assert_equal(found, Estimate(0.15000000000000002, NAN, NAN))


@pytest.mark.parametrize(("draws", "runs"), [(2, 2), (4, 3), (4, 4), (8, 2)])
def test_the_null_of_a_ratio_holds_its_level_for_a_mean_over_draws(draws, runs):
    part, rest = 50, 350
    null = over("fnr_sd_ratio_null", *[by_size(part, part + rest).range(runs)] * draws)
    drawn = np.random.default_rng(0).standard_normal((2, 4000, draws, runs))
    of_part, of_rest = drawn / np.sqrt([part, rest])[:, np.newaxis, np.newaxis, np.newaxis]
    of_whole = (part * of_part + rest * of_rest) / (part + rest)
    ratios = of_part.std(axis=-1, ddof=1) / of_whole.std(axis=-1, ddof=1)
    means = np.exp(np.log(ratios).mean(axis=-1))
    assert 0.93 < np.mean((null.low < means) & (means < null.high)) < 0.98
