"""Ratios between two cells, from the values of their single runs: churn over churn, SD over SD.

Where a cell has several algorithmic draws with several runs each, its noise is that of the runs of one draw, averaged
over draws, as in `stability`. Intervals over draws are those of `stats.contrasts`, as in claims; cells with the same
draws are paired. A cell of one draw has no such interval: its ratio holds for that draw.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from toolnoise.base.metric_files import CELL, MEASURE, Columns
from toolnoise.formulas.per_run import FINGERPRINT
from toolnoise.stats import draws
from toolnoise.stats.contrasts import PAIRS, SD, of_runs, ratio
from toolnoise.stats.draws import Drawn
from toolnoise.stats.estimates import Estimate

# The numerator is CELL, and `n_runs` and `n_missing` are its runs. The denominator has the same data set and tooling.
RATIOS: Columns = {
    **CELL,
    "over_model": str,
    "over_variant": str,
    **MEASURE,
    "over_n_runs": int,
    "over_n_missing": int,
    "n_draws": int,
    "over_n_draws": int,
    "design": str,
}
# How the draws of the two cells belong together. With `one draw` in either cell, or with draws that are shared in
# another way than one by one, there is no interval.
PAIRED, INDEPENDENT, ONE_DRAW, CROSSED = "paired", "independent", "one draw", "crossed"
# The cells have the same runs bit by bit: what varies in one alone changed nothing, and there is nothing to compare.
BIT_EQUAL = "bit-equal"


class CellRuns(NamedTuple):
    """The finished runs of a cell: the draws of each, and the values of each by metric, [S]."""

    drawn: Sequence[Drawn]
    values: Mapping[str, np.ndarray]


# The metric of single runs that each ratio is made of, and what is taken of it.
MEASURES = {
    "churn": ("churn", PAIRS),
    "churn_normalised": ("churn_normalised", PAIRS),
    "accuracy_sd": ("accuracy", SD),
    "cross_entropy_sd": ("cross_entropy", SD),
}


class Ratios(NamedTuple):
    """The ratios of two cells by metric, their numbers of draws, and how these belong together."""

    estimates: dict[str, Estimate]
    n_draws: int
    over_n_draws: int
    design: str


def ratios(numerator: CellRuns, denominator: CellRuns) -> Ratios:
    """The noise of one cell over that of another."""
    both = numerator, denominator
    together, by_cell = draws.units(*(runs.drawn for runs in both)), [draws.units(runs.drawn)[0] for runs in both]
    counts = [len(set(units.tolist())) for units in by_cell]
    design = BIT_EQUAL if _bit_equal(numerator, denominator, together) else _design(together, counts)
    estimates = {}
    over_draws = design in (PAIRED, INDEPENDENT)
    for metric, (of, statistic) in MEASURES.items():
        arms = [
            of_runs(runs.values[of], units.tolist(), statistic)
            for runs, units in zip(both, together if over_draws else by_cell, strict=True)
        ]
        estimates[metric] = ratio(*(arms if over_draws else [arm.alone for arm in arms]))
    return Ratios(estimates, *counts, design)


def _bit_equal(numerator: CellRuns, denominator: CellRuns, together: Sequence[np.ndarray]) -> bool:
    """Whether both cells have the same units, with the same fingerprints in each; files without these do not say."""
    if not all(FINGERPRINT in runs.values for runs in (numerator, denominator)):
        return False
    first, second = (
        sorted(zip(units.tolist(), runs.values[FINGERPRINT].tolist(), strict=True))
        for runs, units in zip((numerator, denominator), together, strict=True)
    )
    return len(first) > 1 and first == second


def _design(together: Sequence[np.ndarray], alone: Sequence[int]) -> str:
    shared = [set(numbers.tolist()) for numbers in together]
    if min(alone) < 2:
        return ONE_DRAW
    if any(len(numbers) < units for numbers, units in zip(shared, alone, strict=True)):
        return CROSSED  # draws of one cell that belong together in the other cannot be left out one by one
    return PAIRED if shared[0] & shared[1] else INDEPENDENT
