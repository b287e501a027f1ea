"""How two arms can be compared, by the units of their runs (`stats.draws`), and the means by which runs enter.

Runs enter a comparison through their units: by the mean of a unit's runs, or by the mean over the pairs of a run of one
unit and a run of another.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from types import SimpleNamespace
from typing import Literal, NamedTuple

import numpy as np

from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.stats.draws import Drawn, members, shared

# Of times and speeds whose sessions are not known, there are "no sessions"; "same runs" stand in both arms.
Way = Literal["paired", "partly paired", "independent", "two draws", "one draw", "no sessions", "same runs"]
# Ways that have no test, and so no winner.
UNTESTED: tuple[Way, ...] = ("two draws", "one draw", "no sessions", "same runs")
# Draws of an arm that are not all pairs. Two find a difference of 1.5 SDs in 1 to 4 % of studies, beside 50 in 12 %.
FEWEST = 3


class Compared(SimpleNamespace):
    """What was found of two arms, or of one: values by the names that they have in JSON (docs/tables/compare.txt).

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
    """How many runs of one arm have their equal in the other."""
    return (Counter(a) & Counter(b)).total()


def copied_runs(a: Sequence[Hashable], b: Sequence[Hashable], different: int) -> int:
    """The same of contents that may agree by chance: 0 unless all runs of the smaller arm stand in the other, too.

    `different` contents of the smaller arm differ: all, or some where both arms have as many runs.
    """
    shared, fewest = equal_runs(a, b), min(len(a), len(b))
    told_apart = different == fewest or (different > 1 and len(a) == len(b))
    return shared if shared == fewest > 1 and told_apart else 0


def assumed(runs: int, *, paired: bool) -> list[Drawn]:
    """Draws of an arm's runs that nobody recorded: all of run s are those of run s in other arms, or its own."""
    return [dict.fromkeys(ALGORITHMIC, ("run", run)) if paired else {} for run in range(runs)]


def shared_between(plan: Design, a: Sequence[Drawn], b: Sequence[Drawn]) -> list[str]:
    """The algorithmic sources of which, in every unit that has runs of both arms, all runs have the same draw."""
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
