"""Means over pairs of runs of different units, in one arm or between two, and how they differ between arms.

A unit is what `stats.draws` says is independent. Intervals leave out one unit at a time. A unit that has runs of both
arms is left out of both. So a difference of two paired arms has the interval of the difference, which is narrower than
that of two arms with other draws if the same draw moves both arms alike. Logarithms of ratios likewise.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from toolnoise.stats.estimates import Estimate, t_interval
from toolnoise.stats.jackknife import standard_error


class Statistic(NamedTuple):
    """A value, and its values without each unit; one array for each set of units that vary independently of others."""

    value: float
    without: tuple[np.ndarray, ...]


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
    return Statistic(float(matrix.mean()), without)


def change(of: Callable[[np.ndarray, np.ndarray], np.ndarray], a: Statistic, b: Statistic, paired: bool) -> Statistic:
    """A function of a statistic of two arms, such as its difference; paired units are left out of both arms at once."""
    value = float(of(np.float64(a.value), np.float64(b.value)))
    if not (a.without and b.without):
        return Statistic(value, ())
    (a_without,), (b_without,) = a.without, b.without
    if paired:
        return Statistic(value, (of(a_without, b_without),))
    return Statistic(value, (of(a_without, np.float64(b.value)), of(np.float64(a.value), b_without)))


def estimate(found: Statistic) -> Estimate:
    """The value with the jackknife's interval; Satterthwaite's degrees of freedom for two sets of units, as in Welch's.

    There is no interval if a value without a unit is undefined, or if all units agree: that may be luck.
    """
    squares = np.array([standard_error(values) ** 2 for values in found.without])
    if not (np.isfinite(squares).all() and squares.any()):
        return Estimate(found.value, np.nan, np.nan)
    counts = np.array([len(values) for values in found.without])
    freedom = squares.sum() ** 2 / np.sum(squares**2 / (counts - 1))
    return t_interval(found.value, np.sqrt(squares.sum()), freedom)


def difference(a: Statistic, b: Statistic, paired: bool) -> Estimate:
    """The second arm's minus the first's."""
    return estimate(change(lambda one, other: other - one, a, b, paired))


def root(found: Statistic) -> Estimate:
    """The square root, with the interval of its logarithm: an SD from a variance."""
    with np.errstate(divide="ignore", invalid="ignore"):
        half = estimate(Statistic(np.log(found.value) / 2, tuple(np.log(values) / 2 for values in found.without)))
        return Estimate(float(np.sqrt(found.value)), *np.exp(half[1:]).tolist())


def ratio(a: Statistic, b: Statistic, paired: bool, power: float = 1.0) -> Estimate:
    """The second arm's over the first's, to a power: 1/2 for SDs from variances. Undefined unless both are above 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        logarithm = estimate(change(lambda one, other: power * (np.log(other) - np.log(one)), a, b, paired))
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
    return Statistic(value, ((total - other.sum(axis=1) - other.sum(axis=0)) / ((count - 1) * (count - 2)),))
