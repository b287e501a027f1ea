"""Intervals by leaving out one run at a time.

The pairs of n runs are not n(n-1)/2 independent observations, since each run is in n-1 of them. The independent
observations are the runs (Arvesen 1969).
"""

import numpy as np

from toolnoise.stats.estimates import UNDEFINED, Estimate, t_interval


def standard_error(without: np.ndarray) -> float:
    """Standard error of a statistic, from its values without the first run, without the second, and so on."""
    count = len(without)
    return float(np.sqrt((count - 1) / count * np.sum(np.square(without - without.mean()))))


def pairwise_jackknife(matrix: np.ndarray) -> Estimate:
    """Mean distance over the pairs of runs (symmetric, zero diagonal), with its lower bound clipped at 0."""
    return pairwise_mean(matrix).within(0, np.inf)


def pairwise_mean(matrix: np.ndarray) -> Estimate:
    """Mean over the pairs of runs of a measure that may be negative (symmetric, zero diagonal).

    One run has no pair. Two runs have a value but no interval.
    """
    count = len(matrix)
    if count < 2:
        return UNDEFINED
    mean = matrix[np.triu_indices(count, 1)].mean()
    if count == 2:
        return Estimate(float(mean), np.nan, np.nan)
    return t_interval(mean, standard_error(pairs_without_each(matrix)), count - 1)


def pairwise_similarity(matrix: np.ndarray) -> Estimate:
    """Mean over the pairs of runs of a similarity that is 1 for equal runs and for a run with itself."""
    distance = pairwise_mean(1 - matrix)
    return Estimate(1 - distance.value, 1 - distance.high, 1 - distance.low)


def pairs_without_each(matrix: np.ndarray) -> np.ndarray:
    """The mean over pairs without the first run, without the second, and so on; needs at least three runs."""
    count = len(matrix)
    pairs = (np.sum(matrix) - np.trace(matrix)) / 2
    return (pairs - (matrix.sum(axis=1) - np.diag(matrix))) / ((count - 1) * (count - 2) / 2)


def cross_jackknife(matrix: np.ndarray) -> Estimate:
    """Mean over all pairs of a run of one arm and a run of another, [A, B]; each arm's runs vary independently.

    A single run does not show how the runs of its arm vary, so there is no interval then.
    """
    if not matrix.size:
        return UNDEFINED
    mean = matrix.mean()
    if min(matrix.shape) < 2:
        return Estimate(float(mean), np.nan, np.nan)
    squares = [
        standard_error((matrix.sum() - matrix.sum(axis=axis)) / (matrix.size - matrix.shape[axis])) ** 2
        for axis in (0, 1)
    ]
    return t_interval(mean, np.sqrt(sum(squares)), min(matrix.shape) - 1)
