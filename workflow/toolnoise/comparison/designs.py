"""How two arms can be compared, from the units of their runs (`stats.draws`), and the means over units and pairs.

Runs enter a comparison through their units: by the mean of a unit's runs, or by the mean over the pairs of a run of one
unit and a run of another. Such pairs are of different units, in one arm or between two.

Intervals of means over pairs leave out one unit at a time. A unit that has runs of both arms is left out of both. So a
difference of two paired arms has the interval of the difference, which is narrower than that of two arms with other
draws if the same draw moves both arms alike. Logarithms of ratios likewise. Arms may share all of their units, some, or
none.

The jackknife sees only how the means of units differ. As in `stats.jackknife`, the variance of a mean over pairs of
units is at least that of as many independent pairs (Hoeffding 1948); that of a function of means by its linear part.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from types import SimpleNamespace
from typing import Literal, NamedTuple

import numpy as np

from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.stats.draws import Drawn, members, shared
from toolnoise.stats.estimates import UNDEFINED, Estimate, t_interval

# "no sessions": times or speeds without known sessions; "same runs": runs that stand in both arms.
Way = Literal["paired", "partly paired", "independent", "two draws", "one draw", "no sessions", "same runs"]
# Designs without a test, and so without a winner.
UNTESTED: tuple[Way, ...] = ("two draws", "one draw", "no sessions", "same runs")
# The fewest draws of an arm that is not fully paired: two find 1.5 SDs in 1 to 4 % of studies, against 50 in 12 %.
FEWEST = 3
ROUNDING = 1e-12  # a smaller standard error counts as 0


class Compared(SimpleNamespace):
    """The results for two arms, or for one, with the names of the JSON output (docs/tables/compare.txt).

    Two arms are `a` and `b`, each one of these, and differences are B - A. `way` says how they can be compared, and
    `n_in_both` how many runs stand in both. P-values are as they are and, in `pvalue_holm`, adjusted.
    """


class Design(NamedTuple):
    """How two arms can be compared, with the unit of each run.

    Every unit of paired arms has runs of both, none of independent arms has, and some of partly paired arms have. Where
    an arm is a single unit, that is one draw, and no interval over draws exists. Where one has two units, and not all
    are pairs, no test could decide. `units_a` and `units_b` are the units of the arms. The first of each are the
    `shared` ones, in the same order.
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
        """Means over pairs of different units from each arm's pairs of runs, [S, S]."""
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
    """The number of equal runs if contents may agree by chance: 0 unless the other arm has all runs of the smaller arm.

    `different` contents of the smaller arm differ: all, or some where both arms have as many runs.
    """
    shared, fewest = equal_runs(a, b), min(len(a), len(b))
    told_apart = different == fewest or (different > 1 and len(a) == len(b))
    return shared if shared == fewest > 1 and told_apart else 0


def assumed(runs: int, *, paired: bool) -> list[Drawn]:
    """Assumed draws of runs without records: run s shares all draws with run s of other arms, or has its own."""
    return [dict.fromkeys(ALGORITHMIC, ("run", run)) if paired else {} for run in range(runs)]


def shared_between(plan: Design, a: Sequence[Drawn], b: Sequence[Drawn]) -> list[str]:
    """The algorithmic sources that are equal among all runs of every unit with runs of both arms."""
    both = np.intersect1d(plan.a, plan.b)
    of_units = [
        shared([drawn[run] for drawn, numbers in ((a, plan.a), (b, plan.b)) for run in np.flatnonzero(numbers == unit)])
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
    """The mean over the pairs of runs of each unit that has several, from the values of pairs, [S, S], symmetric."""
    by_unit = [matrix[np.ix_(runs, runs)][np.triu_indices(len(runs), 1)] for runs in members(numbers)]
    return np.array([pairs.mean() for pairs in by_unit if len(pairs)])


class UnitStatistic(NamedTuple):
    """A value, its change without each unit, and each pair's contribution to its error, [U, U].

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


def of_pairs(matrix: np.ndarray, numbers: np.ndarray, units: np.ndarray) -> UnitStatistic:
    """The same mean from the values of pairs of runs, [S, S], and the units of the runs."""
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
    """The second arm's value minus the first's."""
    return estimate(_less(b, a))


def root(stat: UnitStatistic) -> Estimate:
    """The square root, with the interval of its logarithm: an SD from a variance."""
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
    """The logarithm of a value to a power; without a unit, relative to the mean over units."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value, without = (power * np.log(part) for part in (np.float64(stat.value), stat.value + stat.changes))
        return stat._replace(
            value=float(value), changes=without - without.mean(), pairs=power / np.float64(stat.value) * stat.pairs
        )


def _less(b: UnitStatistic, a: UnitStatistic) -> UnitStatistic:
    """The difference of two arms' values; a unit of both arms is left out of both at once."""
    units, in_a, in_b = _together(a.units, b.units)
    changes, kept, pairs = np.zeros(len(units)), np.zeros(len(units)), np.zeros((len(units), len(units)))
    with np.errstate(invalid="ignore"):  # a value without a unit may be 0
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
