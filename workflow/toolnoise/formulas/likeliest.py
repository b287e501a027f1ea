"""The likeliest classes of each unit, which a dump keeps if the vocabulary is too large to keep every score.

A unit has the log-probability of its label, the log of the probability of all classes that are not kept, and the
likeliest classes in order with their log-probabilities. So accuracy, churn and cross-entropy are exact, and divergences
of two distributions are lower bounds; correlations, CKA and ensembles cannot be computed.
"""

from typing import Any

import numpy as np
import scipy

KEPT = 32
MOST = 4096  # the most classes whose scores are all kept
CUT = "likeliest"  # the outcome in the index of a dump that has only the likeliest classes
LIKELIEST = np.dtype([("label", "<f4"), ("rest", "<f4"), ("classes", "<u4", KEPT), ("scores", "<f4", KEPT)])


def unit_dtype(several_units: bool, classes: int) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """The format of a unit in a dump: the type of its numbers, and their shape."""
    return (LIKELIEST, ()) if several_units and classes > MOST else (np.dtype(np.float32), (classes,))


def likeliest(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The likeliest classes of units, from finite logits [U, C] and labels [U]."""
    scores = logits.astype(np.float64)
    scores -= scipy.special.logsumexp(scores, axis=1, keepdims=True)
    chosen = np.argpartition(-scores, KEPT - 1, axis=1)[:, :KEPT]
    # Ties go to the first class, which is kept even if more than `KEPT` classes have the highest score.
    first = scores.argmax(axis=1)
    absent = (chosen != first[:, np.newaxis]).all(axis=1)
    chosen[absent, 0] = first[absent]
    chosen.sort(axis=1)
    order = np.argsort(-np.take_along_axis(scores, chosen, axis=1), axis=1, kind="stable")
    chosen = np.take_along_axis(chosen, order, axis=1)
    kept = np.empty(len(scores), LIKELIEST)
    kept["label"] = np.take_along_axis(scores, labels[:, np.newaxis], axis=1)[:, 0]
    kept["classes"], kept["scores"] = chosen, np.take_along_axis(scores, chosen, axis=1)
    np.put_along_axis(scores, chosen, -np.inf, axis=1)
    kept["rest"] = scipy.special.logsumexp(scores, axis=1)
    return kept


def keeps_all(stack: np.ndarray) -> bool:
    """Whether a dump has every score, not only the likeliest or the predicted classes."""
    return stack.dtype == np.float32 and stack.ndim > 2


def keeps_likeliest(stack: np.ndarray) -> bool:
    """Whether a dump has the likeliest classes of each unit."""
    return stack.dtype == LIKELIEST
