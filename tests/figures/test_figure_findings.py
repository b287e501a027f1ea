"""What figures show: titles hold of every cell shown and no more, and the numbers of the figure `per_class`."""

import numpy as np
import pandas as pd
import pytest
from check_titles import Metrics, fault

from toolnoise.base import metric_files
from toolnoise.base.metric_files import of_label
from toolnoise.figures import findings
from toolnoise.formulas.groups import independent_errors_sd
from toolnoise.formulas.stability import STABILITY, of_all_draws, stability
from toolnoise.formulas.weights import weight_distances
from toolnoise.measures.ratios import RATIOS
from toolnoise.papers import classes
from toolnoise.papers.classes import split_by_label as labels_apart
from toolnoise.papers.language import draw as language
from toolnoise.stats.estimates import Estimate
from toolnoise.stats.significance import mean_difference

COLUMNS = ["dataset", "variant", "value", "ci_low", "ci_high"]


def churn(*rows):
    return pd.DataFrame(rows, columns=COLUMNS).assign(metric="churn", model="m", hardware="cpu", place="m / d")


def over(*rows, metric="churn"):
    """Ratios, each of a variant over that of `over_variant`."""
    columns = ["variant", "over_variant", "value", "ci_low", "ci_high"]
    return pd.DataFrame(rows, columns=columns).assign(metric=metric, model="m-bn", over_model="m")


NO_RATIOS = over()


def test_numbers_have_two_digits_that_count():
    numbers = [findings.number_text(value) for value in (0, 0.0123, 3, 9.96, 16.4, 100)]
    assert numbers == ["0", "0.012", "3.0", "10", "16", "100"]


def test_what_intervals_decide_is_said_of_all_ratios_or_of_some():
    ends = {"below": (0.5, 0.4, 0.6), "open": (0.9, 0.7, 1.1), "above": (1.5, 1.2, 1.9), "bare": (0.5, np.nan, np.nan)}

    def direction(*names):
        return findings.direction_of_ratios(over(*[("impl", "algo", *ends[name]) for name in names]))

    assert direction("below", "below", "bare") == "below"
    assert direction("above") == "above"
    assert direction("open", "open") == ""
    assert (direction("below", "open"), direction("open", "above")) == ("some below", "some above")
    assert direction("below", "above", "open") == "both"
    assert direction("bare") == direction() == "none"


def test_noise_of_the_implementation_is_held_against_all_sources_by_their_ratio():
    rows = churn(("a", "impl", 0.01, 0.005, 0.02), ("a", "algo_impl", 0.05, 0.04, 0.06))
    ratios = over(("impl", "algo_impl", 0.2, 0.1, 0.4), ("algo", "algo_impl", 1, 0.8, 1.2))
    fewer = "changes fewer answers than all sources"
    assert findings.of_noise(rows, ratios) == f"The implementation alone {fewer}"
    assert findings.of_noise(rows, ratios, emulated=True) == f"Emulated noise alone {fewer}"
    undecided = "No difference seen between the implementation and all sources"
    assert findings.of_noise(rows, ratios.assign(ci_high=1.1)) == undecided
    # Without an interval there is nothing to compare by; of several tasks the largest is said.
    bare = ratios.assign(ci_low=np.nan, ci_high=np.nan)
    assert findings.of_noise(rows, bare) == "The implementation alone changes 1.0 % of answers"
    two = pd.concat([rows, churn(("b", "impl", 0.03, 0.01, 0.04))])
    assert findings.of_noise(two, NO_RATIOS) == "The implementation alone changes up to 3.0 % of answers"
    # ALGO+IMPL leaves the data as they are.
    with_data = pd.concat([rows, churn(("a", "data", 0.06, 0.05, 0.07))])
    assert findings.of_noise(with_data, ratios) == "The implementation alone changes fewer answers than ALGO+IMPL"


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([("a", "impl", 0.0, 0.0, 0.0)], "The implementation alone changes no answers"),
        ([("a", "impl", np.nan, np.nan, np.nan)], "How far do runs of one training end apart?"),
    ],
)
def test_noise_of_which_little_is_known_is_a_smaller_finding_or_the_question(rows, title):
    assert findings.of_noise(churn(*rows), NO_RATIOS) == title


def test_batch_normalisation_is_said_by_the_churn_of_all_sources_and_by_accuracy():
    rising = mean_difference(np.array([0.58, 0.59, 0.60]), np.array([0.67, 0.68, 0.69]))
    falling = mean_difference(np.array([0.67, 0.68, 0.69]), np.array([0.58, 0.59, 0.60]))
    level = mean_difference(np.array([0.5, 0.6, 0.7]), np.array([0.5, 0.6, 0.7]))
    lower = over(("impl", "impl", 2, 1.5, 9), ("algo_impl", "algo_impl", 0.7, 0.6, 0.8))
    assert findings.of_batch_norm(lower, [rising]) == "Batch normalisation raises accuracy and lowers churn"
    assert findings.of_batch_norm(lower, [level]) == "Batch normalisation lowers churn"
    undecided = lower.assign(ci_high=1.2)
    assert findings.of_batch_norm(undecided, [falling]) == "Batch normalisation lowers accuracy"
    assert (
        findings.of_batch_norm(undecided, [rising, falling])
        == "No effect of batch normalisation on churn between seeds, or on accuracy"
    )
    assert findings.of_batch_norm(lower[:0], []).endswith("?")


def test_one_ratio_of_many_is_no_finding_about_a_sub_group():
    ratios = [("Male", "steadier"), ("Male", "steadier"), ("Male", ""), ("Old", "noisier"), ("Old", ""), ("Old", "")]
    judged = pd.DataFrame(ratios, columns=["place", "unlike"])
    assert classes.of_groups(judged) == "Male is steadier than size explains"
    none = "In most rates, no sub-group is noisier or steadier than size explains"
    assert classes.of_groups(judged[2:]) == none
    assert classes.of_groups(judged.assign(unlike="noisier")) == "2 sub-groups are noisier than size explains"
    assert classes.of_groups(judged[:0]).endswith("?")


def times(*rows, metric="wall_ratio"):
    return pd.DataFrame(rows, columns=["name", "value", "ci_low", "ci_high"]).assign(metric=metric, n_runs=10)


def test_the_cost_of_determinism_is_said_where_it_is_decided():
    open_, longer = ("a", 0.997, 0.965, 1.03), ("b", 1.41, 1.4, 1.42)
    assert findings.of_cost(times(open_)) == "No difference in step time seen"
    assert findings.of_cost(times(longer)) == "Determinism makes steps 41 % slower"
    assert findings.of_cost(times(longer, ("c", 2.0, 1.9, 2.1))) == "Determinism makes steps up to 100 % slower"
    assert findings.of_cost(times(open_, longer)) == "Determinism makes steps of some networks slower"
    assert findings.of_cost(times(("a", 1.5, np.nan, np.nan))).endswith("?")
    assert findings.of_kernels(times(longer)) == "Determinism makes kernels 41 % slower"
    assert findings.of_kernels(times(longer).assign(ci_low=np.nan)).endswith("?")


def test_growth_and_the_order_are_said_by_one_number():
    apart = pd.DataFrame({"metric": "l2_unit", "step": [0, 1, 1, 8, 8], "value": [0.0, 1e-8, 0.0, 0.2, 0.4]})
    assert findings.of_growth(apart) == "Weights that start equal end 0.30 apart"
    assert findings.of_growth(apart[:1]).endswith("?")
    ordered = churn(("a", "shuffle", 0.05, 0.04, 0.06), ("a", "shuffle", 0.001, 0.0, 0.01))
    full = pd.Series([False, True])
    assert findings.of_order(ordered, full) == "The order of the data changes 5.0 % of answers"
    assert findings.of_order(ordered[1:], full[1:]) == "With one batch, rounding alone changes 0.10 % of answers"
    assert findings.of_order(ordered[:0], full[:0]).endswith("?")


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
    rows = stability(answers, LABELS, 3, {}, weight_distances(np.zeros((RUNS, 0))), 1)
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
    found = classes.judge_classes(rows_of(answers), "stability.csv", *PLACE).set_index("group")
    for label in (0, 1, 2):
        wrong = (answers != LABELS)[:, label == LABELS]
        assert found.loc[str(label), "independent"] == pytest.approx(independent_errors_sd(wrong))
    assert not found["above"].any()
    assert set(found["unlike"]) == {""}


def test_a_class_above_independent_errors_and_unlike_the_others_is_found_and_they_are_two_answers():
    found = classes.judge_classes(rows_of(predicted(shared=1)), "stability.csv", *PLACE).set_index("group")
    assert list(found["above"]) == [False, False, True]
    assert found.loc["2", "alike_low"] < found.loc["2", "whole"] * found.loc["2", "null"] < found.loc["2", "alike_high"]
    assert list(found["unlike"])[:2] == ["steadier", "steadier"]
    # The test is adjusted, whatever the range of one class.
    open_ = classes.judge_classes(rows_of(predicted(shared=1), holm=1.0), "stability.csv", *PLACE)
    assert set(open_["unlike"]) == {""}


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([("a", "control", 0.0, 0.0, 0.0)], "With every source fixed, runs predict the same tokens"),
        ([("a", "algo_impl", np.nan, np.nan, np.nan)], "How far do runs of one language model end apart?"),
        ([("a", "algo_impl", 0.3, 0.28, 0.32)], "Two runs differ in 30 % of next tokens"),
        ([("a", "impl", 0.3, 0.28, 0.32)], "Emulated noise alone changes 30 % of next tokens"),
        (
            [("a", "init", 0.2, 0.1, 0.3), ("b", "init", 0.3, 0.2, 0.4), ("a", "impl", 0.0, 0.0, 0.0)],
            "Single sources change up to 30 % of next tokens",
        ),
    ],
)
def test_tokens_that_differ_are_said_of_all_sources_or_of_each(rows, title):
    assert language.of_language(churn(*rows), emulated=True) == title


def test_an_entry_of_language_is_never_taken_for_an_exact_one():
    found = [
        language.entry_of_table(Estimate(*ends), 100, 2)
        for ends in ((0, 0, 0), (6e-10, 3e-10, 0.2), (0.5, np.nan, np.nan))
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


TABLE = pd.DataFrame(
    [
        ("net", dataset, "cpu", "algo", "fnr_sd", group, value, 0.0, 1.0, 6, 0)
        for dataset, groups in (
            ("celeba", {"all": 1.0, "Male": 2.0, "0": 3.0, "Bald:all": 4.0, "Bald:Male": 5.0, "Old:all": 6.0}),
            ("mine", {"all": 7.0, "Male": 8.0, "Bald:all": 9.0}),
        )
        for group, value in groups.items()
    ],
    columns=list(STABILITY),
)


def test_one_label_and_all_are_two_tasks_side_by_side():
    found, tasks = labels_apart(TABLE, [["net", "celeba"], ["net", "mine"]], {"celeba": "Bald"})
    assert tasks == [["net", "celeba: Bald"], ["net", "celeba: all labels"], ["net", "mine"]]
    values = {(row.dataset, row.group): row.value for row in found.itertuples()}
    assert [values["celeba: Bald", group] for group in ("all", "Male")] == [4.0, 5.0]
    assert [values["celeba: all labels", group] for group in ("all", "Male")] == [1.0, 2.0]
    assert "Old:all" not in set(found["group"])
    same, tasks = labels_apart(TABLE, [["net", "mine"]], {})
    assert tasks == [["net", "mine"]]
    pd.testing.assert_frame_equal(same, TABLE)
    assert of_label(TABLE[:0], {"celeba": "Bald"}).empty


TITLED = ("cnn", "digits", "cpu")


@pytest.fixture
def metrics(tmp_path):
    """Metric files in which rounding changes 1 % of answers and all sources 5 %, a fifth being decided."""
    churns = {"impl": (0.01, 0.005, 0.02), "algo_impl": (0.05, 0.04, 0.06)}
    rows = [(*TITLED, variant, "churn", "all", *estimate, 5, 0) for variant, estimate in churns.items()]
    metric_files.write_metrics(tmp_path / "stability.csv", STABILITY, rows)
    over = (*TITLED, "impl", "cnn", "algo_impl", "churn", "all", 0.2, 0.1, 0.4, 5, 0, 5, 0, 5, 5, "paired")
    metric_files.write_metrics(tmp_path / "ratios.csv", RATIOS, [over])
    return Metrics(tmp_path, "noise_by_source-cpu")


@pytest.mark.parametrize(
    "title",
    [
        "The implementation alone changes 1.0 % of answers",
        "Emulated noise alone changes fewer answers than all sources (partly synthetic)",
        "How far do runs of one training end apart?",
    ],
)
def test_a_true_title_has_no_fault(title, metrics):
    assert fault(metrics, title) == ""


@pytest.mark.parametrize(
    "title",
    [
        "The implementation alone changes 2.0 % of answers",
        "The implementation alone changes more answers than all sources",
        "Two runs differ in 1.0 % of answers",
        "Runs are wonderful",
    ],
)
def test_a_false_or_unknown_title_has_one(title, metrics):
    assert fault(metrics, title)
