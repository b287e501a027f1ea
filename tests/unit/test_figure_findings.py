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
    assert findings.of_noise(rows) == "The implementation alone changes 1.0 % of answers, all sources 5.0 %"
    more = pd.concat([rows, churn(("b", "impl", 0.03, 0.02, 0.05), ("b", "algo_impl", 0.04, 0.03, 0.06))])
    assert findings.of_noise(more) == (
        "The implementation alone changes 1.0 to 3.0 % of answers, all sources 4.0 to 5.0 % "
        "(intervals overlap in 1 of 2 tasks)"
    )
    bare = churn(("a", "impl", 0.01, np.nan, np.nan), ("a", "algo_impl", 0.05, 0.04, 0.06))
    assert findings.of_noise(bare).endswith("all sources 5.0 % (not all with an interval)")
    elsewhere = churn(("a", "impl", 0.01, 0.005, 0.02), ("b", "algo_impl", 0.05, 0.04, 0.06))
    assert findings.of_noise(elsewhere).endswith("all sources 5.0 % (in other tasks)")


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


def test_the_authors_own_algo_is_told_as_algo():
    rows = churn(("a", "impl", 0.01, 0.005, 0.02), ("a", "init+shuffle+impl", 0.05, 0.04, 0.06))
    assert findings.of_noise(rows) == "The implementation alone changes 1.0 % of answers, all sources 5.0 %"
    whole = rows[rows["variant"] != "impl"]
    assert "5.0 and 3.0 % under init+shuffle+impl" in findings.of_batch_norm(whole, whole.assign(value=0.03))


def test_churn_is_told_without_and_with_batch_normalisation_for_each_set_of_sources():
    without = churn(("a", "algo_impl", 0.05, 0.04, 0.06))
    lower, alike = (churn(("a", "algo_impl", 0.03, 0.02, high)) for high in (0.035, 0.045))
    said = "Churn without and with batch normalisation: 5.0 and 3.0 % under ALGO+IMPL"
    assert findings.of_batch_norm(without, lower) == said
    assert findings.of_batch_norm(without, alike) == f"{said} (intervals overlap)"
    alone = churn(("a", "impl", 0.01, 0.005, 0.02))
    more = [pd.concat([rows, alone.assign(value=value)]) for rows, value in ((without, 0.01), (lower, 0.02))]
    assert findings.of_batch_norm(*more) == f"{said}, 1.0 and 2.0 % under IMPL (intervals overlap)"
    bare = lower.assign(ci_low=np.nan, ci_high=np.nan)
    assert findings.of_batch_norm(without, bare) == f"{said} (not all with an interval)"
    two = [pd.concat([rows, rows.assign(place="n / d")]) for rows in (without, lower)]
    assert "less in 2 of 2 pairs of models, more in 0 (under ALGO+IMPL;" in findings.of_batch_norm(*two)
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
    named = {"place": ["A", "B", "C"], "metric": "r", "variant": "algo"}
    ratios = pd.DataFrame({**named, "value": [0.2, 1.0, np.nan], "ci_low": 0, "ci_high": 9})
    nulls = pd.DataFrame({**named, "ci_low": 0.5, "ci_high": 2.0})
    # Each variant has a null of its own.
    nulls = pd.concat([nulls, nulls.assign(variant="impl", ci_low=0.1)])
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
    both = pd.concat([rows[1:], rows[:1].assign(metric="kernel_ratio")])
    assert findings.of_cost(both) == "With determinism kernels take 1.5 times as long; by the clock it cannot be told"


def test_what_determinism_removes_is_told_with_its_cost():
    fixed = pd.DataFrame({"x": [1.5, 1.2], "x_low": [1.1, 1.05], "x_high": [2, 2], "y": [13.0, 40.0], "y_low": 2.0})
    removes = "With fixed seeds determinism removes the churn of IMPL, 13 to 40 % of the churn of all sources; "
    assert findings.of_control(fixed, fixed[:0]) == f"{removes}a step then takes 1.2 to 1.5 times as long"
    assert findings.of_control(fixed.assign(x_low=0.9), fixed) == f"{removes}the cost cannot be told"
    bare = fixed.assign(y_low=[2.0, np.nan])
    assert "40 % of the churn of all sources (not all with an interval); a step" in findings.of_control(bare, fixed)
    assert "With varying seeds determinism removes 40 % of the churn of all sources" in findings.of_control(
        fixed[:0], fixed[1:]
    )
    assert findings.of_control(fixed[:0], fixed[:0]).endswith("?")


def test_averages_are_told_beside_single_runs():
    rows = churn(*[("a", "algo", value, np.nan, np.nan) for value in (0.05, 0.03, 0.02)]).assign(members=[1, 2, 3])
    assert (
        findings.of_ensembles(rows)
        == "Single runs differ in 5.0 % of answers, averages of 3 in 2.0 % (too few for an interval)"
    )
    told = findings.of_ensembles(rows.assign(ci_low=0.01))
    assert told == "Single runs differ in 5.0 % of answers, averages of 3 in 2.0 %"
    # Of a cell that has no averages of three, those of two are all that is compared.
    less = rows[:2].assign(hardware="gpu", value=[0.06, 0.04])
    found = findings.of_ensembles(pd.concat([rows, less]))
    assert (
        found
        == "Single runs differ in 5.0 to 6.0 % of answers, averages of 2 in 3.0 to 4.0 % (too few for an interval)"
    )
    assert findings.of_ensembles(rows[:1]).endswith("?")
    assert findings.of_ensembles(rows[:0]).endswith("?")


def test_the_layer_in_which_runs_are_least_alike_is_named():
    rows = pd.DataFrame({"place": ["conv", "dense"], "variant": "algo", "metric": "cka", "value": [1.0, 0.9]})
    assert findings.of_layers(rows) == "Runs are least alike in dense: CKA 0.90"
    more = pd.concat([rows, rows.assign(variant="init", value=[1.0, 0.8]), rows.assign(variant="control", value=1.0)])
    assert findings.of_layers(more) == "Runs are least alike in dense: CKA 0.80 to 0.90"
    assert findings.of_layers(rows[:1]) == "Runs represent the examples equally in every layer"
    assert findings.of_layers(rows[:0]).endswith("?")


def test_one_bit_is_told_for_the_first_and_the_last_epoch():
    rows = churn(("a", "bit", 0.02, 0, 1), ("a", "bit_5", 0.01, 0, 1), ("a", "bit_30", 0.0, 0, 0))
    rows = rows.assign(epoch=[0, 5, 30])
    assert findings.of_bit(rows) == (
        "One bit changed at the start changes 2.0 % of answers; changed after 30 epochs, no answers"
    )
    assert findings.of_bit(rows[1:2]) == "One bit changed after 5 epochs changes 1.0 % of answers"
    assert findings.of_bit(rows[:0]).endswith("?")


def test_growth_is_told_at_the_first_and_the_last_step_of_what_has_parted():
    rows = pd.DataFrame({"metric": "l2_unit", "step": [0, 1, 1, 8, 8], "value": [0.0, 1e-8, 0.0, 0.2, 0.4]})
    said = "From equal starts, weights are 1.0e-08 apart after step 1 and 0.30 after 8 (medians of lines)"
    assert findings.of_growth(rows) == said
    assert findings.of_growth(rows[:1]).endswith("?")


def test_toolings_are_told_beside_seeds():
    rows = pd.DataFrame({"factor": ["kernels", "any"], "value": [0.3, 0.13], "ci_low": 0.06, "ci_high": 0.27})
    rows = rows.assign(metric="churn_to_seeds")
    said = "Churn between two toolings is 0.13 (0.060 to 0.27) times the churn between two seeds"
    assert findings.of_atlas(rows, "any") == said
    assert findings.of_atlas(rows, "threads").endswith("?")


def test_the_noise_of_a_rare_group_is_held_against_each_null():
    cell = {"model": "m", "dataset": ["a", "b"], "hardware": "cpu", "variant": "algo"}
    sd = pd.DataFrame({**cell, "quantity": "sd", "value": [1.0, 3.0], "ci_low": 0, "ci_high": 9})
    size, difficulty = (
        pd.DataFrame({**cell, "quantity": f"sd by {null}", "value": 1.0, "ci_low": 0.5, "ci_high": most})
        for null, most in (("size", 2.0), ("difficulty", 4.0))
    )
    rows = pd.concat([sd, size, difficulty])
    said = "The group's SD is what follows from size at 1 of 2 points, from difficulty at 2 of 2 points"
    assert findings.of_rarity(rows, ("size", "difficulty")) == said
    assert findings.of_rarity(sd, ("size", "difficulty")).endswith("?")


def test_claims_are_counted_by_verdict():
    said = "This study supports 2 of 4 claims and refutes none; 1 cannot be told"
    assert findings.of_claims(2, 0, 1, 4) == f"{said}, 1 were not run"
    assert findings.of_claims(2, 1, 1, 4) == said.replace("none", "1")
    assert findings.of_claims(0, 0, 0, 4).endswith("?")


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
    rows = rows.assign(source="algo")
    other = rows.assign(source="control", value=0.5)
    assert findings.of_parts(pd.concat([other, rows])) == findings.of_parts(rows)
    assert findings.of_parts(rows) == "Inference alone changes no answers, training 2.0 %"
    assert findings.of_parts(rows[:2]).endswith("?")
