"""Churn: the share of examples that two runs classify differently.

It is disagreement between runs, right or wrong, and exactly count / number of examples, so that equal
predictions have a churn of exactly 0.
"""

import numpy as np


def pairwise_churn(predictions: np.ndarray) -> np.ndarray:
    """The churn between every two runs, [S, S], symmetric with a zero diagonal, from predictions [S, N]."""
    runs, examples = predictions.shape
    different = np.zeros((runs, runs), np.int64)
    for run in range(runs):  # one run against the later ones: never more than S x N booleans at a time
        different[run, run + 1 :] = np.count_nonzero(predictions[run + 1 :] != predictions[run], axis=1)
    return (different + different.T) / examples


def paired_churn(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The churn between run s of `a` and run s of `b`, [S]."""
    assert a.shape == b.shape, f"{a.shape} against {b.shape}"
    return np.count_nonzero(a != b, axis=1) / a.shape[1]


def normalised_churn(churn: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Where the churn of every two runs, [S, S], lies in the range that their shares of errors, [S], leave it.

    Two runs disagree on no fewer examples than their errors differ by, and on no more than both err on together: 0 is
    the least and 1 the most. NaN where the range is a single value, as that of two runs without an error.
    """
    least = np.abs(errors[:, np.newaxis] - errors)
    most = np.minimum(errors[:, np.newaxis] + errors, 1)
    span = most - least
    return np.divide(churn - least, span, out=np.full(churn.shape, np.nan), where=span > 0)
