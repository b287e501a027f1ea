"""Accuracy of runs and of ensembles of them, what is a probability, and the components of an example's correctness."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from toolnoise.formulas import ensembles as module
from toolnoise.formulas.accuracy import accuracies, class_accuracies, predictions
from toolnoise.formulas.ensembles import (
    by_size,
    ensembles,
    pairwise_accuracy_change,
    pairwise_cross_entropy_change,
)
from toolnoise.formulas.entropy import cross_entropies
from toolnoise.formulas.probabilities import kind
from toolnoise.formulas.variance_components import PARTS, components, rows
from toolnoise.stats.estimates import positive_mean_t

LOGITS = np.array([[[2, 1, 0], [0, 3, 1], [5, 5, 1]], [[0, 1, 2], [1, 0, 0], [0, 0, 9]]], np.float32)
LABELS = np.array([0, 1, 1])


def test_prediction_is_the_class_of_the_highest_logit_and_the_first_of_equals():
    assert predictions(LOGITS).tolist() == [[0, 1, 0], [2, 0, 2]]


def test_accuracy_is_a_fraction_of_all_examples_or_of_those_of_a_class_which_may_have_none():
    assert accuracies(predictions(LOGITS), LABELS).tolist() == [2 / 3, 0.0]
    found = class_accuracies(predictions(LOGITS), LABELS, 3)
    np.testing.assert_array_equal(found, [[1.0, 0.5, np.nan], [0.0, 0.0, np.nan]])


# Ensembles


ELEMENTS = st.integers(-20, 20).map(lambda quarters: quarters / 4)
OF_RUNS = arrays(np.float32, array_shapes(min_dims=3, max_dims=3, max_side=7), elements=ELEMENTS)


def accuracy(logits, labels):
    return np.mean(np.argmax(logits, axis=1) == labels)


def cross_entropy(logits, labels):
    exponentials = np.exp(logits.astype(float))
    return np.mean([-np.log(row[label] / row.sum()) for row, label in zip(exponentials, labels, strict=True)])


def by_definition(logits, labels, measure):
    """Pair by pair: that of the mean of two logits, less that of each member."""
    result = np.zeros((len(logits), len(logits)))
    for one, a in enumerate(logits):
        for other, b in enumerate(logits):
            together = measure((a + b) / 2, labels)
            result[one, other] = np.mean([together - measure(a, labels), together - measure(b, labels)])
    return result


@given(OF_RUNS, st.data())
def test_changes_in_accuracy_and_cross_entropy_equal_their_definition(logits, data):
    _, examples, classes = logits.shape
    labels = np.array(data.draw(st.lists(st.integers(0, classes - 1), min_size=examples, max_size=examples)))
    found = pairwise_accuracy_change(logits, labels)
    np.testing.assert_allclose(found, by_definition(logits, labels, accuracy), rtol=0, atol=1e-12)
    # That of cross-entropy whatever the labels.
    found = pairwise_cross_entropy_change(logits)
    np.testing.assert_allclose(found, by_definition(logits, labels, cross_entropy), rtol=0, atol=1e-12)


def test_changes_go_on_over_the_blocks_to_the_last_example(monkeypatch):
    rng = np.random.Generator(np.random.Philox(1))
    logits, labels = rng.normal(size=(5, 53, 4)).astype(np.float32), rng.integers(0, 4, 53)
    whole = pairwise_accuracy_change(logits, labels), pairwise_cross_entropy_change(logits)
    monkeypatch.setattr(module, "EXAMPLES", 5 * 4 * 10)
    np.testing.assert_array_equal(pairwise_accuracy_change(logits, labels), whole[0])
    np.testing.assert_allclose(pairwise_cross_entropy_change(logits), whole[1], rtol=1e-13, atol=0)


def test_logits_so_far_apart_that_products_vanish_are_worked_out_by_their_logarithms():
    logits = np.array([[[4000.0, 0.0]], [[0.0, 4000.0]], [[2000.0, 0.0]]])
    found = pairwise_cross_entropy_change(logits)
    assert found[0, 1] == pytest.approx(2000 + np.log(2) - 4000, rel=1e-15)
    assert found[0, 2] == 0


@given(OF_RUNS)
def test_cross_entropy_equals_its_definition(logits):
    labels = np.arange(logits.shape[1]) % logits.shape[2]
    wanted = [cross_entropy(run, labels) for run in logits]
    np.testing.assert_allclose(cross_entropies(logits, labels), wanted, rtol=1e-12, atol=1e-12)


def test_cross_entropy_of_an_impossible_label_is_infinite():
    with np.errstate(divide="ignore"):
        logits = np.log(np.array([[[1.0, 0.0], [0.5, 0.5]]]))
    assert cross_entropies(logits, np.array([0, 1])) == pytest.approx([np.log(2) / 2])
    assert np.isinf(cross_entropies(logits, np.array([1, 1]))).all()


def test_no_run_is_in_two_ensembles_and_what_is_left_over_in_none():
    logits = np.arange(7 * 2 * 3, dtype=np.float32).reshape(7, 2, 3)
    found = np.array(list(ensembles(logits, 3)))
    np.testing.assert_array_equal(found, [logits[:3].mean(axis=0), logits[3:6].mean(axis=0)])
    assert not list(ensembles(logits, 8))


def test_the_cross_entropy_of_an_ensemble_is_that_of_logits_averaged_in_float64():
    rng = np.random.Generator(np.random.Philox(3))
    labels = rng.integers(0, 4, 200)
    logits = (1000 + rng.normal(size=(6, 200, 4))).astype(np.float32)
    wanted = [cross_entropy(logits[runs].astype(float).mean(axis=0) - 1000, labels) for runs in (slice(3), slice(3, 6))]
    found = {row[0]: row[2].value for members, row, _ in by_size(logits, labels, 3) if members == 3}
    assert found["cross_entropy_mean"] == pytest.approx(np.mean(wanted), rel=1e-12)
    assert found["cross_entropy_sd"] == pytest.approx(np.std(wanted, ddof=1), rel=1e-9)


def test_ensembles_by_size_are_measured_as_runs_are():
    rng = np.random.Generator(np.random.Philox(2))
    labels = rng.integers(0, 3, 300)
    logits = (rng.normal(size=(9, 300, 3)) * 2 + 1.5 * np.eye(3)[labels]).astype(np.float32)
    found = {
        (members, metric): (estimate, count) for members, (metric, _, estimate), count in by_size(logits, labels, 9)
    }
    assert {count for (members, _), (_, count) in found.items() if members == 4} == {2}
    means = [found[members, "accuracy_mean"][0].value for members in (1, 3, 9)]
    churns = [found[members, "churn"][0].value for members in (1, 3)]
    assert means == sorted(means)
    assert churns[1] < churns[0]
    assert np.isnan(found[9, "accuracy_sd"][0].value)
    assert found[3, "cross_entropy_mean"][0].value < found[1, "cross_entropy_mean"][0].value


# What is a softmax's output, what is not


OUTPUTS = np.random.Generator(np.random.Philox(1)).normal(size=(2, 50, 4))
SOFTMAX = np.exp(OUTPUTS) / np.exp(OUTPUTS).sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("scores", "found"),
    [
        (OUTPUTS, "logits"),
        (np.log(SOFTMAX), "logits"),
        (np.maximum(OUTPUTS, 0) * 3, "logits"),  # after a ReLU
        (SOFTMAX, "probabilities"),
        (SOFTMAX.astype(np.float16), "probabilities"),
        (np.eye(4)[OUTPUTS.argmax(axis=-1)], "probabilities"),
        (100 * SOFTMAX, "neither"),  # in percent
        (np.round(255 * SOFTMAX).astype(np.uint8), "neither"),
        (1 / (1 + np.exp(-OUTPUTS)), "neither"),  # a sigmoid of each class
        (np.where(SOFTMAX > 0.2, SOFTMAX, 0), "neither"),  # only the likely classes
    ],
)
def test_the_kind_of_scores_shows_in_their_range_and_their_sums(scores, found):
    assert kind(scores) == found


def correctness(right, crossed):
    draws, runs, examples = right.shape
    predicted, table = right.reshape(-1, examples).astype(int), np.arange(draws * runs).reshape(draws, runs)
    found = {metric: estimate for metric, _, estimate in rows(predicted, np.ones(examples, int), table, crossed)}
    return {name: found[f"correctness_variance_{name}"] for name in PARTS}


@pytest.fixture
def right():
    draws = np.random.Generator(np.random.Philox(4))
    return draws.random((4, 3, 50)) < draws.random((4, 1, 50))


@pytest.mark.parametrize("crossed", [True, False])
@pytest.mark.parametrize("draws", [2, 4])
def test_each_part_is_the_mean_over_examples(right, draws, crossed):
    right = right[:draws]
    found = correctness(right, crossed)
    each = [components(right[:, :, example].astype(float), crossed) for example in range(50)]
    for name, part in PARTS.items():
        assert found[name].value == pytest.approx(np.mean([getattr(one, part).value for one in each]), nan_ok=True)
    assert np.isnan(found["algo"].low) == np.isnan(found["impl"].low) == (draws == 2)


def test_noise_within_draws_has_the_interval_of_a_mean_over_draws(right):
    right[0] = right[0, 0]  # without noise
    found = correctness(right, crossed=True)
    variances = right.var(axis=1, ddof=1).mean(axis=1)
    assert variances[0] == 0
    assert found["impl"] == pytest.approx(positive_mean_t(variances).within(-0.25, 0.25))
    # Each draw's rest, and what of it is the draw's own: see formulas/variance_components.py.
    rest = right - right.mean(axis=1, keepdims=True) - right.mean(axis=0) + right.mean(axis=(0, 1))
    squares = np.square(rest).sum(axis=1).mean(axis=1) * 4 / (3 * 2)
    interaction = positive_mean_t((3 * squares - squares.mean()) / 2)
    assert found["interaction"] == pytest.approx(interaction.within(-0.25, 0.25))
