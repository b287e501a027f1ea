"""Means over pairs of runs of different units, in one arm or between two, and how they differ between arms.

A unit is what `stats.draws` says is independent. Intervals leave out one unit at a time. A unit that has runs of both
arms is left out of both. So a difference of two paired arms has the interval of the difference, which is narrower than
that of two arms with other draws if the same draw moves both arms alike. Logarithms of ratios likewise.

The jackknife sees only how the means of units differ. As in `stats.jackknife`, the variance of a mean over pairs of
units is at least that of as many independent pairs (Hoeffding 1948); that of a function of means by its linear part.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from toolnoise.stats.estimates import Estimate, standard_deviation, t_interval
from toolnoise.stats.jackknife import standard_error


class Statistic(NamedTuple):
    """A value, its values without each unit, and what each pair of units adds to it.

    Each is an array for each set of units, or of pairs, that vary independently of others.
    """

    value: float
    without: tuple[np.ndarray, ...]
    pairs: tuple[np.ndarray, ...] = ()


def in_arm(matrix: np.ndarray) -> Statistic:
    """The mean over pairs of different units of one arm, from those of each pair, [U, U], symmetric."""
    return _off_diagonal(matrix)


def between_arms(matrix: np.ndarray, paired: bool) -> Statistic:
    """The mean over pairs of a unit of one arm and a different one of another, [U, V]; `paired` if both have unit u."""
    if paired:
        return _off_diagonal(matrix)
    if not matrix.size:
        return Statistic(np.nan, ())
    total, (rows, columns) = matrix.sum(), matrix.shape
    if min(rows, columns) < 2:
        return Statistic(float(matrix.mean()), ())
    without = (
        (total - matrix.sum(axis=1)) / ((rows - 1) * columns),
        (total - matrix.sum(axis=0)) / (rows * (columns - 1)),
    )
    return Statistic(float(matrix.mean()), without, (matrix.ravel(),))


def change(
    of: Callable[[np.ndarray, np.ndarray], np.ndarray],
    slopes: tuple[float, float],
    a: Statistic,
    b: Statistic,
    paired: bool,
) -> Statistic:
    """A function of a statistic of two arms, such as its difference; paired units are left out of both arms at once.

    `slopes` are its derivatives by the two.
    """
    value = float(of(np.float64(a.value), np.float64(b.value)))
    if not (a.without and b.without):
        return Statistic(value, ())
    (a_without,), (b_without,), (a_pairs,), (b_pairs,) = a.without, b.without, a.pairs, b.pairs
    a_pairs, b_pairs = slopes[0] * a_pairs, slopes[1] * b_pairs
    if paired:
        return Statistic(value, (of(a_without, b_without),), (a_pairs + b_pairs,))
    without = of(a_without, np.float64(b.value)), of(np.float64(a.value), b_without)
    return Statistic(value, without, (a_pairs, b_pairs))


def estimate(found: Statistic) -> Estimate:
    """The value with the jackknife's interval; Satterthwaite's degrees of freedom for two sets of units, as in Welch's.

    There is no interval if a value without a unit is undefined, or if all pairs of units agree: that may be luck.
    """
    squares = np.array([standard_error(values) ** 2 for values in found.without])
    least = sum(standard_deviation(values) ** 2 / len(values) for values in found.pairs)
    variance = max(squares.sum(), least)
    if not (found.without and np.isfinite(squares).all() and variance > 0):
        return Estimate(found.value, np.nan, np.nan)
    counts = np.array([len(values) for values in found.without])
    parts = squares if squares.any() else np.ones(len(squares))
    freedom = parts.sum() ** 2 / np.sum(parts**2 / (counts - 1))
    return t_interval(found.value, np.sqrt(variance), freedom)


def difference(a: Statistic, b: Statistic, paired: bool) -> Estimate:
    """The second arm's minus the first's."""
    return estimate(change(lambda one, other: other - one, (-1.0, 1.0), a, b, paired))


def root(found: Statistic) -> Estimate:
    """The square root, with the interval of its logarithm: an SD from a variance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        without = tuple(np.log(values) / 2 for values in found.without)
        pairs = tuple(values / (2 * found.value) for values in found.pairs)
        half = estimate(Statistic(np.log(found.value) / 2, without, pairs))
        return Estimate(float(np.sqrt(found.value)), *np.exp(half[1:]).tolist())


def ratio(a: Statistic, b: Statistic, paired: bool, power: float = 1.0) -> Estimate:
    """The second arm's over the first's, to a power: 1/2 for SDs from variances. Undefined unless both are above 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slopes = -power / np.float64(a.value), power / np.float64(b.value)
        logarithm = estimate(change(lambda one, other: power * (np.log(other) - np.log(one)), slopes, a, b, paired))
        if not np.isfinite(logarithm.value):
            return Estimate(np.nan, np.nan, np.nan)
        return Estimate(*np.exp(logarithm).tolist())


def _off_diagonal(matrix: np.ndarray) -> Statistic:
    count = len(matrix)
    if count < 2:
        return Statistic(np.nan, ())
    other = matrix - np.diag(np.diag(matrix))
    total = other.sum()
    value = float(total / (count * (count - 1)))
    if count == 2:
        return Statistic(value, ())
    without = (total - other.sum(axis=1) - other.sum(axis=0)) / ((count - 1) * (count - 2))
    return Statistic(value, (without,), ((other + other.T)[np.triu_indices(count, 1)] / 2,))
