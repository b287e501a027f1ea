"""What figures show: titles hold of every cell shown and no more, and the numbers of the figure `per_class`."""

import numpy as np
import pandas as pd
import pytest

from toolnoise.figures import findings
from toolnoise.formulas.stability import STABILITY, of_all_draws, of_classes
from toolnoise.formulas.testset import independent_errors_sd
from toolnoise.formulas.weights import apart
from toolnoise.papers.claims import sentences
from toolnoise.papers.classes import draw as classes
from toolnoise.papers.frameworks import draw as frameworks
from toolnoise.papers.growth import draw as growth
from toolnoise.papers.language import draw as language
from toolnoise.papers.layers import draw as layers
from toolnoise.papers.overhead import draw as overhead
from toolnoise.papers.published import titles
from toolnoise.stats.estimates import Estimate
from toolnoise.stats.two_means import mean_difference

COLUMNS = ["dataset", "variant", "value", "ci_low", "ci_high"]


def churn(*rows):
    return pd.DataFrame(rows, columns=COLUMNS).assign(metric="churn", model="m", hardware="cpu", place="m / d")


def over(*rows, metric="churn"):
    """Ratios, each of a variant over that of `over_variant`."""
    columns = ["variant", "over_variant", "value", "ci_low", "ci_high"]
    return pd.DataFrame(rows, columns=columns).assign(metric=metric, model="m-bn", over_model="m")


NO_RATIOS = over()


def test_numbers_have_two_digits_that_count_and_ratios_near_1_three():
    assert [findings.number(value) for value in (0, 0.0123, 3, 9.96, 16.4, 100)] == [
        "0",
        "0.012",
        "3.0",
        "10",
        "16",
        "100",
    ]
    assert [findings.ratio(value) for value in (0.0123, 0.625, 1.045, 9.96)] == ["0.012", "0.62", "1.04", "10"]
    assert [findings.change(value) for value in (1.41, 0.96, 1.0033, 3)] == ["+41", "-4.0", "+0.33", "+200"]


def test_an_estimate_stands_with_its_interval_or_without_one():
    row = pd.Series({"value": 0.63, "ci_low": 0.47, "ci_high": 0.83})
    assert findings.said(row, findings.ratio) == "0.63 (0.47 to 0.83)"
    assert findings.said(row, findings.percent, " %") == "63 % (47 to 83)"
    assert (
        findings.said(pd.Series({**row, "ci_low": np.nan, "ci_high": np.nan}), findings.ratio) == "0.63 (no interval)"
    )
    assert findings.said(pd.Series({"value": 0.0, "ci_low": 0.0, "ci_high": 0.0}), findings.ratio) == "0"


def test_noise_of_the_implementation_is_a_ratio_to_that_of_all_sources_where_there_is_one():
    rows = churn(("a", "impl", 0.01, 0.005, 0.02), ("a", "algo_impl", 0.05, 0.04, 0.06))
    alone = "The implementation alone changes 1.0 % (0.50 to 2.0) of answers"
    assert findings.of_noise(rows, NO_RATIOS) == f"{alone}, all sources 5.0 % (4.0 to 6.0)"
    ratios = over(
        ("impl", "algo_impl", 0.2, 0.1, 0.4), ("impl", "algo", 0.3, 0.1, 0.9), ("algo", "algo_impl", 1, 0.8, 1.2)
    )
    assert findings.of_noise(rows, ratios) == f"{alone}: 0.20 (0.10 to 0.40) times the churn of all sources"
    assert findings.of_noise(rows, ratios, emulated=True).startswith("Emulated implementation noise alone changes")
    # Not every ratio has an interval; without any, there is nothing to compare by.
    bare = ratios.assign(ci_low=np.nan, ci_high=np.nan)
    assert findings.of_noise(rows, bare) == f"{alone}, all sources 5.0 % (4.0 to 6.0)"
    # ALGO+IMPL leaves the data as they are.
    with_data = pd.concat([rows, churn(("a", "data", 0.06, 0.05, 0.07))])
    assert findings.of_noise(with_data, NO_RATIOS) == f"{alone}, ALGO+IMPL 5.0 % (4.0 to 6.0)"


def test_the_ratios_of_many_tasks_are_counted_and_an_open_one_is_not_called_different():
    rows = pd.concat(
        [churn((task, "impl", 0.01, 0.005, 0.02), (task, "algo_impl", 0.05, 0.04, 0.06)) for task in "abcd"]
    )
    many = over(*[("impl", "algo_impl", value, 0.8 * value, 1.2 * value) for value in (0.5, 0.6, 1.1, 1.5)])
    found = findings.of_noise(rows, many)
    assert found.startswith("The implementation alone changes 1.0 % of answers: less than the churn of all sources")
    assert found.endswith("in 2 of 4 tasks, more in 1, undecided in 1")


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([("a", "impl", 0.0, 0.0, 0.0)], "The implementation alone changes no answers"),
        ([("a", "algo", 0.05, 0.04, 0.06)], "Two runs of one training differ in 5.0 % (4.0 to 6.0) of answers"),
        ([("a", "control", 0.0, 0.0, 0.0)], "With every source fixed, runs give the same answers"),
        ([("a", "impl", np.nan, np.nan, np.nan)], "How far do runs of one training end apart?"),
    ],
)
def test_noise_of_which_little_is_known_is_a_smaller_finding_or_the_question(rows, title):
    assert findings.of_noise(churn(*rows), NO_RATIOS) == title


def test_batch_normalisation_is_said_by_the_ratios_of_all_sources_and_by_accuracy():
    rising = mean_difference(np.array([0.58, 0.59, 0.60]), np.array([0.67, 0.68, 0.69]))
    ratios = pd.concat(
        [
            over(
                ("algo", "algo", 0.63, 0.47, 0.83),
                ("algo_impl", "algo_impl", 0.71, 0.4, 1.2),
                ("impl", "impl", 2, 0.5, 9),
            ),
            over(
                ("impl", "impl", 0.8, 0.6, 0.9), ("algo_impl", "algo_impl", 1.04, 1.01, 1.07), metric="churn_normalised"
            ),
        ]
    )
    changed = "runs have 0.71 (0.40 to 1.20) times the churn and 1.04 (1.01 to 1.07) times the normalised churn of "
    changed += "those without, under ALGO+IMPL"
    rises = "accuracy rises by 9.0 (6.7 to 11) points; "
    assert titles.of_batch_norm(ratios, [rising]) == f"With batch normalisation {rises}{changed}"
    level = mean_difference(np.array([0.5, 0.6, 0.7]), np.array([0.5, 0.6, 0.7]))
    assert titles.of_batch_norm(ratios, [level]) == f"With batch normalisation {changed}"
    undecided = over(("algo", "algo", 0.63, 0.3, 0.8), ("algo_impl", "algo_impl", 0.71, 0.4, 1.2))
    assert titles.of_batch_norm(undecided, []) == (
        "With batch normalisation runs have 0.71 (0.40 to 1.20) times the churn of those without, under ALGO+IMPL: "
        "no change is shown"
    )
    two = pd.concat([ratios, ratios.assign(over_model="n")])
    falling = mean_difference(np.array([0.67, 0.68, 0.69]), np.array([0.58, 0.59, 0.60]))
    assert titles.of_batch_norm(two, [rising, falling]) == (
        "With batch normalisation accuracy rises in 1 of 2 pairs of models and falls in 1; churn falls in 0 of 2 "
        "pairs and rises in 0; normalised churn falls in 0 of 2 pairs and rises in 2, under ALGO+IMPL"
    )
    assert titles.of_batch_norm(ratios[:0], []).endswith("?")


def rows_of_classes(*rows):
    return pd.DataFrame(rows, columns=["name", "above", "unlike"]).assign(value=1.0)


def test_the_most_variable_class_is_named_with_both_answers():
    ends = [("0", 0.95, 0.97), ("1", 0.52, 0.804), ("all", 0.923, 0.942)]
    ranges = pd.DataFrame(ends, columns=["group", "low", "high"])
    ranges = ranges.assign(name=["a", "b", np.nan], runs=12, variant="algo_impl")
    said = "Accuracy on class b runs from 52.0 to 80.4 %, on all classes from 92.3 to 94.2 % (12 runs, ALGO+IMPL). "
    both = rows_of_classes(("a", True, ""), ("b", True, "steadier"))
    assert classes.of_classes(ranges, both) == said + (
        "2 of 2 classes vary more than independent errors would; "
        "b is steadier than all classes together, given its errors"
    )
    neither = rows_of_classes(("a", False, ""), ("b", False, ""))
    assert classes.of_classes(ranges, neither) == said + (
        "No class is shown to vary more than independent errors would; none is shown to be unlike the others"
    )
    assert classes.of_classes(ranges, both.assign(unlike="noisier")).endswith(
        "a and b are noisier than all classes together, given their errors"
    )
    assert classes.of_classes(ranges[:0], both.assign(value=0.0)) == "No class varies from run to run"
    assert classes.of_classes(ranges[:0], both).endswith("?")


def test_sub_groups_are_named_with_their_direction_and_the_range_that_decides():
    rows = [("Male", "algo_impl", 0.56, "steadier"), ("Male", "algo", 0.37, "steadier"), ("Old", "algo", 1.2, "")]
    judged = pd.DataFrame(rows, columns=["place", "variant", "value", "unlike"])
    judged = judged.assign(name="SD of accuracy", null_low=0.91, null_high=2.28)
    assert classes.of_groups(judged) == (
        "Male is steadier than its size explains: SD of accuracy is 0.56 (ALGO+IMPL) and 0.37 (ALGO) times that of "
        "all; size gives 0.91 to 2.28"
    )
    assert classes.of_groups(judged.assign(unlike="")) == (
        "No sub-group is shown to be noisier or steadier than its size explains (3 ratios)"
    )
    many = pd.concat([judged, judged.assign(place="Young", unlike="noisier"), judged.assign(name="SD of the rate")])
    assert classes.of_groups(many) == "Male is steadier than size explains; Young is noisier than size explains"
    assert classes.of_groups(judged[:0]).endswith("?")


def times(*rows, metric="wall_ratio"):
    return pd.DataFrame(rows, columns=["name", "value", "ci_low", "ci_high"]).assign(metric=metric, n_runs=10)


def test_the_cost_of_determinism_is_what_is_known_of_it():
    open_, longer = ("a", 0.997, 0.965, 1.03), ("b", 1.41, 1.4, 1.42)
    assert overhead.of_cost(times(open_)) == "Determinism changes the time of a step by -0.30 % (-3.5 to +3.0), n = 10"
    assert overhead.of_cost(times(open_, longer)) == (
        "Determinism changes the time of a step by -0.30 % (-3.5 to +3.0) for a and +41 % (+40 to +42) for b, n = 10"
    )
    both = pd.concat([times(open_), times(longer, metric="kernel_ratio")])
    assert overhead.of_cost(both).endswith("(-3.5 to +3.0), n = 10; that in kernels by +41 % (+40 to +42), n = 10")
    many = times(*[open_] * 3, longer)
    assert overhead.of_cost(many) == (
        "Determinism changes the time of a step by +41 % (+40 to +42) in 1 of 4 cases, by a number between -3.5 and "
        "+3.0 % in the others, n = 10"
    )
    assert overhead.of_cost(times(*[open_] * 4)).endswith("by a number between -3.5 and +3.0 % in all 4 cases, n = 10")
    assert overhead.of_cost(times(("a", 1.5, np.nan, np.nan))).endswith("?")


def test_kernels_are_said_by_the_change_of_their_time_and_by_what_appears():
    ratio = times(("m", 1.41, 1.4, 1.42), metric="kernel_ratio")
    said = "determinism changes the time in kernels by +41 % (+40 to +42), n = 10"
    assert overhead.of_kernels(ratio, {"wgrad": 0.0031}) == f"wgrad (3.1 ms) appears: {said}"
    assert overhead.of_kernels(ratio, {}) == said.capitalize().replace("(+40", "(+40")
    undecided = ratio.assign(ci_low=0.9)
    assert overhead.of_kernels(undecided, {"wgrad": 0.0031}).startswith("Determinism changes")
    assert overhead.of_kernels(ratio.assign(ci_low=np.nan), {}).endswith("?")


def test_what_determinism_removes_is_said_with_its_cost():
    removed = pd.DataFrame({"value": [13.0, 40.0], "ci_low": 2.0, "ci_high": 60.0})
    cost = times(("m", 1.5, 1.1, 2.0))
    changes = "of the churn of all sources and changes the time of a step by +50 % (+10 to +100), n = 10"
    assert overhead.of_control(removed, removed[:0], cost) == (
        f"With fixed seeds determinism removes 13 % (2.0 to 60) and 40 % (2.0 to 60) {changes}"
    )
    assert overhead.of_control(removed[:0], removed[1:], cost) == (
        f"With varying seeds determinism removes 40 % (2.0 to 60) {changes}"
    )
    assert overhead.of_control(removed[:0], removed[:0], cost).endswith("?")


def test_averages_are_said_beside_single_runs_where_they_have_an_interval():
    rows = churn(*[("a", "algo", value, 0.01, 0.09) for value in (0.05, 0.03, 0.02)]).assign(members=[1, 2, 3])
    single = "Single runs differ in 5.0 % (1.0 to 9.0) of answers"
    assert titles.of_ensembles(rows) == f"{single}, averages of 3 in 2.0 % (1.0 to 9.0)"
    # A pair of averages has no interval, and a cell without averages of three is compared with those of two.
    bare = rows.assign(ci_low=[0.01, 0.01, np.nan])
    assert titles.of_ensembles(bare) == f"{single}, averages of 2 in 3.0 % (1.0 to 9.0)"
    less = pd.concat([rows, rows[:2].assign(hardware="gpu", value=[0.06, 0.04])])
    assert "averages of 2 in 3.0 % (1.0 to 9.0) and 4.0 % (1.0 to 9.0)" in titles.of_ensembles(less)
    assert titles.of_ensembles(rows[:1]).endswith("?")
    assert titles.of_ensembles(rows[:0]).endswith("?")


def test_the_layer_in_which_runs_are_least_alike_is_named_with_its_variant():
    rows = pd.DataFrame({"place": ["conv", "dense"], "variant": "algo", "metric": "cka", "value": [1.0, 0.9]})
    rows = rows.assign(ci_low=rows["value"] - 0.1, ci_high=1.0)
    assert layers.of_layers(rows) == "Runs are least alike in dense under ALGO: CKA 0.90 (0.80 to 1.0)"
    more = pd.concat([rows, rows.assign(variant="init", value=[0.7, 0.8], ci_low=0.6)], ignore_index=True)
    assert layers.of_layers(more) == "Runs are least alike in conv under init: CKA 0.70 (0.60 to 1.0)"
    assert layers.of_layers(rows[:1]) == "Runs represent the examples equally in every layer"
    assert layers.of_layers(rows[:0]).endswith("?")


def test_one_bit_is_said_for_the_first_and_the_last_epoch():
    rows = churn(("a", "bit", 0.02, 0.01, 0.03), ("a", "bit_5", 0.01, 0, 0.02), ("a", "bit_30", 0.0, 0, 0))
    rows = rows.assign(epoch=[0, 5, 30])
    assert titles.of_bit(rows) == (
        "One bit changed at the start changes 2.0 % (1.0 to 3.0) of answers; changed after 30 epochs, no answers"
    )
    assert titles.of_bit(rows[1:2]) == "One bit changed after 5 epochs changes 1.0 % (0 to 2.0) of answers"
    assert titles.of_bit(rows[:0]).endswith("?")


def test_growth_is_said_at_the_first_and_the_last_step_of_what_has_parted():
    rows = pd.DataFrame({"metric": "l2_unit", "step": [0, 1, 1, 8, 8], "value": [0.0, 1e-8, 0.0, 0.2, 0.4]})
    rows = rows.assign(hardware=["a", "a", "b", "a", "b"], variant="impl")
    said = "From equal starts, weights are 1.0e-08 apart after step 1 and 0.30 after 8 (medians of 2 lines)"
    assert growth.of_growth(rows) == said
    assert growth.of_growth(rows[:1]).endswith("?")


def test_claims_are_counted_by_verdict():
    said = "This study supports 2 of 4 claims and refutes none; 1 is undecided"
    assert sentences.of_claims(2, 0, 1, 4) == f"{said}, 1 were not run"
    assert sentences.of_claims(2, 1, 1, 4) == said.replace("none", "1")
    assert sentences.of_claims(0, 0, 0, 4).endswith("?")


def test_the_order_is_said_with_and_without_the_full_set():
    rows = churn(("a", "shuffle", 0.05, 0.04, 0.06), ("a", "shuffle", 0.001, 0.0, 0.01))
    full = pd.Series([False, True])
    assert titles.of_order(rows, full) == (
        "The order of the data changes 5.0 % (4.0 to 6.0) of answers; with the full set in one batch, rounding alone "
        "changes 0.10 % (0 to 1.0) of answers"
    )
    assert titles.of_order(rows[1:], full[1:]).startswith("With the full set")
    assert titles.of_order(rows[:0], full[:0]).endswith("?")


def test_the_parts_of_the_difference_between_frameworks():
    rows = pd.DataFrame({"variant": ["in all", "training", "inference of JAX's"], "value": [0.02, 0.02, 0.0]})
    rows = rows.assign(source="algo", ci_low=[0.01, 0.01, 0.0], ci_high=[0.03, 0.03, 0.005])
    other = rows.assign(source="control", value=0.5)
    assert frameworks.of_parts(pd.concat([other, rows])) == frameworks.of_parts(rows)
    assert frameworks.of_parts(rows) == (
        "Inference alone changes no answers (intervals up to 0.50 %), training 2.0 % (1.0 to 3.0)"
    )
    assert frameworks.of_parts(rows[:2]).endswith("?")


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


def texts(*rows):
    """For how much of a continuation runs are apart."""
    return churn(*rows).assign(metric="continuation_left")


ALL_TOKENS = ("a", "algo_impl", 0.3, 0.28, 0.32)
ALL_APART = ("a", "algo_impl", 0.8, 0.75, 0.85)
DIFFER = "Two runs of one training differ in 30 % (28 to 32) of next tokens"


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([("a", "control", 0.0, 0.0, 0.0)], "With every source fixed, runs predict the same tokens"),
        ([("a", "algo_impl", np.nan, np.nan, np.nan)], "How far do runs of one language model end apart?"),
        ([("a", "algo_impl", 0.0, 0.0, 0.0)], "Two runs of one training differ in no next tokens"),
        (
            [("a", "init", 0.2, 0.1, 0.3), ("b", "init", 0.3, 0.2, 0.4), ("a", "impl", 0.0, 0.0, 0.0)],
            "init alone changes 20 % (10 to 30) and 30 % (20 to 40) of next tokens and "
            "emulated IMPL alone changes no next tokens",
        ),
        ([ALL_TOKENS], DIFFER),
    ],
)
def test_tokens_that_differ_are_said_of_all_sources_or_of_each(rows, title):
    assert language.of_language(churn(*rows), NO_RATIOS, emulated=True) == title


def test_for_how_long_continuations_are_apart_is_said_of_the_same_variant():
    shown = pd.concat([churn(ALL_TOKENS), texts(("a", "init", 0.4, 0.3, 0.5), ALL_APART)])
    assert language.of_language(shown, NO_RATIOS) == f"{DIFFER} and are apart for 80 % (75 to 85) of a continuation"
    equal = pd.concat([churn(ALL_TOKENS), texts(("a", "algo_impl", 0.0, 0.0, 0.0))])
    assert language.of_language(equal, NO_RATIOS) == DIFFER
    two = pd.concat([shown, churn(("b", "algo_impl", 0.1, 0.05, 0.2)), texts(("b", "algo_impl", 0.5, 0.4, 0.6))])
    both = "Two runs of one training differ in 30 % (28 to 32) and 10 % (5.0 to 20) of next tokens"
    assert language.of_language(two, NO_RATIOS) == both


@pytest.mark.parametrize(
    ("ratios", "said"),
    [
        # One source is the largest, one the smallest, and of one it cannot be told.
        (
            [("init", 1.5, 1.2, 1.9), ("bit", 0.5, 0.4, 0.6), ("dropout", 0.9, 0.7, 1.1)],
            "; init alone changes 1.50 (1.20 to 1.90) times as many; "
            "bit alone changes 0.50 (0.40 to 0.60) times as many; "
            "dropout alone not shown to change fewer or more",
        ),
        # All intervals contain 1; where there is none, nothing is said.
        (
            [("init", 1.1, 0.8, 1.5), ("bit", 0.7, 0.4, 1.1), ("impl", 0.6, np.nan, np.nan)],
            "; init and bit alone not shown to change fewer or more",
        ),
        # Two tasks disagree, or one of them is undecided.
        (
            [
                ("init", 0.5, 0.4, 0.6),
                ("init", 1.5, 1.2, 1.9),
                ("bit", 0.5, 0.4, 0.6),
                ("bit", 0.9, 0.7, 1.1),
                ("shuffle", 0.5, 0.4, 0.6),
                ("shuffle", 0.7, 0.6, 0.8),
            ],
            "; shuffle alone changes 0.50 (0.40 to 0.60) and 0.70 (0.60 to 0.80) times as many; "
            "init and bit alone not shown to change fewer or more",
        ),
        # Nothing changes in any task, or in one of two.
        ([("impl", 0.0, np.nan, np.nan)], "; IMPL alone changes none"),
        ([("impl", 0.0, 0.0, 0.0), ("bit", 0.0, 0.0, 0.0)], "; IMPL and bit alone change none"),
        ([("impl", 0.0, np.nan, np.nan), ("impl", 0.3, np.nan, np.nan)], ""),
        ([("algo", 0.9, 0.8, 0.95), ("control", 0.0, 0.0, 0.0)], ""),
    ],
)
def test_a_source_is_said_to_change_fewer_or_more_tokens_only_where_its_ratio_shows_it(ratios, said):
    over_all = over(*[(variant, "algo_impl", *ends) for variant, *ends in ratios])
    shown = churn(ALL_TOKENS, *[("a", variant, 0.3 * value, np.nan, np.nan) for variant, value, *_ in ratios])
    noise = over(("init", "algo", 0.1, 0.05, 0.2))
    sd = over(("init", "algo_impl", 0.1, 0.05, 0.2), metric="cross_entropy_sd")
    assert language.of_language(shown, pd.concat([over_all, noise, sd])) == DIFFER + said


def test_an_entry_of_language_is_never_taken_for_an_exact_one():
    found = [
        language.entry(Estimate(*ends), 100, 2) for ends in ((0, 0, 0), (6e-10, 3e-10, 0.2), (0.5, np.nan, np.nan))
    ]
    assert [tuple(entry) for entry in found] == [("0", ""), ("6e-08", "3e-08 to 20.00"), ("50.00", "")]
    sds = (Estimate(0, 0, 0), Estimate(6.2e-8, 3.4e-8, 2.3e-7), Estimate(1.26, 0.7, 4.7), Estimate(*[np.nan] * 3))
    found = [tuple(language.mean_and_sd(Estimate(10.371024, 10, 11), sd)) for sd in sds]
    assert found == [
        ("10.3710 ± 0", ""),
        ("10.3710 ± 6e-08", "SD 3e-08 to 2e-07"),
        ("10.4 ± 1.3", "SD 0.7 to 4.7"),
        ("10.37", "SD n/a"),
    ]
