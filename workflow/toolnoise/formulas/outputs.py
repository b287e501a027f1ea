"""Outputs of networks and training programs: scores, which may be logits or softmax outputs, and losses.

Softmax outputs must not be taken for logits. The cross-entropy of a softmax of a softmax is near the logarithm of the
number of classes, even for a good network. The mean of probabilities is a different ensemble from the mean of logits,
and correlations differ, too. A loss is the negative log-likelihood of a token.
"""

from pathlib import Path
from typing import Literal

import numpy as np

from toolnoise.base.errors import BadInput

Kind = Literal["logits", "probabilities", "neither"]

# The tolerance of a sum of probabilities around 1: half precision rounds each of them by up to 0.0005.
SUM = 0.005
# The tolerance of sums with one constant value, such as probabilities in percent or in whole numbers up to 255.
APART = 0.02


def kind_of_scores(scores: np.ndarray) -> Kind:
    """The kind of scores [..., C].

    Scores that are never negative and sum to 1 are probabilities. Scores that sum to another constant, such as 100, or
    lie between 0 and 1 without a constant sum, such as the outputs of a sigmoid, are neither.
    """
    if scores.min() < 0:
        return "logits"
    sums = scores.sum(axis=-1, dtype=np.float64)
    if np.abs(sums - 1).max() <= SUM:
        return "probabilities"
    constant = sums.size > 1 and np.ptp(sums) <= APART * sums.max()
    return "neither" if constant or scores.max() <= 1 else "logits"


def require_losses(path: str | Path, values: np.ndarray) -> None:
    """Refuse values that are not a negative log-likelihood of each token, with NaN for padding."""
    allowed = "floats from 0 up, segment x token or token: each token's negative log-likelihood, NaN for padding"
    if values.dtype.kind != "f" or values.ndim not in (1, 2) or not values.size:
        raise BadInput(path, "", f"found {values.dtype} of shape {values.shape}", allowed)
    padded = np.isnan(values)
    wrong = ~padded & ~((values >= 0) & (values < np.inf))
    if wrong.any():
        place = tuple(np.argwhere(wrong)[0].tolist())
        raise BadInput(path, str(list(place)), f"found {values[place]}", allowed)
    empty = np.atleast_2d(padded).all(axis=1)
    if empty.any():
        place = f"[{int(empty.argmax())}]" if values.ndim > 1 else ""
        raise BadInput(path, place, "every token is NaN", "a loss of one token or more in each segment")


def segment_lengths(losses: np.ndarray) -> np.ndarray:
    """The number of tokens of each segment, without padding; an array with one axis is one segment."""
    return np.count_nonzero(~np.isnan(np.atleast_2d(losses)), axis=1)
