import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from toolnoise.formulas import churn as module
from toolnoise.formulas.churn import churn, paired_churn, pairwise_churn
from toolnoise.stats.jackknife import FEW, Pairs, some_pairs

PREDICTIONS = arrays(np.int64, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.integers(0, 3))


def test_churn_is_the_share_of_examples_classified_differently():
    predicted = np.array([[0, 1, 2, 0], [0, 1, 1, 1], [0, 1, 2, 0]])
    assert pairwise_churn(predicted).tolist() == [[0, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0]]


def test_paired_churn_compares_run_s_with_run_s():
    a, b = np.array([[0, 1, 2, 3], [0, 0, 0, 0]]), np.array([[0, 1, 2, 2], [1, 1, 1, 1]])
    assert paired_churn(a, b).tolist() == [0.25, 1.0]


def test_paired_churn_refuses_unequal_numbers_of_runs():
    with pytest.raises(AssertionError, match=r"\(1, 4\) against \(2, 4\)"):
        paired_churn(np.zeros((1, 4), int), np.zeros((2, 4), int))


@given(PREDICTIONS)
def test_churn_of_a_model_with_itself_is_zero(predicted):
    assert not pairwise_churn(np.repeat(predicted[:1], 3, axis=0)).any()
    assert not paired_churn(predicted, predicted).any()


@given(PREDICTIONS)
def test_churn_equals_its_definition_exactly(predicted):
    wanted = [[sum(x != y for x, y in zip(a, b, strict=True)) / len(a) for b in predicted] for a in predicted]
    assert pairwise_churn(predicted).tolist() == wanted


@given(PREDICTIONS)
def test_churn_by_counts_of_answers_is_that_of_all_pairs(predicted):
    found, wanted = churn(predicted), Pairs.of(pairwise_churn(predicted))
    np.testing.assert_allclose(found.sums, wanted.sums, rtol=1e-15, atol=0)
    assert found.sample.tolist() == wanted.sample.tolist()


def test_churn_of_many_runs_goes_on_over_the_blocks_to_the_last_example(monkeypatch):
    runs = FEW + 5
    predicted = np.random.Generator(np.random.Philox(2)).integers(0, 300, (runs, 101))
    different = np.array([[np.count_nonzero(a != b) for b in predicted] for a in predicted])
    for block in (module.BLOCK, 7 * 300, 1):
        monkeypatch.setattr(module, "BLOCK", block)
        found = churn(predicted)
        assert found.sums.tolist() == (different.sum(axis=1) / 101).tolist()
        assert found.sample.tolist() == (different[some_pairs(runs)] / 101).tolist()
        assert pairwise_churn(predicted).tolist() == (different / 101).tolist()


def test_equal_runs_have_no_churn_by_counts_either():
    found = churn(np.repeat(np.arange(50)[np.newaxis] % 7, FEW + 1, axis=0))
    assert not found.sums.any()
    assert not found.sample.any()


@pytest.mark.parametrize("runs", [0, 1])
def test_less_than_two_runs_have_no_pair(runs):
    assert churn(np.zeros((runs, 4), int)).sums.tolist() == [0] * runs


@given(PREDICTIONS)
def test_churn_is_symmetric(predicted):
    churn = pairwise_churn(predicted)
    np.testing.assert_array_equal(churn, churn.T)
    np.testing.assert_array_equal(paired_churn(predicted, predicted[::-1]), np.diag(churn[:, ::-1]))


@given(PREDICTIONS, st.randoms(use_true_random=False))
def test_churn_does_not_depend_on_the_order_of_examples(predicted, random):
    order = random.sample(range(predicted.shape[1]), predicted.shape[1])
    np.testing.assert_array_equal(pairwise_churn(predicted[:, order]), pairwise_churn(predicted))


def test_mean_pairwise_churn_equals_the_formula_by_votes():
    predicted = np.random.Generator(np.random.Philox(1)).integers(0, 5, (7, 50))
    votes = np.array([(predicted == label).sum(axis=0) for label in range(5)])
    wanted = np.mean(1 - (votes * (votes - 1)).sum(axis=0) / (7 * 6))
    assert pairwise_churn(predicted)[np.triu_indices(7, 1)].mean() == pytest.approx(wanted, rel=1e-12)
