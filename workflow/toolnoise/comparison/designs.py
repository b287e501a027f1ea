"""How two arms can be compared, from the units of their runs (`stats.draws`), and the means over units and pairs.

A comparison uses the runs through their units: it takes the mean over the runs of a unit, or the mean over all pairs of
a run of one unit and a run of another unit. The two units of a pair are of one arm or of two.

Intervals of means over pairs leave out one unit at a time. A unit with runs of both arms is left out of both. So the
interval of a paired difference is narrower than that of independent arms if the same draw moves both arms alike. The
same holds for ratios, on the log scale. Arms may share all of their units, some, or none.

The jackknife sees only how the means of units differ. As in `stats.jackknife`, the variance of a mean over pairs of
units is at least that of as many independent pairs (Hoeffding 1948). For a function of means, this holds for its linear
part.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from types import SimpleNamespace
from typing import Literal, NamedTuple

import numpy as np

from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.stats.draws import Drawn, members_of_units, shared_sources
from toolnoise.stats.estimates import UNDEFINED, Estimate, t_interval

# "no sessions": times or speeds without known sessions; "same runs": runs that are in both arms.
Way = Literal["paired", "partly paired", "independent", "two draws", "one draw", "no sessions", "same runs"]
# Designs without a test, and so without a winner.
UNTESTED: tuple[Way, ...] = ("two draws", "one draw", "no sessions", "same runs")
# The fewest draws if not all are pairs: with two, 1 to 4 % of studies find 1.5 SDs, and 12 % if the other arm has 50.
FEWEST = 3
ROUNDING = 1e-12  # a smaller standard error counts as 0


class Compared(SimpleNamespace):
    """The results for two arms, or for one, with the names of the JSON output (docs/tables/compare.txt).

    The arms `a` and `b` are of this class, too; differences are B - A. `way` is the design, and `n_in_both` the number
    of runs that both arms have. `pvalue` is not adjusted, `pvalue_holm` is.
    """


class Design(NamedTuple):
    """How two arms can be compared, with the unit of each run.

    In paired arms, every unit has runs of both; in partly paired arms, some units have; in independent arms, none has.
    If an arm has a single unit ("one draw"), no interval over draws exists. If one has two units and not all are pairs
    ("two draws"), no test could decide. `a` and `b` have the unit of each run, `units_a` and `units_b` the units of
    each arm: first the `shared` ones, in the same order.
    """

    way: Way
    a: np.ndarray
    b: np.ndarray
    units_a: np.ndarray
    units_b: np.ndarray
    shared: int

    def means(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean over the runs of each unit of both arms."""
        return unit_means(a, self.a, self.units_a), unit_means(b, self.b, self.units_b)

    def of_pairs(self, a: np.ndarray, b: np.ndarray) -> "tuple[UnitStatistic, UnitStatistic]":
        """The mean over pairs of different units of each arm, from the values of its pairs of runs, [S, S]."""
        return of_pairs(a, self.a, self.units_a), of_pairs(b, self.b, self.units_b)


def design(a: np.ndarray, b: np.ndarray) -> Design:
    """How to compare arms whose runs have these units."""
    both = np.intersect1d(a, b)
    units_a, units_b = (np.concatenate([both, np.setdiff1d(numbers, both)]) for numbers in (a, b))
    return Design(_way(len(units_a), len(units_b), len(both)), a, b, units_a, units_b, len(both))


def _way(units_a: int, units_b: int, both: int) -> Way:
    if min(units_a, units_b) < 2:
        return "one draw"
    if both == units_a == units_b:
        return "paired"
    if min(units_a, units_b) < FEWEST:
        return "two draws"
    return "partly paired" if both else "independent"


def equal_runs(a: Sequence[Hashable], b: Sequence[Hashable]) -> int:
    """The number of runs of one arm with an equal run in the other."""
    return (Counter(a) & Counter(b)).total()


def copied_runs(a: Sequence[Hashable], b: Sequence[Hashable], different: int) -> int:
    """The number of copied runs if contents may agree by chance: 0 unless all of the smaller arm are in the other.

    `different`, the number of distinct contents in the smaller arm, must be all, or 2 if the arms have equal sizes.
    """
    shared, fewest = equal_runs(a, b), min(len(a), len(b))
    told_apart = different == fewest or (different > 1 and len(a) == len(b))
    return shared if shared == fewest > 1 and told_apart else 0


def assumed_draws(runs: int, *, paired: bool) -> list[Drawn]:
    """Assumed draws of runs without records: run s shares all draws with run s of other arms, or has its own."""
    return [dict.fromkeys(ALGORITHMIC, ("run", run)) if paired else {} for run in range(runs)]


def shared_between(plan: Design, a: Sequence[Drawn], b: Sequence[Drawn]) -> list[str]:
    """The algorithmic sources with the same draw in all runs of each unit that has runs of both arms."""
    both = np.intersect1d(plan.a, plan.b)
    of_units = [
        shared_sources(
            [drawn[run] for drawn, numbers in ((a, plan.a), (b, plan.b)) for run in np.flatnonzero(numbers == unit)]
        )
        for unit in both
    ]
    return [source for source in ALGORITHMIC if of_units and all(source in sources for sources in of_units)]


def unit_means(values: np.ndarray, numbers: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The mean over the runs of each chosen unit, [U, ...], from values of runs, [S, ...]."""
    of_units = [values[numbers == unit].astype(float) for unit in chosen]
    # Computed relative to the first run, so that the mean of equal values is exactly that value.
    return np.array([runs[0] + (runs - runs[0]).mean(axis=0) for runs in of_units])


def pair_means(
    matrix: np.ndarray, rows: np.ndarray, columns: np.ndarray, chosen: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """The mean over pairs of a run of one unit and a run of another, [U, V], from the values of pairs of runs, [S, T].

    `rows` and `columns` are the units of the runs.
    """
    in_rows = (chosen[:, np.newaxis] == rows).astype(float)
    in_columns = (others[:, np.newaxis] == columns).astype(float)
    return in_rows @ matrix @ in_columns.T / np.outer(in_rows.sum(axis=1), in_columns.sum(axis=1))


def same_unit_means(matrix: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """For each unit with several runs, the mean over their pairs, from the values of pairs, [S, S], symmetric."""
    by_unit = [matrix[np.ix_(runs, runs)][np.triu_indices(len(runs), 1)] for runs in members_of_units(numbers)]
    return np.array([pairs.mean() for pairs in by_unit if len(pairs)])


class UnitStatistic(NamedTuple):
    """A value, its change without each unit, and each pair's contribution to its error, [U, U].

    `arms` is 1 or 2 for a unit with runs of that arm alone, and 3 for both. `kept` is the jackknife's factor,
    (n - 1) / n for the n units of its arm, or of the larger one. Each unit adds as much to the degrees of freedom.
    """

    value: float
    units: np.ndarray
    arms: np.ndarray
    kept: np.ndarray
    changes: np.ndarray
    pairs: np.ndarray


def in_arm(matrix: np.ndarray, units: np.ndarray) -> UnitStatistic:
    """The mean over pairs of different units of one arm, from the value of each pair, [U, U], symmetric."""
    return between_arms(matrix, units, units)


def of_pairs(matrix: np.ndarray, numbers: np.ndarray, units: np.ndarray) -> UnitStatistic:
    """The mean over pairs of different units of one arm, from the values of pairs of runs, [S, S]."""
    return in_arm(pair_means(matrix, numbers, numbers, units, units), units)


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

    There is no interval if a value without one unit is undefined, or if all pairs of units agree, possibly by chance.
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
    """The second arm's value minus the first's."""
    return estimate(_less(b, a))


def root(stat: UnitStatistic) -> Estimate:
    """The square root, such as an SD from a variance; its interval is computed on the log scale."""
    half = estimate(_logarithm(stat, 0.5))
    return Estimate(float(np.sqrt(stat.value)), *np.exp(half[1:]).tolist())


def ratio(a: UnitStatistic, b: UnitStatistic, power: float = 1.0) -> Estimate:
    """The second arm's value over the first's, to a power (1/2 for SDs); undefined unless both are above 0."""
    logarithm = estimate(_less(_logarithm(b, power), _logarithm(a, power)))
    if not np.isfinite(logarithm.value):
        return UNDEFINED
    with np.errstate(over="ignore"):
        return Estimate(*np.exp(logarithm).tolist())


def _logarithm(stat: UnitStatistic, power: float) -> UnitStatistic:
    """The logarithm of a value to a power; its changes are relative to the mean of the logarithms without each unit."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value, without = (power * np.log(part) for part in (np.float64(stat.value), stat.value + stat.changes))
        return stat._replace(
            value=float(value), changes=without - without.mean(), pairs=power / np.float64(stat.value) * stat.pairs
        )


def _less(b: UnitStatistic, a: UnitStatistic) -> UnitStatistic:
    """The difference of two arms' values; a unit of both arms is left out of both at once."""
    units, in_a, in_b = _together(a.units, b.units)
    changes, kept, pairs = np.zeros(len(units)), np.zeros(len(units)), np.zeros((len(units), len(units)))
    with np.errstate(invalid="ignore"):  # logarithms of 0, both without the same unit
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
