"""Means over pairs of runs of different units, in one arm or between two, and how they differ between arms.

A unit is what `stats.draws` says is independent. Intervals leave out one unit at a time. A unit that has runs of both
arms is left out of both. So a difference of two paired arms has the interval of the difference, which is narrower than
that of two arms with other draws if the same draw moves both arms alike. Logarithms of ratios likewise. Arms may share
all of their units, some, or none.

The jackknife sees only how the means of units differ. As in `stats.jackknife`, the variance of a mean over pairs of
units is at least that of as many independent pairs (Hoeffding 1948); that of a function of means by its linear part.
"""

from typing import NamedTuple

import numpy as np

from toolnoise.stats.estimates import UNDEFINED, Estimate, t_interval

ROUNDING = 1e-12  # a standard error below it is none


class UnitStatistic(NamedTuple):
    """A value, how it changes without each unit, and what each pair of units adds to its error, [U, U].

    `arms` says where each unit has runs: 1 and 2 for one arm alone, 3 for both. `kept` is (n - 1) / n of the n units of
    its arm, or of the larger: the jackknife's factor, and what each unit adds to the degrees of freedom.
    """

    value: float
    units: np.ndarray
    arms: np.ndarray
    kept: np.ndarray
    changes: np.ndarray
    pairs: np.ndarray


def in_arm(matrix: np.ndarray, units: np.ndarray) -> UnitStatistic:
    """The mean over pairs of different units of one arm, from those of each pair, [U, U], symmetric."""
    return between_arms(matrix, units, units)


def between_arms(matrix: np.ndarray, units_a: np.ndarray, units_b: np.ndarray) -> UnitStatistic:
    """The mean over pairs of a unit of one arm and a different one of another, [A, B]."""
    units, in_a, in_b = _together(units_a, units_b)
    place = np.ix_(np.searchsorted(units, units_a), np.searchsorted(units, units_b))
    sums, counts = np.zeros((2, len(units), len(units)))
    counts[place] = units_a[:, np.newaxis] != units_b
    sums[place] = matrix * counts[place]
    total, count = sums.sum(), counts.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        value = total / count
        without = (total - sums.sum(axis=1) - sums.sum(axis=0)) / (count - counts.sum(axis=1) - counts.sum(axis=0))
        of_pairs = np.triu(sums + sums.T - value * (counts + counts.T)) / count
        number = np.count_nonzero(np.triu(counts + counts.T))
        pairs = of_pairs * np.sqrt(number / np.float64(number - 1))
    kept = 1 - 1 / np.maximum(in_a * len(units_a), in_b * len(units_b))
    return UnitStatistic(float(value), units, in_a + 2 * in_b, kept, without - value, pairs)


def estimate(stat: UnitStatistic) -> Estimate:
    """The value with the jackknife's interval; for several sets of units, with Satterthwaite's degrees of freedom.

    There is no interval if a value without a unit is undefined, or if all pairs of units agree: that may be luck.
    """
    sets = [stat.arms == arm for arm in np.unique(stat.arms)]
    squares = np.array([np.sum(stat.kept[chosen] * stat.changes[chosen] ** 2) for chosen in sets])
    freedoms = np.array([stat.kept[chosen].sum() for chosen in sets])
    error = float(np.sqrt(np.maximum(squares.sum(), np.sum(stat.pairs**2))))
    if not ROUNDING < error < np.inf:
        return Estimate(stat.value)
    parts = squares if squares.sum() > ROUNDING**2 else np.ones(len(sets))
    return t_interval(stat.value, error, parts.sum() ** 2 / np.sum(parts**2 / freedoms))


def difference(a: UnitStatistic, b: UnitStatistic) -> Estimate:
    """The second arm's minus the first's."""
    return estimate(_less(b, a))


def root(stat: UnitStatistic) -> Estimate:
    """The square root, with the interval of its logarithm: an SD from a variance."""
    half = estimate(_logarithm(stat, 0.5))
    return Estimate(float(np.sqrt(stat.value)), *np.exp(half[1:]).tolist())


def ratio(a: UnitStatistic, b: UnitStatistic, power: float = 1.0) -> Estimate:
    """The second arm's over the first's, to a power: 1/2 for SDs from variances. Undefined unless both are above 0."""
    logarithm = estimate(_less(_logarithm(b, power), _logarithm(a, power)))
    if not np.isfinite(logarithm.value):
        return UNDEFINED
    with np.errstate(over="ignore"):
        return Estimate(*np.exp(logarithm).tolist())


def _logarithm(stat: UnitStatistic, power: float) -> UnitStatistic:
    """The logarithm of a value to a power; without a unit, relative to the mean over units."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value, without = (power * np.log(part) for part in (np.float64(stat.value), stat.value + stat.changes))
        return stat._replace(
            value=float(value), changes=without - without.mean(), pairs=power / np.float64(stat.value) * stat.pairs
        )


def _less(b: UnitStatistic, a: UnitStatistic) -> UnitStatistic:
    """The difference of values of two arms; a unit of both is left out of both at once."""
    units, in_a, in_b = _together(a.units, b.units)
    changes, kept, pairs = np.zeros(len(units)), np.zeros(len(units)), np.zeros((len(units), len(units)))
    for sign, arm in ((1, b), (-1, a)):
        place = np.searchsorted(units, arm.units)
        changes[place] += sign * arm.changes
        kept[place] = np.maximum(kept[place], arm.kept)
        pairs[np.ix_(place, place)] += sign * arm.pairs
    return UnitStatistic(b.value - a.value, units, in_a + 2 * in_b, kept, changes, pairs)


def _together(units_a: np.ndarray, units_b: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The units of two arms, and whether each is in the first and in the second."""
    units = np.union1d(units_a, units_b)
    return units, np.isin(units, units_a), np.isin(units, units_b)
