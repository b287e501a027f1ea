"""The numbers of the figure `per_class`, from metric files that the measures wrote."""

import numpy as np
import pandas as pd
import pytest

from toolnoise.analyses.classes import draw as classes
from toolnoise.metrics.stability import STABILITY, of_all_draws, of_classes
from toolnoise.metrics.weights import apart
from toolnoise.stats.testset import independent_errors_sd

RUNS, EACH = 10, 200
LABELS = np.repeat([0, 1, 2], EACH)
CELL = ("m", "d", "cpu", "algo")
PLACE = (["cpu"], [["m", "d"]])


def predicted(shared):
    """Predictions of runs whose examples err independently, but that a run's own luck makes worse at class 2."""
    draws = np.random.Generator(np.random.Philox(7))
    rates = np.where(LABELS == 1, 0.3, 0.1) + np.zeros((RUNS, 1))
    rates[:, LABELS == 2] += shared * np.linspace(0, 0.5, RUNS)[:, np.newaxis]
    return np.where(draws.random(rates.shape) < rates, (LABELS + 1) % 3, LABELS)


def rows_of(answers, holm=None):
    rows = of_classes(answers, 3, LABELS, {}, apart(np.zeros((RUNS, 0))), 1)
    rows += of_all_draws(answers, LABELS, 3, {}, [np.arange(RUNS)], rows)
    found = pd.DataFrame(
        [(*CELL, metric, group, *estimate, RUNS, 0) for metric, group, estimate in rows], columns=list(STABILITY)
    )
    return (
        found
        if holm is None
        else found.assign(value=found["value"].where(found["metric"] != "accuracy_sd_ratio_difficulty_holm", holm))
    )


def test_the_line_of_independent_errors_is_the_sd_of_independent_errors_of_the_class_and_not_that_of_all():
    answers = predicted(shared=0)
    found = classes.judged(rows_of(answers), "stability.csv", *PLACE).set_index("group")
    for label in (0, 1, 2):
        wrong = (answers != LABELS)[:, label == LABELS]
        assert found.loc[str(label), "independent"] == pytest.approx(independent_errors_sd(wrong))
    assert not found["above"].any()
    assert set(found["unlike"]) == {""}


def test_a_class_above_independent_errors_and_unlike_the_others_is_found_and_they_are_two_answers():
    found = classes.judged(rows_of(predicted(shared=1)), "stability.csv", *PLACE).set_index("group")
    assert list(found["above"]) == [False, False, True]
    assert found.loc["2", "alike_low"] < found.loc["2", "whole"] * found.loc["2", "null"] < found.loc["2", "alike_high"]
    assert list(found["unlike"])[:2] == ["steadier", "steadier"]
    # The test is adjusted, whatever the range of one class.
    open_ = classes.judged(rows_of(predicted(shared=1), holm=1.0), "stability.csv", *PLACE)
    assert set(open_["unlike"]) == {""}


def test_a_small_adjusted_p_value_inside_the_range_that_is_drawn_has_no_ring():
    rows = pd.DataFrame({"ratio": [1.0, 3.0, 0.1], "null": 1.2, "null_low": 0.5, "null_high": 2.0, "pvalue": 0.01})
    assert list(classes.unlike(rows)) == ["", "noisier", "steadier"]


def test_the_ranges_are_those_of_the_first_variant_in_which_all_varies():
    runs = pd.DataFrame(
        [
            ("impl", "0", 0.5),
            ("impl", "0", 0.6),
            ("algo_impl", "0", 0.1),
            ("algo_impl", "0", 0.9),
            ("algo_impl", "all", 0.4),
            ("algo_impl", "all", 0.5),
            ("control", "0", 0.5),
            ("control", "0", 0.5),
        ],
        columns=["variant", "group", "value"],
    ).assign(metric="accuracy")
    found = classes.ranges(runs)
    assert found.to_dict("list") == {
        "variant": ["algo_impl"] * 2,
        "group": ["0", "all"],
        "low": [0.1, 0.4],
        "high": [0.9, 0.5],
        "runs": [2, 2],
    }
    assert list(classes.ranges(runs[runs["variant"] != "algo_impl"])["variant"]) == ["impl"]
    assert classes.ranges(runs[runs["variant"] == "control"]).empty
