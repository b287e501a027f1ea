"""What networks and training programs leave: scores, which may be logits or what a softmax made of them, and losses.

Softmax outputs must not be taken for logits. The cross-entropy of a softmax of a softmax is near the logarithm of the
number of classes, whatever the network knows. The mean of probabilities is another ensemble than the mean of logits,
and their correlations differ. A loss is the negative log-likelihood of a token.
"""

from pathlib import Path
from typing import Literal

import numpy as np

from toolnoise.base.errors import BadInput

Kind = Literal["logits", "probabilities", "neither"]

# The tolerance of a sum of probabilities around 1: half precision rounds each of them by up to 0.0005.
SUM = 0.005
# How far sums may lie apart that are otherwise one constant: probabilities in percent, or in whole numbers up to 255.
APART = 0.02


def kind(scores: np.ndarray) -> Kind:
    """The kind of scores [..., C].

    Scores that are never negative and sum to 1 are probabilities. Those that sum to another constant, such as 100, or
    lie between 0 and 1 without a constant sum, such as those of a sigmoid, are neither.
    """
    if scores.min() < 0:
        return "logits"
    sums = scores.sum(axis=-1, dtype=np.float64)
    if np.abs(sums - 1).max() <= SUM:
        return "probabilities"
    constant = sums.size > 1 and np.ptp(sums) <= APART * sums.max()
    return "neither" if constant or scores.max() <= 1 else "logits"


def require_losses(path: str | Path, values: np.ndarray) -> None:
    """Refuse what is no negative log-likelihood of each token, NaN where a segment is padded."""
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


def lengths(losses: np.ndarray) -> np.ndarray:
    """The number of tokens of each segment, without padding; a row of tokens alone is one segment."""
    return np.count_nonzero(~np.isnan(np.atleast_2d(losses)), axis=1)
