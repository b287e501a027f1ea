"""Ratios between two cells, from the values of their single runs: churn over churn, SD over SD.

Where a cell has several algorithmic draws with several runs each, its noise is that of the runs of one draw, averaged
over draws, as in `stability`. An interval over draws leaves out one draw at a time; a draw that both cells have is left
out of both. A cell of one draw has no such interval: its ratio holds for that draw.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from toolnoise.base.metric_files import CELL, MEASURE, Columns
from toolnoise.stats import draws
from toolnoise.stats.draws import Drawn
from toolnoise.stats.estimates import Estimate, standard_deviation
from toolnoise.stats.ratio import Jackknifed, ratio_of_jackknifed

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


class Runs(NamedTuple):
    """The finished runs of a cell: the draws of each, and the values of each by metric, [S]."""

    drawn: Sequence[Drawn]
    values: Mapping[str, np.ndarray]


class Measure(NamedTuple):
    """Noise from a metric of single runs: of a group of runs, and without each of them; to the power of `power`."""

    of: str
    within: Callable[[np.ndarray], float]
    without_each: Callable[[np.ndarray], np.ndarray]
    power: float = 1.0


def _variance(values: np.ndarray) -> float:
    return float(standard_deviation(values) ** 2)


def _variances_without_each(values: np.ndarray) -> np.ndarray:
    return np.array([_variance(np.delete(values, run)) for run in range(len(values))])


def _mean_without_each_run(values: np.ndarray) -> np.ndarray:
    """The mean over the pairs without each run, where a run's value is its mean over its pairs with the others."""
    return (values.sum() - 2 * values) / (len(values) - 2)


_PAIRS = (np.mean, _mean_without_each_run)
_SPREAD = (_variance, _variances_without_each, 0.5)  # variances, not SDs, are averaged over draws
MEASURES = {
    "churn": Measure("churn", *_PAIRS),
    "churn_normalised": Measure("churn_normalised", *_PAIRS),
    "accuracy_sd": Measure("accuracy", *_SPREAD),
    "cross_entropy_sd": Measure("cross_entropy", *_SPREAD),
}


class Ratios(NamedTuple):
    """The ratios of two cells by metric, their numbers of draws, and how these belong together."""

    estimates: dict[str, Estimate]
    n_draws: int
    over_n_draws: int
    design: str


def ratios(one: Runs, other: Runs) -> Ratios:
    """The noise of one cell over that of another."""
    together = draws.units(one.drawn, other.drawn)
    alone = [draws.members(draws.units(runs.drawn)[0]) for runs in (one, other)]
    design = _design(together, alone)
    estimates = {}
    for metric, measure in MEASURES.items():
        arms = [_arm(*arm, measure) for arm in zip((one, other), alone, together, strict=True)]
        if design in (ONE_DRAW, CROSSED):
            arms = [arm._replace(without={}) for arm in arms]
        estimates[metric] = ratio_of_jackknifed(*arms)
    return Ratios(estimates, *map(len, alone), design)


def _design(together: Sequence[np.ndarray], alone: Sequence[list[np.ndarray]]) -> str:
    shared = [set(numbers.tolist()) for numbers in together]
    if min(map(len, alone)) < 2:
        return ONE_DRAW
    if any(len(numbers) < len(units) for numbers, units in zip(shared, alone, strict=True)):
        return CROSSED  # draws of one cell that belong together in the other cannot be left out one by one
    return PAIRED if shared[0] & shared[1] else INDEPENDENT


def _arm(runs: Runs, units: list[np.ndarray], numbers: np.ndarray, measure: Measure) -> Jackknifed:
    """The noise of a cell, and its noise without each of its draws by their numbers in both cells."""
    values = runs.values[measure.of]
    if max(map(len, units), default=1) == 1:
        value = measure.within(values) if len(values) > 1 else np.nan
        left = zip(numbers, measure.without_each(values), strict=True) if len(values) > 2 else ()
    else:
        groups = [unit for unit in units if len(unit) > 1]
        found = np.array([measure.within(values[group]) for group in groups])
        value = found.mean()
        places = range(len(groups)) if len(groups) > 1 else ()
        left = [(numbers[groups[place][0]], np.delete(found, place).mean()) for place in places]
    return Jackknifed(float(value**measure.power), {int(number): float(rest**measure.power) for number, rest in left})
