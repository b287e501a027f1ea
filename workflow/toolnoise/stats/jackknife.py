"""Intervals by leaving out one run at a time.

The pairs of n runs are not n(n-1)/2 independent observations, since each run is in n-1 of them. The independent
observations are the runs (Arvesen 1969). The jackknife needs only each run's sum over the other runs, so a measure need
not compute every pair.

Measures that have no shortcut past the pairs are computed within blocks of runs, if there are many: time and memory
then grow with the runs. Most of the uncertainty of a mean over pairs comes from the number of runs, not of pairs.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from toolnoise.stats.estimates import UNDEFINED, Estimate, log_t_interval, standard_deviation, t_interval

FEW = 32  # runs: with more, `some_pairs` does not return all pairs
MANY = 256  # runs: with more, `within_blocks` does not compute all pairs


class Pairs(NamedTuple):
    """A measure of the pairs of S runs: each run's sum over the other runs, [S], and the values of some pairs."""

    sums: np.ndarray
    sample: np.ndarray

    @classmethod
    def of(cls, matrix: np.ndarray) -> "Pairs":
        """From the values of all pairs, [S, S], symmetric; the diagonal does not matter."""
        return cls(matrix.sum(axis=1) - np.diag(matrix), matrix[np.triu_indices(len(matrix), 1)])


def some_pairs(runs: int) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second run of the pairs that show how much a pair varies: all pairs of a few runs.

    With many runs, each of the first is paired with the next. Runs are in no order that matters, so the sample variance
    of these pairs estimates the variance of a pair without bias.
    """
    if runs <= FEW:
        return np.triu_indices(runs, 1)
    return np.arange(FEW), np.arange(1, FEW + 1)


def within_blocks(runs: int, measure: Callable[[slice], Sequence[Pairs]]) -> list[Pairs]:
    """Measures of the pairs of runs, from those of the runs in a slice.

    With more than `MANY` runs, each is compared only with its neighbours, the runs of its block, since the order of
    runs does not matter. Each run's sum over its block is scaled to all other runs. Sums over fewer runs vary more, so
    the jackknife's standard error includes the pairs that are left out.
    """
    if runs <= MANY:
        return list(measure(slice(0, runs)))
    edges = np.linspace(0, runs, -(-runs // MANY) + 1).astype(int).tolist()
    blocks = [slice(*both) for both in itertools.pairwise(edges)]
    of_blocks = zip(*(_scaled(measure(block), runs) for block in blocks), strict=True)
    return [Pairs(np.concatenate([pairs.sums for pairs in measured]), measured[0].sample) for measured in of_blocks]


def _scaled(measured: Sequence[Pairs], runs: int) -> list[Pairs]:
    return [Pairs(pairs.sums * ((runs - 1) / (len(pairs.sums) - 1)), pairs.sample) for pairs in measured]


def standard_error(without: np.ndarray) -> float:
    """Standard error of a statistic, from its values without the first run, without the second, and so on."""
    count = len(without)
    return float(np.sqrt((count - 1) / count * np.sum(np.square(without - without.mean()))))


def log_jackknife(value: float, without: np.ndarray) -> Estimate:
    """A statistic that is never negative, with the interval of its logarithm, from its values without each unit."""
    if not (value > 0 and len(without) > 2 and (without > 0).all()):
        return Estimate(float(value))
    return log_t_interval(value, standard_error(np.log(without)), len(without) - 1)


def pairs_standard_error(pairs: Pairs) -> float:
    """Standard error of a mean over pairs by the jackknife, but at least that of pairs independent of one another.

    The jackknife sees only how the means of runs differ. If every run is equally far from the others on average, it
    finds nothing, as with four runs that split two and two. The variance of the mean over pairs is never below
    2 s^2 / (n (n - 1)), with s^2 the variance of a pair (Hoeffding 1948).
    """
    count = len(pairs.sums)
    least = standard_deviation(pairs.sample) * np.sqrt(2 / (count * (count - 1)))
    return float(np.maximum(standard_error(pairs_without_each(pairs)), least))


def pairwise_jackknife(pairs: Pairs) -> Estimate:
    """Mean distance over the pairs of runs, which is never negative, with the interval of its logarithm.

    If runs differ in noise, it covers in more cases than the interval of the mean itself (bench/error_rates.py). The
    standard error of the logarithm is that of the mean divided by the mean, so distances without some run may be 0.
    """
    mean = pairwise_mean(pairs)
    if np.isnan(mean.low) or mean.value == 0:
        return mean
    return log_t_interval(mean.value, pairs_standard_error(pairs) / mean.value, len(pairs.sums) - 1)


def pairwise_mean(pairs: Pairs) -> Estimate:
    """Mean over the pairs of runs of a measure that may be negative.

    One run has no pair. Two runs have a value but no interval.
    """
    count = len(pairs.sums)
    if count < 2:
        return UNDEFINED
    mean = pairs.sums.sum() / (count * (count - 1))
    if count == 2:
        return Estimate(float(mean))
    return t_interval(mean, pairs_standard_error(pairs), count - 1)


def pairwise_similarity(distances: Pairs) -> Estimate:
    """Mean over the pairs of runs of a similarity, from its distances from 1, the similarity of equal runs."""
    distance = pairwise_jackknife(distances)
    return Estimate(1 - distance.value, 1 - distance.high, 1 - distance.low)


def pairs_without_each(pairs: Pairs) -> np.ndarray:
    """The mean over pairs without the first run, without the second, and so on; needs at least three runs."""
    count = len(pairs.sums)
    return (pairs.sums.sum() / 2 - pairs.sums) / ((count - 1) * (count - 2) / 2)


def sd_without_each(values: np.ndarray) -> np.ndarray:
    """The SD without the first run, without the second, and so on."""
    if len(values) > MANY:
        # Each sum of squares is computed from that of all runs, which loses no digits.
        shifted = values - values[0]
        distances, others = np.square(shifted - shifted.mean()), len(values) - 1
        squares = distances.sum() - distances * (len(values) / others)
        return np.sqrt(np.maximum(squares, 0) / (others - 1))
    return np.array([standard_deviation(np.delete(values, run)) for run in range(len(values))])
