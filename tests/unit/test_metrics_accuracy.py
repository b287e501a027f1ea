import numpy as np
import pytest

from toolnoise.formulas.accuracy import FEW, accuracies, class_accuracies, predictions

LOGITS = np.array([[[2, 1, 0], [0, 3, 1], [5, 5, 1]], [[0, 1, 2], [1, 0, 0], [0, 0, 9]]], np.float32)
LABELS = np.array([0, 1, 1])


def test_prediction_is_the_class_of_the_highest_logit_and_the_first_of_equals():
    assert predictions(LOGITS).tolist() == [[0, 1, 0], [2, 0, 2]]


@pytest.mark.parametrize("classes", [1, 2, 10, FEW, FEW + 1])
def test_with_ties_infinities_and_nan_too_predictions_are_those_of_argmax(classes):
    rng = np.random.Generator(np.random.Philox(2))
    logits = rng.integers(0, 4, (3, 500, classes)).astype(np.float32)
    logits[rng.random(logits.shape) < 0.1] = np.inf
    logits[rng.random(logits.shape) < 0.1] = -np.inf
    logits[1][rng.random(logits[1].shape) < 0.1] = np.nan
    np.testing.assert_array_equal(predictions(logits), logits.argmax(axis=-1))


def test_accuracy_is_a_fraction_of_all_examples():
    assert accuracies(predictions(LOGITS), LABELS).tolist() == [2 / 3, 0.0]


def test_class_accuracy_counts_only_examples_of_the_class_and_is_undefined_without_any():
    found = class_accuracies(predictions(LOGITS), LABELS, 3)
    np.testing.assert_array_equal(found, [[1.0, 0.5, np.nan], [0.0, 0.0, np.nan]])


def test_runs_with_equally_many_right_answers_have_bit_equal_accuracies():
    predicted = np.array([[0, 0, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 1, 0]])
    first, second = accuracies(predicted, np.array([0, 1, 1, 1, 0, 1, 0]))
    assert first == second == 5 / 7


def test_class_accuracies_weighted_by_class_size_make_the_accuracy():
    rng = np.random.Generator(np.random.Philox(1))
    labels, predicted = rng.integers(0, 4, 200), rng.integers(0, 4, (3, 200))
    weighted = class_accuracies(predicted, labels, 4) @ np.bincount(labels) / 200
    np.testing.assert_allclose(weighted, accuracies(predicted, labels), rtol=1e-14)


def test_no_runs_have_no_accuracies():
    none = predictions(LOGITS[:0])
    assert accuracies(none, LABELS).shape == (0,)
    assert class_accuracies(none, LABELS, 3).shape == (0, 3)
