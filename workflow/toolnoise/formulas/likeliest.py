"""The likeliest classes of each unit: what a dump keeps of networks whose vocabulary is too large to keep every score.

A unit has the log-probability of its label, the log of the probability of all classes that are not kept, and the
likeliest classes in their order with their log-probabilities. So accuracy, churn and cross-entropy are exact, and a
divergence of two distributions is a lower bound; correlations, CKA and ensembles are lost.
"""

from typing import Any

import numpy as np
import scipy

KEPT = 32
MOST = 4096  # classes of which all scores are kept
CUT = "likeliest"  # what the index of a dump calls its outcome if it has no more than these
LIKELIEST = np.dtype([("label", "<f4"), ("rest", "<f4"), ("classes", "<u4", KEPT), ("scores", "<f4", KEPT)])


def unit_dtype(several_units: bool, classes: int) -> tuple[np.dtype[Any], tuple[int, ...]]:
    """How a dump keeps a unit: the type of a number, and the shape of a unit's numbers."""
    return (LIKELIEST, ()) if several_units and classes > MOST else (np.dtype(np.float32), (classes,))


def likeliest(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """What is kept of units with logits [U, C], of which all are finite, and labels [U]."""
    scores = logits.astype(np.float64)
    scores -= scipy.special.logsumexp(scores, axis=1, keepdims=True)
    chosen = np.argpartition(-scores, KEPT - 1, axis=1)[:, :KEPT]
    # Ties go to the first class, which is kept even if more classes than these have the highest score.
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
    """Whether a dump has every score, not the likeliest classes or predicted classes alone."""
    return stack.dtype == np.float32 and stack.ndim > 2


def keeps_likeliest(stack: np.ndarray) -> bool:
    """Whether a dump has the likeliest classes of each unit."""
    return stack.dtype == LIKELIEST
