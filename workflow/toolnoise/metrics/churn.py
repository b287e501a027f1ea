"""Churn: the share of examples that two runs classify differently.

It counts disagreement between runs, right or wrong. It is exactly count / number of examples, so equal predictions have
a churn of exactly 0.
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
    """The position of every two runs' churn, [S, S], within the range that their error rates, [S], allow.

    Two runs' churn is at least the difference of their error rates and at most the sum (no more than 1): 0 is the
    minimum and 1 the maximum. NaN where the range is a single value, as for two runs without errors.
    """
    least = np.abs(errors[:, np.newaxis] - errors)
    most = np.minimum(errors[:, np.newaxis] + errors, 1)
    span = most - least
    return np.divide(churn - least, span, out=np.full(churn.shape, np.nan), where=span > 0)
