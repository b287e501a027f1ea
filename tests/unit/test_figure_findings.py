"""The titles of figures: what holds of every cell shown, and no more."""

import numpy as np
import pandas as pd
import pytest

from toolnoise.figures import findings

COLUMNS = ["dataset", "variant", "value", "ci_low", "ci_high"]


def churn(*rows):
    return pd.DataFrame(rows, columns=COLUMNS).assign(metric="churn", model="m", hardware="cpu", place="m / d")


def test_numbers_have_two_digits_that_count():
    assert [findings.number(value) for value in (0, 0.0123, 3, 9.96, 16.4, 100)] == [
        "0",
        "0.012",
        "3.0",
        "10",
        "16",
        "100",
    ]


def test_noise_is_told_from_the_smallest_to_the_largest_and_apart_only_where_intervals_are():
    rows = churn(("a", "impl", 0.01, 0.005, 0.02), ("a", "algo_impl", 0.05, 0.04, 0.06))
    assert findings.of_noise(rows) == "The implementation alone changes 1.0 % of answers, a new seed 5.0 %"
    more = pd.concat([rows, churn(("b", "impl", 0.03, 0.02, 0.05), ("b", "algo_impl", 0.04, 0.03, 0.06))])
    assert findings.of_noise(more) == (
        "The implementation alone changes 1.0 to 3.0 % of answers, a new seed 4.0 to 5.0 % (intervals overlap)"
    )


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([("a", "impl", 0.0, 0.0, 0.0)], "The implementation alone changes no answers"),
        ([("a", "algo", 0.05, 0.04, 0.06)], "Two runs of one training differ in 5.0 % of answers"),
        ([("a", "control", 0.0, 0.0, 0.0)], "How far do runs of one training end apart?"),
        ([("a", "impl", np.nan, np.nan, np.nan)], "How far do runs of one training end apart?"),
    ],
)
def test_noise_of_which_little_is_known_is_a_smaller_finding_or_the_question(rows, title):
    assert findings.of_noise(churn(*rows)) == title


def test_batch_normalisation_lowers_churn_only_where_intervals_are_apart():
    without = churn(("a", "algo_impl", 0.05, 0.04, 0.06))
    lower, alike = (churn(("a", "algo_impl", 0.03, 0.02, high)) for high in (0.035, 0.045))
    assert findings.of_batch_norm(without, lower) == "Batch normalisation lowers churn from 5.0 % to 3.0 %"
    assert "and the intervals overlap" in findings.of_batch_norm(without, alike)
    assert findings.of_batch_norm(without, lower.iloc[:0]).endswith("?")


def test_a_class_beyond_its_null_is_named_and_one_within_is_not():
    ratios = pd.DataFrame({"variant": "algo", "group": ["0", "1"], "value": [2.0, 16.9]})
    for most, said in (
        (13.3, "class 1 under ALGO (17 times all; size explains up to 13)"),
        (20.0, "No class is shown"),
    ):
        nulls = pd.DataFrame({"variant": ["algo"], "ci_low": 2.8, "ci_high": most})
        largest = findings.largest_classes(ratios, nulls)
        assert said in findings.of_classes(largest)
        assert bool(largest.loc["algo", "beyond"]) == (most < 16)


def test_ratios_outside_their_null_are_counted_and_undefined_ones_are_not():
    ratios = pd.DataFrame(
        {"place": ["A", "B", "C"], "metric": "r", "value": [0.2, 1.0, np.nan], "ci_low": 0, "ci_high": 9}
    )
    nulls = pd.DataFrame({"place": ["A", "B", "C"], "metric": "r", "ci_low": 0.5, "ci_high": 2.0})
    told = findings.outside(ratios, nulls)
    assert list(told["outside"]) == [True, False]
    assert findings.of_groups(told).startswith("1 of 2 ratios lie outside")
    assert findings.of_groups(told[1:]).startswith("Size alone can explain")
    assert findings.of_groups(told[:0]).endswith("?")


def test_the_cost_of_determinism_is_told_where_its_interval_leaves_one_out():
    rows = pd.DataFrame({"metric": "wall_ratio", "value": [1.5, 1.1], "ci_low": [1.2, 0.9], "ci_high": [1.8, 1.3]})
    assert findings.of_cost(rows) == "With determinism a step takes 1.5 times as long; for 1 of 2 it cannot be told"
    assert "cannot be told" in findings.of_cost(rows[1:])
    assert findings.of_cost(rows[:0]).endswith("?")


def test_pairs_are_told_beside_a_new_seed():
    across, within = churn(("a", "algo", 0.01, 0, 0.02)), churn(("a", "algo", 0.05, 0.04, 0.06))
    assert (
        findings.of_pairs(within, across, "tooling") == "The tooling alone changes 1.0 % of answers, a new seed 5.0 %"
    )
    assert findings.of_pairs(within[:0], across, "tooling") == "The tooling alone changes 1.0 % of answers"
    assert findings.of_pairs(within, across[:0], "tooling").endswith("?")


def test_the_order_is_told_with_and_without_the_full_set():
    rows = churn(("a", "shuffle", 0.05, 0.04, 0.06), ("a", "shuffle", 0.001, 0.0, 0.01))
    full = pd.Series([False, True])
    assert findings.of_order(rows, full) == (
        "The order of the data changes 5.0 % of answers; with the full set in one batch, rounding alone changes "
        "0.10 % of answers"
    )
    assert findings.of_order(rows[1:], full[1:]).startswith("With the full set")
    assert findings.of_order(rows[:0], full[:0]).endswith("?")


def test_the_parts_of_the_difference_between_frameworks():
    rows = pd.DataFrame({"variant": ["in all", "training", "inference of JAX's"], "value": [0.02, 0.02, 0.0]})
    assert findings.of_parts(rows) == "Inference alone changes no answers, training 2.0 %"
    assert findings.of_parts(rows[:2]).endswith("?")
