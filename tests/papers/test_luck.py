"""Luck: examples that all runs of a cell answer right, some of them, or none."""

import numpy as np
import pytest

from toolnoise.papers.luck.metric import luck


def shares(predictions, labels):
    return {name: estimate.value for name, _, estimate in luck(np.array(predictions), np.array(labels))}


def test_each_example_is_right_in_all_runs_in_some_or_in_none():
    # By hand: examples 0 and 4 are right in all three runs, 1 in two, 2 in one, 3 in none.
    predicted = [[0, 1, 2, 0, 1], [0, 1, 0, 0, 1], [0, 2, 1, 1, 1]]
    assert shares(predicted, [0, 1, 2, 2, 1]) == {"always": 0.4, "sometimes": 0.4, "never": 0.2}


def test_one_run_has_no_luck_and_no_run_has_no_shares():
    assert shares([[0, 1, 1, 1]], [0, 1, 1, 0]) == {"always": 0.75, "sometimes": 0, "never": 0.25}
    none = shares(np.empty((0, 3), int), [0, 1, 1])
    assert none == pytest.approx(dict.fromkeys(("always", "sometimes", "never"), np.nan), nan_ok=True)
