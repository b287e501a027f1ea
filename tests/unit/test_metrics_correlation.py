import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import stats

from toolnoise.formulas import correlation as module
from toolnoise.formulas.correlation import pearson_distances, spearman_distances
from toolnoise.stats.jackknife import FEW, Pairs, some_pairs

LOGITS = arrays(
    np.float32, array_shapes(min_dims=3, max_dims=3, max_side=7), elements=st.integers(-20, 20).map(lambda x: x / 4)
)


def normal(*shape, seed=1):
    return np.random.Generator(np.random.Philox(seed)).normal(size=shape).astype(np.float32)


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
    monkeypatch.setattr(module, "BLOCK", 20)
    logits = normal(1, 31, 3) + normal(FEW + 4, 31, 3, seed=2)
    found, wanted = distances(logits), by_definition(logits, correlation)
    np.testing.assert_allclose(found.sums, Pairs.of(wanted).sums, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.sample, wanted[some_pairs(FEW + 4)], rtol=0, atol=1e-12)


def test_without_equal_values_spearmans_r_is_that_of_summers_and_dinneen():
    logits = normal(5, 40, 3)
    ranks = logits.reshape(5, -1).argsort(axis=1).argsort(axis=1)
    count = ranks.shape[1]
    wanted = [[6 * sum((a - b) ** 2) / (count * (count**2 - 1)) for b in ranks] for a in ranks]
    np.testing.assert_allclose(spearman_distances(logits).sums, np.sum(wanted, axis=1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("distances", [pearson_distances, spearman_distances])
class TestBoth:
    @pytest.mark.parametrize("runs", [2, 3, 5, 9, FEW + 1])
    def test_equal_runs_are_exactly_no_distance_apart(self, distances, runs, monkeypatch):
        same = np.repeat(normal(1, 701, 10, seed=2), runs, axis=0)
        for block in (module.BLOCK, 3001):
            monkeypatch.setattr(module, "BLOCK", block)
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

    def test_opposite_runs_have_minus_one(self, distances):
        logits = normal(1, 50, 2, seed=5)
        found = distances(np.concatenate([logits, -logits]))
        np.testing.assert_allclose([*found.sums, *found.sample], 2, rtol=1e-15)
        assert found.sums.max() <= 2

    def test_it_needs_less_memory_than_the_logits(self, distances):
        logits = normal(100, 4000, 10, seed=6)
        tracemalloc.start()
        distances(logits)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < logits.nbytes


def test_ranks_do_not_see_what_keeps_the_order():
    logits = normal(4, 30, 3, seed=7)
    for one, other in zip(spearman_distances(np.exp(logits)), spearman_distances(logits), strict=True):
        np.testing.assert_array_equal(one, other)


def test_zero_ranks_the_same_with_either_sign():
    logits = np.array([[[0.0, -0.0, 1.0, -1.0]], [[-0.0, 0.0, 1.0, -1.0]]], np.float32)
    assert spearman_distances(logits).sums.tolist() == [0, 0]


@pytest.mark.parametrize("place", [0, 5])
@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_an_infinite_logit_has_a_rank(infinite, place):
    logits = normal(3, 5, 4, seed=8)
    logits[1].flat[place] = 100 * np.sign(infinite)
    beyond = logits.copy()
    beyond[1].flat[place] = infinite
    assert spearman_distances(beyond).sums.tolist() == spearman_distances(logits).sums.tolist()


def test_what_is_no_number_has_no_rank():
    logits = normal(3, 5, 4, seed=9)
    logits[1, 2, 3] = np.nan
    found = spearman_distances(logits)
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
