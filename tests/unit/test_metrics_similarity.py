import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from toolnoise.formulas import similarity
from toolnoise.formulas.similarity import pairwise_cka


def normal(*shape, seed=1):
    return np.random.Generator(np.random.Philox(seed)).normal(size=shape)


def cka(X, Y):
    """Linear CKA of X [N, P] and Y [N, Q], and the debiased one.

    Both are NaN if one is constant; the debiased one needs 4 examples.
    """
    wide = max(X.shape[1], Y.shape[1])
    # Columns of zeros change nothing.
    alike = [np.pad(values, ((0, 0), (0, wide - values.shape[1]))) for values in (X, Y)]
    return tuple(float(of_pairs[0, 1]) for of_pairs in pairwise_cka(np.stack(alike)))


def hsic(X, Y):
    """The trace of KHLH: HSIC by its examples x examples matrices."""
    H = np.eye(len(X)) - 1 / len(X)
    return np.trace(X @ X.T @ H @ Y @ Y.T @ H)


def unbiased_hsic(X, Y):
    """Song et al. (2012), equation 5, by its sums over examples that differ."""
    n = len(X)
    K, L = X @ X.T, Y @ Y.T
    pairs = triples = quadruples = 0.0
    for i in range(n):
        for j in range(n):
            if j == i:
                continue
            pairs += K[i, j] * L[i, j]
            for k in range(n):
                if k in (i, j):
                    continue
                triples += K[i, j] * L[i, k]
                quadruples += sum(K[i, j] * L[k, m] for m in range(n) if m not in (i, j, k))
    return (
        pairs / (n * (n - 1)) + quadruples / (n * (n - 1) * (n - 2) * (n - 3)) - 2 * triples / (n * (n - 1) * (n - 2))
    )


def by_definition(X, Y, measure):
    return measure(X, Y) / np.sqrt(measure(X, X) * measure(Y, Y))


@pytest.mark.parametrize(("columns", "others"), [(3, 3), (2, 5), (1, 8)])
@pytest.mark.parametrize(("debiased", "measure"), [(False, hsic), (True, unbiased_hsic)])
def test_cka_equals_its_definition(columns, others, debiased, measure):
    X = normal(7, columns) + 3
    Y = X @ normal(columns, others, seed=2) + 0.5 * normal(7, others, seed=3)
    assert cka(X, Y)[debiased] == pytest.approx(by_definition(X, Y, measure), rel=1e-10)


@pytest.mark.parametrize("debiased", [False, True])
def test_every_pair_equals_the_pair_alone(debiased, monkeypatch):
    stack = (normal(1, 40, 4) + 0.5 * normal(5, 40, 4, seed=2)).astype(np.float32)
    wanted = [[cka(a, b)[debiased] for b in stack] for a in stack]
    np.testing.assert_allclose(pairwise_cka(stack)[debiased], wanted, rtol=1e-12)
    monkeypatch.setattr(similarity, "BLOCK", 5 * 4 * 7)
    np.testing.assert_allclose(pairwise_cka(stack)[debiased], wanted, rtol=1e-12)


@pytest.mark.parametrize("debiased", [False, True])
def test_neither_rotation_nor_scale_nor_shift_matters(debiased):
    X = normal(30, 4)
    rotation, _ = np.linalg.qr(normal(4, 4, seed=2))
    assert cka(X, 7 * X @ rotation + 5)[debiased] == pytest.approx(1, rel=1e-12)


@given(arrays(np.float32, (6, 3), elements=st.integers(-9, 9)))
def test_equal_runs_have_exactly_one(matrix):
    for debiased in (False, True):
        found = pairwise_cka(np.repeat(matrix[np.newaxis], 4, axis=0))[debiased]
        assert ((found == 1) | np.isnan(found)).all()
        assert not np.isnan(found).any() or not np.ptp(matrix, axis=0).any() or debiased


@pytest.mark.parametrize("debiased", [False, True])
def test_equal_runs_have_exactly_one_over_many_blocks_too(debiased, monkeypatch):
    monkeypatch.setattr(similarity, "BLOCK", 5 * 10 * 64)
    same = np.repeat(normal(1, 701, 10), 5, axis=0).astype(np.float32)
    assert (pairwise_cka(same)[debiased] == 1).all()


@pytest.mark.parametrize("debiased", [False, True])
@pytest.mark.parametrize(("examples", "columns"), [(20, 100), (10_000, 3)])
def test_equal_runs_have_exactly_one_whatever_their_size(examples, columns, debiased):
    same = np.repeat(normal(1, examples, columns), 4, axis=0).astype(np.float32)
    assert (pairwise_cka(same)[debiased] == 1).all()


def test_many_columns_bias_the_plain_one_and_not_the_debiased():
    X, Y = normal(50, 200), normal(50, 200, seed=2)
    plain, debiased = cka(X, Y)
    assert plain > 0.7
    assert abs(debiased) < 0.1


@pytest.mark.parametrize("debiased", [False, True])
def test_a_constant_representation_is_similar_to_nothing(debiased):
    assert np.isnan(cka(np.full((9, 2), 0.1), normal(9, 2))[debiased])


def test_the_debiased_one_needs_four_examples():
    assert np.isnan(cka(normal(3, 2), normal(3, 2, seed=2))[1])


@pytest.mark.parametrize("runs", [0, 1])
def test_less_than_two_runs_have_no_pair(runs):
    assert [found.shape for found in pairwise_cka(np.ones((runs, 5, 2), np.float32))] == [(runs, runs)] * 2


def test_runs_of_huge_values_are_as_similar_as_their_scaled_copies():
    stack = np.random.default_rng(0).normal(size=(2, 8, 3)).astype(np.float32)
    for huge, plain in zip(pairwise_cka(stack * np.float32(3e37)), pairwise_cka(stack), strict=True):
        assert huge == pytest.approx(plain, abs=1e-6)
