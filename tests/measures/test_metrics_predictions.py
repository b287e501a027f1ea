"""Accuracy and churn of runs and of ensembles of them, equal runs, and what is a probability."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from toolnoise.formulas import churn as churn_module
from toolnoise.formulas import ensembles as module
from toolnoise.formulas.accuracy import accuracies, class_accuracies, cross_entropies, predictions
from toolnoise.formulas.churn import ExampleChurn, churn, normalised_churn, pairwise_churn
from toolnoise.formulas.ensembles import (
    by_size,
    pairwise_accuracy_change,
    pairwise_cross_entropy_change,
)
from toolnoise.formulas.equal_runs import bit_equal, rate_step
from toolnoise.formulas.outputs import kind
from toolnoise.formulas.variance_components import Components, components, rows
from toolnoise.stats.jackknife import FEW, some_pairs

LOGITS = np.array([[[2, 1, 0], [0, 3, 1], [5, 5, 1]], [[0, 1, 2], [1, 0, 0], [0, 0, 9]]], np.float32)
LABELS = np.array([0, 1, 1])


def test_accuracy_is_a_fraction_of_all_examples_or_of_those_of_a_class_which_may_have_none():
    assert accuracies(predictions(LOGITS), LABELS).tolist() == [2 / 3, 0.0]
    found = class_accuracies(predictions(LOGITS), LABELS, 3)
    np.testing.assert_array_equal(found, [[1.0, 0.5, np.nan], [0.0, 0.0, np.nan]])


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


def test_an_ensemble_has_runs_of_its_own_and_the_cross_entropy_of_logits_averaged_in_float64():
    rng = np.random.Generator(np.random.Philox(3))
    labels = rng.integers(0, 4, 200)
    logits = (1000 + rng.normal(size=(7, 200, 4))).astype(np.float32)
    wanted = [cross_entropy(logits[runs].astype(float).mean(axis=0) - 1000, labels) for runs in (slice(3), slice(3, 6))]
    sizes = by_size(logits, labels, 3)
    assert {count for members, _, count in sizes if members == 3} == {2}  # the seventh run is left over
    found = {row[0]: row[2].value for members, row, _ in sizes if members == 3}
    assert found["cross_entropy_mean"] == pytest.approx(np.mean(wanted), rel=1e-12)
    assert found["cross_entropy_sd"] == pytest.approx(np.std(wanted, ddof=1), rel=1e-9)


OUTPUTS = np.random.Generator(np.random.Philox(1)).normal(size=(2, 50, 4))
SOFTMAX = np.exp(OUTPUTS) / np.exp(OUTPUTS).sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("scores", "found"),
    [
        (OUTPUTS, "logits"),
        (np.maximum(OUTPUTS, 0) * 3, "logits"),  # after a ReLU
        (SOFTMAX, "probabilities"),
        (100 * SOFTMAX, "neither"),  # in percent
    ],
)
def test_the_kind_of_scores_shows_in_their_range_and_their_sums(scores, found):
    assert kind(scores) == found


def correctness(right, crossed):
    draws, runs, examples = right.shape
    predicted, table = right.reshape(-1, examples).astype(int), np.arange(draws * runs).reshape(draws, runs)
    found = {metric: estimate for metric, _, estimate in rows(predicted, np.ones(examples, int), table, crossed)}
    return {name: found[f"correctness_variance_{name}"] for name in Components._fields}


@pytest.mark.parametrize("crossed", [True, False])
@pytest.mark.parametrize("draws", [2, 4])
def test_each_part_is_the_mean_over_examples(draws, crossed):
    random = np.random.Generator(np.random.Philox(4))
    right = (random.random((4, 3, 50)) < random.random((4, 1, 50)))[:draws]
    found = correctness(right, crossed)
    each = [components(right[:, :, example].astype(float), crossed) for example in range(50)]
    for name in Components._fields:
        assert found[name].value == pytest.approx(np.mean([getattr(one, name).value for one in each]), nan_ok=True)
    assert np.isnan(found["algo"].low) == np.isnan(found["impl"].low) == (draws == 2)


PREDICTIONS = arrays(np.int64, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.integers(0, 3))


@given(PREDICTIONS)
def test_churn_equals_its_definition_exactly(predicted):
    wanted = [[sum(x != y for x, y in zip(a, b, strict=True)) / len(a) for b in predicted] for a in predicted]
    assert pairwise_churn(predicted).tolist() == wanted


def test_churn_of_many_runs_goes_on_over_the_blocks_to_the_last_example(monkeypatch):
    runs = FEW + 5
    predicted = np.random.Generator(np.random.Philox(2)).integers(0, 300, (runs, 101))
    different = np.array([[np.count_nonzero(a != b) for b in predicted] for a in predicted])
    for block in (churn_module.BLOCK, 7 * 300, 1):
        monkeypatch.setattr(churn_module, "BLOCK", block)
        found = churn(predicted)
        assert found.sums.tolist() == (different.sum(axis=1) / 101).tolist()
        assert found.sample.tolist() == (different[some_pairs(runs)] / 101).tolist()
        assert pairwise_churn(predicted).tolist() == (different / 101).tolist()


SHAPES = st.tuples(st.integers(2, 6), st.integers(1, 9))
ANSWERS_OF_RUNS = SHAPES.flatmap(lambda shape: arrays(np.intp, shape, elements=st.integers(0, 3)))


@given(ANSWERS_OF_RUNS)
def test_a_run_is_left_out_as_if_it_had_not_been_drawn(predictions):
    runs, churn = len(predictions) + 1, ExampleChurn(np.vstack([predictions, predictions[:1]]))
    # The same bits: both count whole numbers.
    np.testing.assert_array_equal(churn.without_each(), churn(1 - np.eye(runs)).mean(axis=1))


@given(ANSWERS_OF_RUNS)
def test_some_examples_at_a_time_give_the_same_bits(predictions):
    times, whole = np.ones((1, len(predictions))), ExampleChurn(predictions)
    with mock.patch.object(churn_module, "IN_CAMPS", 1):
        parts = ExampleChurn(predictions)
    assert len(parts.camps) == np.count_nonzero((predictions != predictions[0]).any(axis=0))
    np.testing.assert_array_equal(parts(times), whole(times))


@given(ANSWERS_OF_RUNS, st.data())
def test_a_run_drawn_twice_has_no_pair_with_itself(predictions, data):
    runs = len(predictions)
    drawn = np.array(
        data.draw(st.lists(st.integers(0, runs - 1), min_size=2, max_size=6).filter(lambda d: len({*d}) > 1))
    )
    pairs = [(i, j) for place, i in enumerate(drawn) for j in drawn[:place] if i != j]
    wanted = np.mean([predictions[i] != predictions[j] for i, j in pairs], axis=0)
    found = ExampleChurn(predictions)(np.bincount(drawn, minlength=runs)[np.newaxis])
    np.testing.assert_allclose(found[0], wanted, atol=1e-12)


def test_the_range_of_churn_is_from_the_difference_of_the_errors_to_their_sum():
    errors = np.array([0.1, 0.3])
    churn = np.array([[0, 0.2], [0.2, 0]])
    np.testing.assert_allclose(normalised_churn(churn, errors)[0, 1], 0, atol=1e-15)
    np.testing.assert_allclose(normalised_churn(1.5 * churn, errors)[0, 1], 0.5)
    np.testing.assert_allclose(normalised_churn(2 * churn, errors)[0, 1], 1)
    # Runs that err on most examples disagree on no more than all.
    np.testing.assert_allclose(normalised_churn(3 * churn, np.array([0.8, 0.6]))[0, 1], (0.6 - 0.2) / 0.8)
    assert np.isnan(normalised_churn(churn, np.array([0, 0.2]))[0, 1]), "a range of one value has no place in it"


def test_runs_are_bit_equal_or_they_are_not():
    logits = np.repeat(np.array([[[0.1, np.nan]]], np.float32), 3, axis=0)
    assert bit_equal(logits)
    logits[2, 0, 0] = np.nextafter(np.float32(0.1), np.float32(1))
    assert not bit_equal(logits)
    assert not bit_equal(np.array([[0.0], [-0.0]]))
    assert bit_equal(logits[:, :, ::-1][:2])  # not contiguous
    assert bit_equal(logits[:1])
    assert bit_equal(np.empty((0, 0)))
    # Only the rates of runs that differ have a step.
    assert rate_step(50, equal=False) == 0.02
    assert np.isnan([rate_step(50, equal=True), rate_step(0, equal=False)]).all()
