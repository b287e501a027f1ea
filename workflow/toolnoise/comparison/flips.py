"""The changes if one training method replaces another: each run of `a` against each run of `b`.

A good flip is an example that a run of `a` gets wrong and a run of `b` gets right. A bad flip is the reverse. Their
difference is the difference of the accuracies. Churn counts both, and also examples that both get wrong in different
ways.
"""

import numpy as np


def good_flips(right_a: np.ndarray, right_b: np.ndarray) -> np.ndarray:
    """The share of examples wrong in a run of `a`, [A, N], and right in a run of `b`, [B, N], per pair: [A, B]."""
    return _together(~right_a, right_b)


def bad_flips(right_a: np.ndarray, right_b: np.ndarray) -> np.ndarray:
    """The share of examples right in a run of `a`, [A, N], and wrong in a run of `b`, [B, N], per pair: [A, B]."""
    return _together(right_a, ~right_b)


def cross_churn(predicted_a: np.ndarray, predicted_b: np.ndarray) -> np.ndarray:
    """The share of examples that a run of `a`, [A, N], and a run of `b`, [B, N], classify differently: [A, B]."""
    different = np.array([np.count_nonzero(predicted_b != run, axis=1) for run in predicted_a])
    return different / predicted_a.shape[1]


def _together(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    # Integers below 2^53, so a matrix product counts exactly.
    return a.astype(np.float64) @ b.T.astype(np.float64) / a.shape[1]
