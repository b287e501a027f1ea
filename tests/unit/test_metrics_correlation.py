import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import stats

from toolnoise.metrics.correlation import BLOCK, pairwise_pearson, pairwise_spearman

LOGITS = arrays(
    np.float32, array_shapes(min_dims=3, max_dims=3, max_side=7), elements=st.integers(-20, 20).map(lambda x: x / 4)
)


def by_definition(logits, correlation):
    """Pair by pair; NaN where one of them has no variance."""
    flat = logits.reshape(len(logits), -1).astype(float)
    return [[correlation(a, b) if np.ptp(a) and np.ptp(b) else np.nan for b in flat] for a in flat]


def pearson(a, b):
    a, b = a - a.mean(), b - b.mean()
    return sum(a * b) / np.sqrt(sum(a * a) * sum(b * b))


@given(LOGITS)
def test_pearsons_r_equals_its_definition(logits):
    wanted = by_definition(logits, pearson)
    np.testing.assert_allclose(pairwise_pearson(logits), wanted, rtol=0, atol=1e-12)


@given(LOGITS)
def test_spearmans_r_is_pearsons_of_ranks_that_equal_values_share(logits):
    wanted = by_definition(logits, lambda a, b: pearson(stats.rankdata(a), stats.rankdata(b)))
    np.testing.assert_allclose(pairwise_spearman(logits), wanted, rtol=0, atol=1e-12)


def test_without_equal_values_spearmans_r_is_that_of_summers_and_dinneen():
    logits = np.random.Generator(np.random.Philox(1)).normal(size=(5, 40, 3))
    ranks = logits.reshape(5, -1).argsort(axis=1).argsort(axis=1)
    count = ranks.shape[1]
    wanted = [[1 - 6 * sum((a - b) ** 2) / (count * (count**2 - 1)) for b in ranks] for a in ranks]
    np.testing.assert_allclose(pairwise_spearman(logits), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("correlation", [pairwise_pearson, pairwise_spearman])
class TestBoth:
    @pytest.mark.parametrize("runs", [2, 3, 5, 9])
    def test_equal_runs_have_exactly_one(self, correlation, runs):
        rng = np.random.Generator(np.random.Philox(2))
        same = np.repeat(rng.normal(size=(1, 701, 10)).astype(np.float32), runs, axis=0)
        assert (correlation(same) == 1).all()

    def test_it_is_symmetric_and_one_of_a_run_with_itself(self, correlation):
        found = correlation(np.random.Generator(np.random.Philox(3)).normal(size=(11, BLOCK // 4 + 3, 10)))
        np.testing.assert_array_equal(found, found.T)
        assert (np.diag(found) == 1).all()

    def test_a_run_that_never_varies_has_none(self, correlation):
        logits = np.random.Generator(np.random.Philox(4)).normal(size=(3, 50, 2))
        logits[1] = 0.1
        assert np.isnan(correlation(logits)).tolist() == [[False, True, False], [True] * 3, [False, True, False]]

    def test_opposite_runs_have_minus_one(self, correlation):
        logits = np.random.Generator(np.random.Philox(5)).normal(size=(1, 50, 2))
        assert correlation(np.concatenate([logits, -logits]))[0, 1] == -1

    @pytest.mark.parametrize("runs", [0, 1])
    def test_less_than_two_runs_have_no_pair(self, correlation, runs):
        assert correlation(np.ones((runs, 4, 2), np.float32)).shape == (runs, runs)

    def test_it_needs_less_memory_than_the_logits(self, correlation):
        logits = np.random.Generator(np.random.Philox(6)).normal(size=(100, 4000, 10)).astype(np.float32)
        tracemalloc.start()
        correlation(logits)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < logits.nbytes


def test_ranks_do_not_see_what_keeps_the_order():
    logits = np.random.Generator(np.random.Philox(7)).normal(size=(4, 30, 3))
    np.testing.assert_array_equal(pairwise_spearman(np.exp(logits)), pairwise_spearman(logits))
