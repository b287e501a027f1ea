"""The draws of a cell's runs: which belong together, and how a measure of one draw becomes one of all draws."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from toolnoise.metrics import Row
from toolnoise.metrics.groups import examples_of
from toolnoise.metrics.per_run import (
    INDEPENDENT,
    Values,
    mean_churns,
    mean_churns_with,
    mean_independent_variances,
    mean_normalised_churns,
)
from toolnoise.stats import draws
from toolnoise.stats.draws import Drawn
from toolnoise.stats.estimates import Estimate, mean_t
from toolnoise.stats.testset import distribution_wise_sd

# The range of each kind of measure, by the start of its name; others are unbounded.
RANGES = {
    **dict.fromkeys(("accuracy_mean", "fpr_mean", "fnr_mean", "churn"), (0, 1)),
    **dict.fromkeys(("correlation", "cka"), (-1, 1)),
    **dict.fromkeys(("l2", "cross_entropy_mean"), (0, np.inf)),
}


class Grouped(NamedTuple):
    """The runs of each algorithmic draw; one group if each draw has one run, or if all runs share a draw.

    `table` has the runs [draws, runs of each] that can be compared in both directions, and `crossed` says whether its
    columns are draws of the implementation.
    """

    groups: list[np.ndarray]
    n_draws: int
    table: np.ndarray
    crossed: bool


def grouped(drawn: Sequence[Drawn]) -> Grouped:
    """How runs with these draws belong together."""
    (units,) = draws.units(drawn)
    found = draws.members(units)
    repeated = len(found) > 1 and max(map(len, found)) > 1
    groups = found if repeated else [np.arange(len(drawn))]
    table, crossed = _table(drawn, found) if repeated else (np.empty((0, 0), int), False)
    return Grouped(groups, len(found), table, crossed)


def over_draws(drawn: Grouped, measure: Callable[[np.ndarray], list[Row]]) -> list[Row]:
    """Rows of a measure of runs, each a mean over draws with an interval over draws; as they are if there is one."""
    each = [measure(group) for group in drawn.groups]
    if len(each) == 1:
        return each[0]
    return [
        (metric, group, _over(metric, [row[2] for row in rows]))
        for rows in zip(*each, strict=True)
        for metric, group, _ in rows[:1]
    ]


def over_sizes(each: list[list[tuple[int, Row, int]]]) -> list[tuple[int, Row, int]]:
    """Rows of ensembles by size, from those of each draw; the number of ensembles is that of all draws."""
    if len(each) == 1:
        return each[0]
    found = []
    for rows in zip(*each, strict=True):
        size, (metric, group, _), _ = rows[0]
        estimate = _over(metric, [row[2] for _, row, _ in rows])
        found.append((size, (metric, group, estimate), sum(ensembles for *_, ensembles in rows)))
    return found


def churns(drawn: Grouped, predicted: np.ndarray, labels: np.ndarray, groups: Mapping[str, np.ndarray]) -> Values:
    """The mean churn of each run with the other runs of its draw, normalised too, and with runs of other draws."""
    everyone = {"all": np.ones(len(labels), bool)}
    found: Values = []
    for name, member in (everyone | groups).items():
        if member.any():
            some, normalise = predicted[:, member], partial(mean_normalised_churns, labels=labels[member])
            found.append(("churn", name, _within(drawn, some, mean_churns)))
            found.append(("churn_normalised", name, _within(drawn, some, normalise)))
    other = np.full(len(predicted), np.nan)
    for row, of_draw in enumerate(drawn.table):
        for column, run in enumerate(of_draw):
            theirs = np.delete(drawn.table, row, axis=0)
            # Of crossed runs, those with another implementation draw, too: what ALGO+IMPL changes.
            theirs = np.delete(theirs, column, axis=1) if drawn.crossed else theirs
            other[run] = mean_churns_with(predicted[[run]], predicted[theirs.ravel()])[0]
    return [*found, ("churn_other_draw", "all", other)]


def independent_variances(
    drawn: Grouped, predicted: np.ndarray, labels: np.ndarray, classes: int, groups: Mapping[str, np.ndarray]
) -> Values:
    """Of each rate and run, a term of the variance over runs that independent errors would have: their mean is it."""
    wrong, everyone = predicted != labels, {"all": np.ones(len(labels), bool)}
    return [
        (f"{rate}_{INDEPENDENT}", name, _within(drawn, wrong[:, among], mean_independent_variances))
        for name, member in (everyone | groups).items()
        for rate, among in examples_of(labels, classes, member).items()
        if among.any()
    ]


def _within(drawn: Grouped, values: np.ndarray, measure: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """A measure of each run among the runs of its draw."""
    found = np.full(len(values), np.nan)
    for group in drawn.groups:
        found[group] = measure(values[group])
    return found


def _over(metric: str, found: list[Estimate]) -> Estimate:
    # A draw with too few runs has no value of its own.
    found = [estimate for estimate in found if not np.isnan(estimate.value)] or found[:1]
    over = _mean_over(metric, found)
    if over.low != over.high:
        return over
    # Draws with equal values leave the interval of one draw, which has no width only if its runs are bit-equal.
    _, lows, highs = zip(*found, strict=True)
    return Estimate(over.value, float(np.min(lows)), float(np.max(highs)))


def _mean_over(metric: str, found: list[Estimate]) -> Estimate:
    values = np.array([estimate.value for estimate in found])
    if metric.endswith("_null"):  # about the same in every draw
        return Estimate(float(values.mean()), np.nan, np.nan)
    if metric == "churn_new_examples":  # the examples are the same in every draw, so the draws do not show their part
        return Estimate(float(values.mean()), np.nan, np.nan)
    if metric == "accuracy_sd_distribution":
        return distribution_wise_sd(mean_t(values * np.abs(values)))
    if "_sd" in metric:
        squares = mean_t(values**2).within(0, np.inf)
        return Estimate(*np.sqrt(squares).tolist())
    bounds = next((bounds for start, bounds in RANGES.items() if metric.startswith(start)), (-np.inf, np.inf))
    return mean_t(values).within(*bounds)


def _table(drawn: Sequence[Drawn], members: list[np.ndarray]) -> tuple[np.ndarray, bool]:
    """The runs by draw and implementation draw, as far as all draws have them."""
    columns = [{drawn[run].get("impl"): run for run in runs} for runs in members]
    shared = [draw for draw in columns[0] if draw is not None and all(draw in column for column in columns)]
    if shared:
        return np.array([[column[draw] for draw in shared] for column in columns]), True
    fewest = min(map(len, members))
    return np.array([runs[:fewest] for runs in members]), False
