"""CKA from Gram matrices, beside its definition from activations by plain loops."""

import numpy as np
import pytest

from toolnoise.analyses.layers.dump import gram
from toolnoise.analyses.layers.metric import layers, pairwise_gram_cka
from toolnoise.formulas.similarity import pairwise_cka
from toolnoise.stats.jackknife import Pairs, pairwise_jackknife

DEBIASED = pytest.mark.parametrize("debiased", [False, True])


def activations(runs=4, examples=9, columns=6, apart=0.5):
    draws = np.random.Generator(np.random.Philox(1))
    common = 3 + draws.normal(size=(1, examples, columns))
    return (common + apart * draws.normal(size=(runs, examples, columns))).astype(np.float32)


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


def by_loops(stack, debiased):
    """CKA of every two runs by two loops over runs."""
    stack = stack.astype(np.float64)
    found = np.empty((len(stack), len(stack)))
    for one, X in enumerate(stack):
        for other, Y in enumerate(stack):
            scale = np.sqrt(inner(X, X, debiased) * inner(Y, Y, debiased))
            found[one, other] = inner(X, Y, debiased) / scale
    return found


def exact_grams(stack):
    centred = stack.astype(np.float64) - stack.mean(axis=1, keepdims=True, dtype=np.float64)
    return centred @ centred.transpose(0, 2, 1)


@DEBIASED
@pytest.mark.parametrize("columns", [1, 6, 40])
def test_every_pair_has_the_cka_of_its_definition(columns, debiased):
    stack = activations(columns=columns)
    np.testing.assert_allclose(pairwise_gram_cka(exact_grams(stack), debiased), by_loops(stack, debiased), rtol=1e-11)


@DEBIASED
def test_matrices_that_are_not_centred_have_the_same(debiased):
    stack = activations()
    raw = stack.astype(np.float64) @ stack.astype(np.float64).transpose(0, 2, 1)
    np.testing.assert_allclose(pairwise_gram_cka(raw, debiased), by_loops(stack, debiased), rtol=1e-10)


@DEBIASED
def test_it_is_the_cka_that_columns_give(debiased):
    stack = activations(runs=3, examples=30, columns=20)
    found = pairwise_gram_cka(exact_grams(stack), debiased)
    np.testing.assert_allclose(found, pairwise_cka(stack)[debiased], rtol=1e-11)


@DEBIASED
@pytest.mark.parametrize("apart", [1.0, 1e-2, 1e-5])
def test_what_float32_loses_of_a_matrix_is_lost_in_no_distance_of_runs(apart, debiased):
    stack = activations(examples=50, columns=300, apart=apart)
    distance = 1 - pairwise_gram_cka(exact_grams(stack), debiased)
    kept = 1 - pairwise_gram_cka(np.stack([gram(one) for one in stack]), debiased)
    assert distance[0, 1] > 1e-11
    np.testing.assert_allclose(kept, distance, rtol=1e-3)


@DEBIASED
@pytest.mark.parametrize("examples", [4, 77, 200])
def test_equal_runs_have_exactly_one(examples, debiased):
    same = np.repeat(gram(activations(examples=examples)[0])[np.newaxis], 5, axis=0)
    assert (pairwise_gram_cka(same, debiased) == 1).all()


@DEBIASED
def test_runs_of_a_constant_layer_have_nothing(debiased):
    constant = gram(np.full((9, 3), 0.1, np.float32))
    assert not constant.any()
    found = pairwise_gram_cka(np.stack([constant, gram(activations()[0]), constant]), debiased)
    assert found[1, 1] == 1
    found[1, 1] = np.nan
    assert np.isnan(found).all()


@DEBIASED
def test_numbers_that_overflowed_have_no_cka_with_any_run_and_the_others_keep_theirs(debiased):
    stack = activations()
    stack[1, 2, 3] = np.inf
    found = pairwise_gram_cka(np.stack([gram(one) for one in stack]), debiased)
    assert np.isnan(found[1]).all()
    assert np.isnan(found[:, 1]).all()
    assert np.isfinite(np.delete(np.delete(found, 1, 0), 1, 1)).all()


def test_many_numbers_bias_the_plain_one_and_not_the_debiased():
    draws = np.random.Generator(np.random.Philox(2))
    grams = exact_grams(draws.normal(size=(2, 50, 400)))
    assert pairwise_gram_cka(grams)[0, 1] > 0.7
    assert abs(pairwise_gram_cka(grams, debiased=True)[0, 1]) < 0.1


def test_rows_are_both_kinds_of_each_layer_in_order_with_the_jackknifes_interval():
    stacks = [activations(columns=columns, apart=apart) for columns, apart in ((3, 0.1), (8, 1.0))]
    grams = np.stack([exact_grams(stack) for stack in stacks], axis=1)
    rows = layers(["first", "second"], grams)
    assert [metric for _, metric, _ in rows] == ["cka", "cka_debiased"] * 2
    for (name, metric, found), stack in zip(rows, (stacks[0], stacks[0], stacks[1], stacks[1]), strict=True):
        assert name == ("first" if stack is stacks[0] else "second")
        distance = pairwise_jackknife(Pairs.of(1 - by_loops(stack, metric == "cka_debiased")))
        assert found.value == pytest.approx(1 - distance.value, rel=1e-10)
        assert found.low == pytest.approx(1 - distance.high, rel=1e-8)
        assert found.high == pytest.approx(min(1 - distance.low, 1), rel=1e-8)


@pytest.mark.parametrize("runs", [0, 1, 2])
def test_too_few_runs_leave_no_row_out(runs):
    rows = layers(["only"], np.stack([exact_grams(activations())[:runs]], axis=1))
    assert [metric for _, metric, _ in rows] == ["cka", "cka_debiased"]
    for _, _, estimate in rows:
        assert np.isnan(estimate.low)
        assert np.isnan(estimate.value) == (runs < 2)
