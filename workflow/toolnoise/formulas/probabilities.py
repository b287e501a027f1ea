"""Are scores logits, or what a softmax made of them? Softmax outputs must not be taken for logits.

The cross-entropy of a softmax of a softmax is near the logarithm of the number of classes, whatever the network knows.
The mean of probabilities is another ensemble than the mean of logits, and their correlations differ.
"""

from typing import Literal

import numpy as np

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
