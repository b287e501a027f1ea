"""A measure of one draw becomes one of all draws."""

import numpy as np
import pytest
from numpy.testing import assert_equal

from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.stability import of_all_draws, stability
from toolnoise.formulas.weights import apart
from toolnoise.measures.by_draw import distances, grouped, over_draws
from toolnoise.stats.estimates import Estimate, mean_t
from toolnoise.stats.spread import root_mean_square

NAN = np.nan


def over(metric, *found):
    """One row over draws that have these estimates."""
    ((name, group, estimate),) = over_draws([[(metric, "all", of_draw)] for of_draw in found])
    assert (name, group) == (metric, "all")
    return estimate


def test_noise_has_its_interval_over_draws_on_a_logarithmic_scale():
    found = over("churn", *(Estimate(value, NAN, NAN) for value in (0.005, 0.0, 0.015, 0.006)))
    assert found == pytest.approx((0.0065, 0.0011, 0.0383), abs=1e-4)
    variances = over("accuracy_sd", *(Estimate(value, NAN, NAN) for value in (0.005, 0.0, 0.015, 0.006)))
    assert variances.value == pytest.approx(np.sqrt((0.005**2 + 0.015**2 + 0.006**2) / 4))
    assert 0 < variances.low < variances.value / 2
    assert variances.high > variances.value * 2
    # Where only the mean level differs between draws, it is Student's.
    accuracies = np.array([0.95, 0.96, 0.94])
    assert over("accuracy_mean", *(Estimate(value, NAN, NAN) for value in accuracies)) == mean_t(accuracies)


def test_a_similarity_has_the_interval_of_its_distance_from_1():
    value, low, high = over("cka", *(Estimate(value, NAN, NAN) for value in (0.99, 0.9, 0.98)))
    squares = root_mean_square(np.sqrt([0.01, 0.1, 0.02]))
    assert (1 - value, 1 - high) == pytest.approx(tuple(np.square(squares[:2])))
    assert low == max(0, 1 - squares.high**2)


@pytest.mark.parametrize("metric", ["churn", "accuracy_sd", "cka"])
def test_two_draws_have_no_interval(metric):
    assert_equal(over(metric, Estimate(0.1, 0, 1), Estimate(0.2, 0, 1))[1:], (NAN, NAN))


def test_draws_with_equal_values_keep_the_interval_of_one_draw():
    assert over("accuracy_sd", Estimate(0.0, 0.0, 0.0), Estimate(0.0, 0.0, 0.0)) == (0, 0, 0)
    assert over("accuracy_sd", Estimate(0.0, 0.0, 0.02), Estimate(0.0, 0.0, 0.02)) == (0, 0, 0.02)
    assert_equal(over("churn", Estimate(0.1, NAN, NAN), Estimate(0.1, 0.0, 0.2)), Estimate(0.1, NAN, NAN))


def test_draws_do_not_show_what_other_examples_would_change():
    found = over("churn_new_examples", Estimate(0.1, 0.0, 0.2), Estimate(0.2, 0.1, 0.3))
    assert_equal(found, Estimate(0.15000000000000002, NAN, NAN))


def test_the_ratio_of_sds_is_that_of_the_reported_sds():
    logits = np.random.default_rng(3).normal(size=(12, 60, 3)).astype(np.float32)
    labels, groups = np.arange(60) % 3, {"some": np.arange(60) < 20}
    # In one draw all runs are right on class 1: the mean of the ratios' logarithms over draws is undefined.
    logits[:4, labels == 1] += 99 * np.eye(3, dtype=np.float32)[1]
    drawn = grouped([{"init": run // 4} for run in range(12)])
    weights = apart(np.ones((4, 3)))
    rows = over_draws([stability(logits[some], labels, groups, weights, 1) for some in drawn.groups])
    rows += of_all_draws(predictions(logits), labels, 3, groups, drawn.groups, rows)
    found = {(metric, group): estimate for metric, group, estimate in rows}
    for group in ("0", "1", "2", "some"):
        ratio = found["accuracy_sd_ratio", group].value
        assert ratio == pytest.approx(found["accuracy_sd", group].value / found["accuracy_sd", "all"].value)


def test_each_run_has_its_mean_distance_from_the_runs_of_its_draw():
    vectors = np.random.default_rng(4).normal(size=(6, 5))
    drawn = grouped([{"init": run % 2} for run in range(6)])
    found = {metric: values for metric, _, values in distances(drawn, [apart(vectors[some]) for some in drawn.groups])}
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for metric, of_runs in (("l2_raw", vectors), ("l2_unit", units)):
        others = [[other for other in range(6) if other != run and other % 2 == run % 2] for run in range(6)]
        wanted = [np.linalg.norm(of_runs[run] - of_runs[others[run]], axis=1).mean() for run in range(6)]
        assert found[metric] == pytest.approx(np.array(wanted))
