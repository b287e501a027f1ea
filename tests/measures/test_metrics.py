"""Measures of runs: accuracy, churn, ensembles, and distances of weights, logits and activations."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import stats

from toolnoise.formulas import churn as churn_module
from toolnoise.formulas import ensembles as module
from toolnoise.formulas import similarity
from toolnoise.formulas.accuracy import accuracies, class_accuracies, predictions
from toolnoise.formulas.churn import ExampleChurn, churn, normalised_churn, pairwise_churn
from toolnoise.formulas.ensembles import (
    by_size,
    pairwise_accuracy_change,
    pairwise_cross_entropy_change,
)
from toolnoise.formulas.equal_runs import bit_equal, rate_step
from toolnoise.formulas.outputs import kind_of_scores
from toolnoise.formulas.similarity import pairwise_cka, pearson_distances, spearman_distances
from toolnoise.formulas.variance_components import Components, components
from toolnoise.formulas.variance_components import component_rows as components_of
from toolnoise.formulas.weights import BLOCK, paired_l2, pairwise_l2, unit_vectors
from toolnoise.papers.layers.dump import gram_matrix
from toolnoise.papers.layers.measure import pairwise_gram_cka
from toolnoise.stats.jackknife import FEW, Pairs, some_pairs


def test_accuracy_is_a_fraction_of_all_examples_or_of_those_of_a_class_which_may_have_none():
    labels = np.array([0, 1, 1])
    predicted = predictions(
        np.array([[[2, 1, 0], [0, 3, 1], [5, 5, 1]], [[0, 1, 2], [1, 0, 0], [0, 0, 9]]], np.float32)
    )
    assert accuracies(predicted, labels).tolist() == [2 / 3, 0.0]
    found = class_accuracies(predicted, labels, 3)
    np.testing.assert_array_equal(found, [[1.0, 0.5, np.nan], [0.0, 0.0, np.nan]])


ELEMENTS = st.integers(-20, 20).map(lambda quarters: quarters / 4)
OF_RUNS = arrays(np.float32, array_shapes(min_dims=3, max_dims=3, max_side=7), elements=ELEMENTS)


def accuracy_of(logits, labels):
    return np.mean(np.argmax(logits, axis=1) == labels)


def cross_entropy(logits, labels):
    exponentials = np.exp(logits.astype(float))
    return np.mean([-np.log(row[label] / row.sum()) for row, label in zip(exponentials, labels, strict=True)])


def ensembles_by_definition(logits, labels, measure):
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
    np.testing.assert_allclose(found, ensembles_by_definition(logits, labels, accuracy_of), rtol=0, atol=1e-12)
    # That of cross-entropy whatever the labels.
    found = pairwise_cross_entropy_change(logits)
    np.testing.assert_allclose(found, ensembles_by_definition(logits, labels, cross_entropy), rtol=0, atol=1e-12)


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


# tests/comparison/test_predictions.py has the others.
def test_scores_after_a_relu_are_logits():
    outputs = np.random.Generator(np.random.Philox(1)).normal(size=(2, 50, 4))
    assert kind_of_scores(np.maximum(outputs, 0) * 3) == "logits"


def correctness(right, crossed):
    draws, runs, examples = right.shape
    predicted, table = right.reshape(-1, examples).astype(int), np.arange(draws * runs).reshape(draws, runs)
    found = {
        metric: estimate for metric, _, estimate in components_of(predicted, np.ones(examples, int), table, crossed)
    }
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


def test_the_range_of_churn_is_from_the_difference_of_the_errors_to_their_sum():
    errors = np.array([0.1, 0.3])
    churn = np.array([[0, 0.2], [0.2, 0]])
    np.testing.assert_allclose(normalised_churn(churn, errors)[0, 1], 0, atol=1e-15)
    np.testing.assert_allclose(normalised_churn(1.5 * churn, errors)[0, 1], 0.5)
    np.testing.assert_allclose(normalised_churn(2 * churn, errors)[0, 1], 1)
    # Runs that err on most examples disagree on no more than all.
    np.testing.assert_allclose(normalised_churn(3 * churn, np.array([0.8, 0.6]))[0, 1], (0.6 - 0.2) / 0.8)
    assert np.isnan(normalised_churn(churn, np.array([0, 0.2]))[0, 1]), "a range of one value has no place in it"


@given(ANSWERS_OF_RUNS)
def test_at_the_ends_of_its_range_normalised_churn_is_exactly_0_and_1(predictions):
    examples = predictions.shape[1]
    wrong = np.count_nonzero(predictions, axis=1)  # the label of each example is 0
    different = np.count_nonzero(predictions[:, np.newaxis] != predictions, axis=2)
    least, most = np.abs(wrong[:, np.newaxis] - wrong), np.minimum(wrong[:, np.newaxis] + wrong, examples)
    for errors in (wrong / examples, 1 - (examples - wrong) / examples):  # the second has another rounding
        found = normalised_churn(pairwise_churn(predictions), errors)
        np.testing.assert_array_equal(np.isnan(found), least == most)
        np.testing.assert_array_equal(found == 0, (different == least) & (least < most))
        np.testing.assert_array_equal(found == 1, (different == most) & (least < most))


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


VECTORS = arrays(
    np.float32,
    array_shapes(min_dims=2, max_dims=2, max_side=9),
    elements=st.floats(-1000, 1000, width=32),
)


@given(VECTORS)
def test_equal_weights_are_exactly_zero_apart(vectors):
    same = np.repeat(vectors[:1], 3, axis=0)
    assert not pairwise_l2(same).any()
    assert not pairwise_l2(unit_vectors(same)).any()
    assert not paired_l2(vectors, vectors).any()


@given(VECTORS)
def test_distance_equals_its_definition(vectors):
    exact = vectors.astype(np.float64)
    wanted = [[np.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True))) for b in exact] for a in exact]
    np.testing.assert_allclose(pairwise_l2(vectors), wanted, rtol=1e-12, atol=0)
    np.testing.assert_allclose(paired_l2(vectors, vectors[::-1]), np.diag(np.fliplr(wanted)), rtol=1e-12, atol=0)


def test_distances_go_on_over_the_blocks_to_the_last_weight():
    vectors = np.zeros((2, 2 * BLOCK + 3), np.float32)
    vectors[0, [0, BLOCK - 1, BLOCK, 2 * BLOCK + 2]] = 2, 4, 5, 6
    assert pairwise_l2(vectors)[0, 1] == paired_l2(vectors[:1], vectors[1:])[0] == 9
    assert np.linalg.norm(unit_vectors(vectors)[0]) == pytest.approx(1, rel=1e-15)


def test_one_flipped_bit_is_not_lost_to_cancellation():
    vectors = np.ones((2, 100_000), np.float32)
    vectors[1, 5] = np.nextafter(np.float32(1), np.float32(2))
    assert pairwise_l2(vectors)[0, 1] == 2.0**-23


def test_runs_far_from_the_first_keep_the_digits_of_their_distance():
    vectors = np.zeros((4, 1000), np.float32)
    vectors[1:] = 1000
    vectors[2, 7] = np.nextafter(np.float32(1000), np.float32(2000))
    found = pairwise_l2(vectors)
    assert found[1, 2] == found[2, 3] == 2.0**-14
    assert found[1, 3] == 0
    assert found[0, 1] == pytest.approx(1000 * np.sqrt(1000), rel=1e-15)


# Correlation


LOGITS = arrays(
    np.float32, array_shapes(min_dims=3, max_dims=3, max_side=7), elements=st.integers(-20, 20).map(lambda x: x / 4)
)


def normal64(*shape, seed=1):
    return np.random.Generator(np.random.Philox(seed)).normal(size=shape)


def normal(*shape, seed=1):
    return normal64(*shape, seed=seed).astype(np.float32)


def by_definition(logits, correlation):
    """1 - r pair by pair; NaN for all if a run has no variance."""
    flat = logits.reshape(len(logits), -1).astype(float)
    if not np.ptp(flat, axis=1).all() and len(flat) > 1:
        return np.full((len(flat), len(flat)), np.nan)
    return np.array([[1 - correlation(a, b) for b in flat] for a in flat])


def pearson(a, b):
    a, b = a - a.mean(), b - b.mean()
    return sum(a * b) / np.sqrt(sum(a * a) * sum(b * b))


def of_ranks(a, b):
    return pearson(stats.rankdata(a), stats.rankdata(b))


BOTH = pytest.mark.parametrize(
    ("distances", "correlation"), [(pearson_distances, pearson), (spearman_distances, of_ranks)]
)


@BOTH
@given(LOGITS)
def test_it_equals_its_definition_with_ranks_that_equal_values_share(distances, correlation, logits):
    found = distances(logits)
    if len(logits) < 2:
        assert not found.sums.any()
        return
    wanted = by_definition(logits, correlation)
    np.testing.assert_allclose(found.sums, wanted.sum(axis=1) - np.diag(wanted), rtol=0, atol=1e-12)
    assert found.sample.shape == (len(logits) * (len(logits) - 1) // 2,)
    if not np.isnan(wanted).any():
        np.testing.assert_allclose(found.sample, wanted[some_pairs(len(logits))], rtol=0, atol=1e-12)


@BOTH
def test_many_runs_equal_their_definition_over_many_blocks(distances, correlation, monkeypatch):
    monkeypatch.setattr(similarity, "VECTOR_BLOCK", 20)
    logits = normal(1, 31, 3) + normal(FEW + 4, 31, 3, seed=2)
    found, wanted = distances(logits), by_definition(logits, correlation)
    np.testing.assert_allclose(found.sums, Pairs.of(wanted).sums, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.sample, wanted[some_pairs(FEW + 4)], rtol=0, atol=1e-12)


@pytest.mark.parametrize("distances", [pearson_distances, spearman_distances])
class TestBoth:
    @pytest.mark.parametrize("runs", [3, FEW + 1])
    def test_equal_runs_are_exactly_no_distance_apart(self, distances, runs, monkeypatch):
        same = np.repeat(normal(1, 701, 10, seed=2), runs, axis=0)
        for block in (similarity.VECTOR_BLOCK, 3001):
            monkeypatch.setattr(similarity, "VECTOR_BLOCK", block)
            found = distances(same)
            assert not found.sums.any()
            assert not found.sample.any()

    def test_the_last_bit_of_a_logit_is_no_equality(self, distances):
        logits = np.repeat(normal(1, 50, 2, seed=3), 4, axis=0)
        logits[2, 7, 1] = np.nextafter(logits[2].max(), np.float32(9))
        found = distances(logits)
        assert (found.sums > 0).all()
        assert (found.sample > 0).tolist() == [False, True, False, True, False, True]

    def test_a_run_that_never_varies_has_none(self, distances):
        logits = normal(3, 50, 2, seed=4)
        logits[1] = 0.1
        found = distances(logits)
        assert np.isnan(found.sums).all()
        assert np.isnan(found.sample).tolist() == [True, False, True]


@BOTH
def test_runs_that_hardly_differ_have_a_distance_of_many_digits(distances, correlation):
    logits = np.repeat(normal(1, 100, 10, seed=10), 3, axis=0)
    logits[1] += 3e-4 * normal(100, 10, seed=11)
    wanted = by_definition(logits, correlation)
    found = distances(logits)
    assert found.sample[1] == 0
    assert 0 < found.sums[0] < 1e-5
    np.testing.assert_allclose(found.sums, wanted.sum(axis=1), rtol=1e-6)


# CKA


def cka(X, Y):
    """Linear CKA of X [N, P] and Y [N, Q], and the debiased one.

    Both are NaN if one is constant; the debiased one needs 4 examples.
    """
    wide = max(X.shape[1], Y.shape[1])
    # Columns of zeros change nothing.
    alike = [np.pad(values, ((0, 0), (0, wide - values.shape[1]))) for values in (X, Y)]
    return tuple(float(of_pairs[0, 1]) for of_pairs in pairwise_cka(np.stack(alike)))


def inner(X, Y, debiased):
    """HSIC but for a factor, from two lists of examples: plain, or Song et al.'s unbiased one (2012, equation 5)."""
    n = len(X)
    if not debiased:
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
        return sum(float(X[i] @ X[j]) * float(Y[i] @ Y[j]) for i in range(n) for j in range(n))
    K, L = ([[float(V[i] @ V[j]) if i != j else 0.0 for j in range(n)] for i in range(n)] for V in (X, Y))
    pairs = sum(K[i][j] * L[i][j] for i in range(n) for j in range(n))
    rows = sum(sum(K[i]) * sum(L[i]) for i in range(n))
    whole = sum(map(sum, K)) * sum(map(sum, L))
    return pairs + whole / ((n - 1) * (n - 2)) - 2 * rows / (n - 2)


def cka_by_definition(X, Y, debiased):
    return inner(X, Y, debiased) / np.sqrt(inner(X, X, debiased) * inner(Y, Y, debiased))


DEBIASED = pytest.mark.parametrize("debiased", [False, True])


@pytest.mark.parametrize(("columns", "others"), [(3, 3), (2, 5), (1, 8)])
@DEBIASED
def test_cka_equals_its_definition(columns, others, debiased):
    X = normal64(7, columns) + 3
    Y = X @ normal64(columns, others, seed=2) + 0.5 * normal64(7, others, seed=3)
    assert cka(X, Y)[debiased] == pytest.approx(cka_by_definition(X, Y, debiased), rel=1e-10)


@DEBIASED
def test_equal_runs_have_exactly_one_over_many_blocks_too(debiased, monkeypatch):
    monkeypatch.setattr(similarity, "STACK_BLOCK", 5 * 10 * 64)
    same = np.repeat(normal64(1, 701, 10), 4, axis=0).astype(np.float32)
    assert (pairwise_cka(same)[debiased] == 1).all()


@DEBIASED
def test_a_constant_representation_or_too_few_examples_are_similar_to_nothing(debiased):
    assert np.isnan(cka(np.full((9, 2), 0.1), normal64(9, 2))[debiased])
    # The debiased one needs four examples.
    assert np.isnan(cka(normal64(3, 2), normal64(3, 2, seed=2))[debiased]) == debiased


def test_runs_of_huge_values_are_as_similar_as_their_scaled_copies():
    stack = np.random.default_rng(0).normal(size=(2, 8, 3)).astype(np.float32)
    for huge, plain in zip(pairwise_cka(stack * np.float32(3e37)), pairwise_cka(stack), strict=True):
        assert huge == pytest.approx(plain, abs=1e-6)


# CKA from Gram matrices, beside its definition from activations by plain loops


def activations(runs=4, examples=9, columns=6, apart=0.5):
    draws = np.random.Generator(np.random.Philox(1))
    common = 3 + draws.normal(size=(1, examples, columns))
    return (common + apart * draws.normal(size=(runs, examples, columns))).astype(np.float32)


def by_loops(stack, debiased):
    """CKA of every two runs by two loops over runs."""
    stack = stack.astype(np.float64)
    return np.array([[cka_by_definition(X, Y, debiased) for Y in stack] for X in stack])


def exact_grams(stack):
    centred = stack.astype(np.float64) - stack.mean(axis=1, keepdims=True, dtype=np.float64)
    return centred @ centred.transpose(0, 2, 1)


@DEBIASED
@pytest.mark.parametrize("columns", [1, 40])
def test_every_pair_has_the_cka_of_its_definition(columns, debiased):
    stack = activations(columns=columns)
    np.testing.assert_allclose(pairwise_gram_cka(exact_grams(stack), debiased), by_loops(stack, debiased), rtol=1e-11)
    raw = stack.astype(np.float64) @ stack.astype(np.float64).transpose(0, 2, 1)  # not centred
    np.testing.assert_allclose(pairwise_gram_cka(raw, debiased), by_loops(stack, debiased), rtol=1e-10)


@DEBIASED
@pytest.mark.parametrize("apart", [1.0, 1e-5])
def test_what_float32_loses_of_a_matrix_is_lost_in_no_distance_of_runs(apart, debiased):
    stack = activations(examples=50, columns=300, apart=apart)
    distance = 1 - pairwise_gram_cka(exact_grams(stack), debiased)
    kept = 1 - pairwise_gram_cka(np.stack([gram_matrix(one) for one in stack]), debiased)
    assert distance[0, 1] > 1e-11
    np.testing.assert_allclose(kept, distance, rtol=1e-3)


@DEBIASED
def test_numbers_that_overflowed_have_no_cka_with_any_run_and_the_others_keep_theirs(debiased):
    stack = activations()
    stack[1, 2, 3] = np.inf
    found = pairwise_gram_cka(np.stack([gram_matrix(one) for one in stack]), debiased)
    assert np.isnan(found[1]).all()
    assert np.isnan(found[:, 1]).all()
    assert np.isfinite(np.delete(np.delete(found, 1, 0), 1, 1)).all()
