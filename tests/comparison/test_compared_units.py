"""`toolnoise compare` where an example has several units, or a run leaves numbers: read, measured, and said.

Oracles are NumPy and SciPy in float64. Intervals over examples are held against simulated nulls, in which segments are
alike within and a verdict is false.
"""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from toolnoise.api.compare import compare_values
from toolnoise.comparison import arms, comparison, comparison_text, label_files
from toolnoise.comparison.arms import PREDICTIONS
from toolnoise.comparison.comparison_text import laid_out
from toolnoise.comparison.crossed import mean_over_examples
from toolnoise.formulas import outcome_files
from toolnoise.formulas.outcomes import LEFT, LOSSES, OUTCOMES, SCORED, VALUES
from toolnoise.study import config

RUNS, EXAMPLES = 4, 12


def compared(*paths, of=PREDICTIONS, labels="y.npy", paired=False):
    read_truth = label_files.read_labels if of == PREDICTIONS else label_files.read_numbers
    truth = None if labels is None else read_truth(labels)
    read = [arms.read_arm([path], of, truth) for path in paths]
    arms.require_comparable(read, paired=paired)
    return comparison.compare_all(read, paired=paired)


def compared_as(kind, *paths, labels=None, paired=False):
    return compared(*paths, of=kind, labels=labels, paired=paired)


def near(value):
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def welch(a, b):
    """The difference of two means with its interval and p-value, by SciPy."""
    found = stats.ttest_ind(b, a, equal_var=False)
    low, high = found.confidence_interval()
    return b.mean() - a.mean(), low, high, found.pvalue


# Many labels, tokens, masks


def test_many_labels_have_accuracies_and_exact_matches(saved, drawn):
    truth = drawn.integers(0, 2, (EXAMPLES, 3))
    a, b = (drawn.normal(size=(RUNS, EXAMPLES, 3)) + skill * (truth - 0.5) for skill in (1.0, 3.0))
    saved(y=truth, a=a, b=b)
    (found,) = compared("a.npy", "b.npy")
    rights = [(scores > 0) == truth for scores in (a, b)]
    means = [right.reshape(RUNS, -1).mean(axis=1) for right in rights]
    difference, low, high, pvalue = welch(*means)
    assert (found.difference, found.pvalue) == (near((difference, low, high)), near(pvalue))
    assert (found.n_examples, found.units_each, found.outcome) == (EXAMPLES, 3, "labels")
    whole = [right.all(axis=2).mean(axis=1) for right in rights]
    assert found.exact_match["a"] == near(whole[0].mean())
    assert found.exact_match["difference"] == near(welch(*whole)[:3])
    entropies = [np.logaddexp(0, np.where(truth == 1, -scores, scores)).mean(axis=(1, 2)) for scores in (a, b)]
    assert found.cross_entropy_difference == near(welch(*entropies)[:3])
    # The interval over examples: an example's labels together.
    each = (rights[1].mean(axis=0) - rights[0].mean(axis=0)).mean(axis=1)
    over = stats.t.interval(0.95, EXAMPLES - 1, each.mean(), stats.sem(each))
    assert found.difference_over_examples[1:] == near(over)
    text = laid_out(comparison_text.blocks([found]))
    assert f"{EXAMPLES} examples of 3 labels; accuracy and churn count labels" in text
    assert "all labels right %" in text


def test_probabilities_and_classes_of_many_labels_are_read_by_their_values(saved, drawn, refused):
    truth = drawn.integers(0, 2, (EXAMPLES, 3))
    logits = drawn.normal(size=(RUNS, EXAMPLES, 3))
    chances = 1 / (1 + np.exp(-logits))
    saved(y=truth, logits=logits, chances=chances, said=(logits > 0).astype(int))
    labels = label_files.read_labels("y.npy")
    read = {name: arms.read_arm([f"{name}.npy"], PREDICTIONS, labels) for name in ("logits", "chances", "said")}
    for answers in read.values():
        np.testing.assert_array_equal(answers.answers, (logits > 0).reshape(RUNS, -1))
    assert read["chances"].entropies == near(read["logits"].entropies)
    assert read["said"].entropies is None
    assert "log-odds of yes against no" in read["logits"].notes[0]
    assert "probabilities of yes" in read["chances"].notes[0]
    saved(percent=100 * chances, all_logits=100 * chances)
    line = "none below 0 as log-odds of no are; probabilities, from 0 to 1; log-odds in a file or array named logits"
    assert line in refused(arms.read_arm, ["percent.npy"], PREDICTIONS, labels)
    assert arms.read_arm(["all_logits.npy"], PREDICTIONS, labels).answers.all()


@pytest.mark.parametrize("shape", [(EXAMPLES, 5), (EXAMPLES, 4, 3)])
def test_tokens_and_masks_are_read_as_scores_or_classes_of_one_run_or_several(shape, saved, drawn):
    truth = drawn.integers(0, 6, shape)
    scores = drawn.normal(size=(RUNS, *shape, 6)) + np.eye(6)[truth]
    saved(y=truth, a=scores, one=scores[0], classes=scores.argmax(axis=-1), class_of_one=scores[0].argmax(axis=-1))
    np.savez("each.npz", **{f"seed{run}": layer for run, layer in enumerate(scores)})
    labels = label_files.read_labels("y.npy")
    said = scores.argmax(axis=-1).reshape(RUNS, -1)
    for name, runs in (("a.npy", RUNS), ("one.npy", 1), ("classes.npy", RUNS), ("class_of_one.npy", 1)):
        np.testing.assert_array_equal(arms.read_arm([name], PREDICTIONS, labels).answers, said[:runs])
    np.testing.assert_array_equal(arms.read_arm(["each.npz"], PREDICTIONS, labels).answers, said)
    (found,) = compared("a.npy", "each.npz")
    units = int(np.prod(shape[1:]))
    assert (found.n_examples, found.units_each) == (EXAMPLES, units)
    assert found.difference.value == 0
    assert f"{EXAMPLES} {'segments' if len(shape) == 2 else 'pictures'} of {units}" in laid_out(
        comparison_text.blocks([found])
    )


# Values


@pytest.mark.parametrize("shape", [(EXAMPLES,), (EXAMPLES, 3)])
def test_values_of_one_column_or_several_have_errors_over_runs_and_over_examples(shape, saved, drawn):
    truth = drawn.normal(size=shape)
    a, b = (truth + scale * drawn.normal(size=(RUNS, *shape)) for scale in (2.0, 0.5))
    saved(y=truth, a=a, b=b)
    (found,) = compared_as(VALUES, "a.npy", "b.npy", labels="y.npy")
    wrong = [np.abs(values - truth).reshape(RUNS, -1) for values in (a, b)]
    difference, low, high, pvalue = welch(*(each.mean(axis=1) for each in wrong))
    assert (found.difference, found.pvalue) == (near((difference, low, high)), near(pvalue))
    rmses = [np.sqrt(np.square(each).mean(axis=1)) for each in wrong]
    assert found.rmse_difference == near(welch(*rmses)[:3])
    assert found.a.sd.value == near(wrong[0].mean(axis=1).std(ddof=1))
    each = (wrong[1].mean(axis=0) - wrong[0].mean(axis=0)).reshape(EXAMPLES, -1).mean(axis=1)
    over = stats.t.interval(0.95, EXAMPLES - 1, each.mean(), stats.sem(each))
    assert found.difference_over_examples == near((each.mean(), *over))
    assert found.apart_other_draws.value == near(np.mean([np.abs(one - other).mean() for one in a for other in b]))
    assert found.perplexity_ratio is None
    assert "B is better than A: mean absolute error -" in laid_out(comparison_text.blocks([found]))


@pytest.mark.parametrize("ids", [np.arange(EXAMPLES), np.arange(EXAMPLES) * 7 + 3, list("abcdefghijkl")])
@pytest.mark.parametrize("name", ["id", "Example IDs", ""])
@pytest.mark.usefixtures("here")
def test_values_in_a_table_are_matched_by_ids_and_columns(ids, name, drawn, refused):
    truth, order = drawn.normal(size=(EXAMPLES, 2)), drawn.permutation(EXAMPLES)
    frame = pd.DataFrame(truth, pd.Index(ids, name=name), ["height", "y"])
    frame.to_csv("y.csv")
    true = label_files.read_numbers("y.csv")
    found = frame.add(1).iloc[order, ::-1].add_prefix("pred_")
    found.to_csv("a.csv")
    read = arms.read_file("a.csv", VALUES, true)
    np.testing.assert_allclose(read.answers, [truth.ravel() + 1])
    found["pred_y"].to_csv("a.csv")
    frame["y"].to_csv("one.csv")
    read = arms.read_file("a.csv", VALUES, label_files.read_numbers("one.csv"))
    np.testing.assert_allclose(read.answers, [truth[:, 1] + 1])
    found.set_axis(list("ABCDEFGHIJKL")).to_csv("a.csv", index_label="id")
    if name or isinstance(ids, list) or ids[0]:
        assert "a.csv: found other examples than in y.csv" in refused(arms.read_file, "a.csv", VALUES, true)


# Losses


def test_losses_have_a_difference_and_a_ratio_of_perplexities_and_no_labels(saved, drawn):
    a, b = (drawn.exponential(mean, size=(RUNS, EXAMPLES, 7)) for mean in (2.0, 1.0))
    for runs in (a, b):
        runs[:, 3:5, 4:] = np.nan
    saved(a=a, b=b)
    (found,) = compared_as(LOSSES, "a.npy", "b.npy")
    means = [np.nanmean(runs.reshape(RUNS, -1), axis=1) for runs in (a, b)]
    difference, low, high, pvalue = welch(*means)
    assert (found.difference, found.pvalue) == (near((difference, low, high)), near(pvalue))
    assert found.perplexity_ratio == near(np.exp([difference, low, high]))
    assert found.a.perplexity.value == near(np.exp(means[0].mean()))
    apart = np.nanmean(b.mean(axis=0) - a.mean(axis=0))
    assert found.difference_over_examples.value == near(apart)
    assert (found.n_examples, found.n_units) == (EXAMPLES, EXAMPLES * 7 - 2 * 3)
    assert found.rmse_difference is None
    text = laid_out(comparison_text.blocks([found]))
    assert "B is better than A: loss (nats) -" in text
    assert "error" not in text
    assert json.loads(json.dumps(comparison_text.as_json([found]), allow_nan=False))["outcome"] == "losses"


def test_a_row_of_tokens_is_one_segment_and_has_no_interval_over_segments(saved, drawn):
    a, b = drawn.exponential(size=(2, 50))
    saved(a=a, b=b)
    (found,) = compared_as(LOSSES, "a.npy", "b.npy")
    assert (found.n_examples, found.n_units) == (1, 50)
    assert found.difference_over_examples == pytest.approx((b.mean() - a.mean(), np.nan, np.nan), nan_ok=True)
    assert "No winner: A is one run and B is one run" in laid_out(comparison_text.blocks([found]))


SEGMENTS = np.ones((EXAMPLES, 5))
SHORTER = np.where(np.arange(5) < 4, SEGMENTS, np.nan)
ALLOWED = "floats from 0 up, segment x token or token: each token's negative log-likelihood, NaN for padding"


@pytest.mark.parametrize(
    ("arm", "line"),
    [
        (-SEGMENTS, f"b.npy: [0, 0]: found -1.0; {ALLOWED}"),
        (SEGMENTS * np.nan, "b.npy: [0]: every token is NaN; a loss of one token or more in each segment"),
        (SEGMENTS * 1e200, "b.npy: found 1e+200; numbers within 1e+100 of 0"),
        (SHORTER, "b.npy: found 48 tokens of 12 segments; 60 tokens of 12 segments, of a.npy, with the same padding"),
        (np.stack([SEGMENTS, SHORTER]), "b.npy: found padding in other places in run 1 than in run 0; the same tokens"),
    ],
)
def test_what_are_no_losses_is_refused(arm, line, saved, refused):
    saved(a=SEGMENTS, b=arm)
    assert refused(compared_as, LOSSES, "a.npy", "b.npy").startswith(line)


def test_losses_and_labels_do_not_go_together(saved, refused):
    saved(nll=SEGMENTS, y=SEGMENTS.astype(int))
    line = refused(lambda: compare_values("nll.npy", "nll.npy", labels="y.npy", losses=True))
    assert line == "labels: found it with losses; none: a loss is no prediction of a label"
    for asked in (None, VALUES):
        line = refused(arms.require_no_losses, "nll.npy", asked)
        assert line.startswith("nll.npy: found losses by its name, which are no predictions; losses, if ")


# Intervals over examples: a segment's tokens are drawn together

NULLS, TOKENS = 400, 20


def segments(draw, count):
    """Differences of tokens without a mean, strongly alike within a segment (a correlation of 0.8)."""
    return 2 * draw.normal(size=(count, 1)) + draw.normal(size=(count, TOKENS))


@pytest.mark.parametrize("even", [True, False])
def test_no_more_than_six_percent_of_nulls_have_an_interval_without_zero_and_tokens_as_examples_have(even, drawn):
    by_segment = by_token = 0
    for _ in range(NULLS):
        differences = segments(drawn, 60)
        lengths = np.full(60, TOKENS) if even else drawn.integers(1, TOKENS + 1, 60)
        there = differences[np.arange(TOKENS) < lengths[:, np.newaxis]]
        _, low, high = mean_over_examples(there, lengths)
        by_segment += not low <= 0 <= high
        _, low, high = mean_over_examples(there, np.ones(len(there), int))
        by_token += not low <= 0 <= high
    assert by_segment / NULLS <= 0.06
    assert by_token / NULLS > 0.4


def test_a_study_file_allows_what_the_table_has():
    allowed = config.study_schema()["$defs"]["model"]["properties"]["outcome"]["enum"]
    assert set(allowed) == LEFT.keys()
    assert {left.file for left in LEFT.values()} <= set(outcome_files.RESULTS)
    assert {LEFT[name].of for name in SCORED} == OUTCOMES.keys()
