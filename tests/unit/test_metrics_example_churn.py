from unittest import mock

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from toolnoise.formulas import example_churn
from toolnoise.formulas.churn import pairwise_churn
from toolnoise.formulas.example_churn import ExampleChurn

SHAPES = st.tuples(st.integers(2, 6), st.integers(1, 9))
PREDICTIONS = SHAPES.flatmap(lambda shape: arrays(np.intp, shape, elements=st.integers(0, 3)))


@given(PREDICTIONS)
def test_its_mean_over_examples_is_the_churn_of_the_runs(predictions):
    runs = len(predictions)
    found = ExampleChurn(predictions)(np.ones((1, runs)))
    assert found.shape == (1, predictions.shape[1])
    np.testing.assert_allclose(found.mean(), pairwise_churn(predictions)[np.triu_indices(runs, 1)].mean(), atol=1e-12)


@given(PREDICTIONS)
def test_a_run_is_left_out_as_if_it_had_not_been_drawn(predictions):
    runs, churn = len(predictions) + 1, ExampleChurn(np.vstack([predictions, predictions[:1]]))
    # The same bits: both count whole numbers.
    np.testing.assert_array_equal(churn.without_each(), churn(1 - np.eye(runs)).mean(axis=1))


@given(PREDICTIONS)
def test_some_examples_at_a_time_give_the_same_bits(predictions):
    times, whole = np.ones((1, len(predictions))), ExampleChurn(predictions)
    with mock.patch.object(example_churn, "BLOCK", 1):
        parts = ExampleChurn(predictions)
    assert len(parts.camps) == np.count_nonzero((predictions != predictions[0]).any(axis=0))
    np.testing.assert_array_equal(parts(times), whole(times))


@given(PREDICTIONS, st.data())
def test_a_run_drawn_twice_has_no_pair_with_itself(predictions, data):
    runs = len(predictions)
    drawn = np.array(
        data.draw(st.lists(st.integers(0, runs - 1), min_size=2, max_size=6).filter(lambda d: len({*d}) > 1))
    )
    pairs = [(i, j) for place, i in enumerate(drawn) for j in drawn[:place] if i != j]
    wanted = np.mean([predictions[i] != predictions[j] for i, j in pairs], axis=0)
    found = ExampleChurn(predictions)(np.bincount(drawn, minlength=runs)[np.newaxis])
    np.testing.assert_allclose(found[0], wanted, atol=1e-12)
