"""How far the runs of a cell agree with their own majority."""

import numpy as np


def majority_shares(predicted: np.ndarray, classes: int) -> np.ndarray:
    """The share of examples on which each run gives the answer of most runs, [S], from predictions [S, N]."""
    votes = np.stack([(predicted == label).sum(axis=0) for label in range(classes)])
    return (predicted == votes.argmax(axis=0)).mean(axis=1)
