"""Churn: of pairs of runs, of each example, between methods; and runs whose numbers are equal."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.testing import assert_equal

from toolnoise.comparison.two_arms import bad_flips, cross_churn, good_flips
from toolnoise.formulas import churn as module
from toolnoise.formulas import example_churn
from toolnoise.formulas.churn import churn, normalised_churn, paired_churn, pairwise_churn
from toolnoise.formulas.declared import bounded
from toolnoise.formulas.equal_runs import bit_equal, equality, rate_step
from toolnoise.formulas.example_churn import ExampleChurn
from toolnoise.stats.estimates import Estimate
from toolnoise.stats.jackknife import FEW, some_pairs

PREDICTIONS = arrays(np.int64, array_shapes(min_dims=2, max_dims=2, max_side=12), elements=st.integers(0, 3))


@given(PREDICTIONS)
def test_churn_equals_its_definition_exactly(predicted):
    wanted = [[sum(x != y for x, y in zip(a, b, strict=True)) / len(a) for b in predicted] for a in predicted]
    assert pairwise_churn(predicted).tolist() == wanted


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


@given(PREDICTIONS)
def test_churn_is_symmetric(predicted):
    churn = pairwise_churn(predicted)
    np.testing.assert_array_equal(churn, churn.T)
    np.testing.assert_array_equal(paired_churn(predicted, predicted[::-1]), np.diag(churn[:, ::-1]))


# Churn of each example


SHAPES = st.tuples(st.integers(2, 6), st.integers(1, 9))
OF_RUNS = SHAPES.flatmap(lambda shape: arrays(np.intp, shape, elements=st.integers(0, 3)))


@given(OF_RUNS)
def test_its_mean_over_examples_is_the_churn_of_the_runs(predictions):
    runs = len(predictions)
    found = ExampleChurn(predictions)(np.ones((1, runs)))
    assert found.shape == (1, predictions.shape[1])
    np.testing.assert_allclose(found.mean(), pairwise_churn(predictions)[np.triu_indices(runs, 1)].mean(), atol=1e-12)


@given(OF_RUNS)
def test_a_run_is_left_out_as_if_it_had_not_been_drawn(predictions):
    runs, churn = len(predictions) + 1, ExampleChurn(np.vstack([predictions, predictions[:1]]))
    # The same bits: both count whole numbers.
    np.testing.assert_array_equal(churn.without_each(), churn(1 - np.eye(runs)).mean(axis=1))


@given(OF_RUNS)
def test_some_examples_at_a_time_give_the_same_bits(predictions):
    times, whole = np.ones((1, len(predictions))), ExampleChurn(predictions)
    with mock.patch.object(example_churn, "BLOCK", 1):
        parts = ExampleChurn(predictions)
    assert len(parts.camps) == np.count_nonzero((predictions != predictions[0]).any(axis=0))
    np.testing.assert_array_equal(parts(times), whole(times))


@given(OF_RUNS, st.data())
def test_a_run_drawn_twice_has_no_pair_with_itself(predictions, data):
    runs = len(predictions)
    drawn = np.array(
        data.draw(st.lists(st.integers(0, runs - 1), min_size=2, max_size=6).filter(lambda d: len({*d}) > 1))
    )
    pairs = [(i, j) for place, i in enumerate(drawn) for j in drawn[:place] if i != j]
    wanted = np.mean([predictions[i] != predictions[j] for i, j in pairs], axis=0)
    found = ExampleChurn(predictions)(np.bincount(drawn, minlength=runs)[np.newaxis])
    np.testing.assert_allclose(found[0], wanted, atol=1e-12)


# Flips


ANSWERS = st.integers(1, 9).flatmap(
    lambda examples: st.tuples(
        *(
            st.integers(1, 4).flatmap(lambda runs: arrays(np.int64, (runs, examples), elements=st.integers(0, 3)))
            for _ in range(2)
        ),
        arrays(np.int64, (examples,), elements=st.integers(0, 3)),
    )
)


def by_definition(a, b, counts):
    return [[sum(counts(x, y, n) for n, (x, y) in enumerate(zip(p, q, strict=True))) / len(p) for q in b] for p in a]


@given(ANSWERS)
def test_flips_and_churn_equal_their_definitions_exactly(answers):
    a, b, labels = answers
    right = a == labels, b == labels
    wanted = by_definition(a, b, lambda x, y, n: x != labels[n] and y == labels[n])
    assert good_flips(*right).tolist() == wanted
    wanted = by_definition(a, b, lambda x, y, n: x == labels[n] and y != labels[n])
    assert bad_flips(*right).tolist() == wanted
    assert cross_churn(a, b).tolist() == by_definition(a, b, lambda x, y, _: x != y)


def test_the_range_of_churn_is_from_the_difference_of_the_errors_to_their_sum():
    errors = np.array([0.1, 0.3])
    churn = np.array([[0, 0.2], [0.2, 0]])
    np.testing.assert_allclose(normalised_churn(churn, errors)[0, 1], 0, atol=1e-15)
    np.testing.assert_allclose(normalised_churn(1.5 * churn, errors)[0, 1], 0.5)
    np.testing.assert_allclose(normalised_churn(2 * churn, errors)[0, 1], 1)
    # Runs that err on most examples disagree on no more than all.
    np.testing.assert_allclose(normalised_churn(3 * churn, np.array([0.8, 0.6]))[0, 1], (0.6 - 0.2) / 0.8)
    assert np.isnan(normalised_churn(churn, np.array([0, 0.2]))[0, 1]), "a range of one value has no place in it"


# Equal runs


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


@pytest.mark.parametrize(("equal", "runs", "value"), [(True, 2, 1), (False, 2, 0), (True, 1, np.nan)])
def test_a_row_says_whether_runs_are_bit_equal(equal, runs, value):
    assert_equal(equality(equal, runs), ("bit_equal", "all", Estimate(value, np.nan, np.nan)))


def test_bounds_that_rounding_makes_equal_are_no_interval():
    rows = [("churn", "all", Estimate(0.1, 0.1, 0.1)), ("cka", "all", Estimate(0.9, 0.8, 1.0))]
    assert_equal(bounded(rows), [("churn", "all", Estimate(0.1, np.nan, np.nan)), rows[1]])
