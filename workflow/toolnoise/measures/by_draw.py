"""Groups the runs of a cell by their draws, and combines the measures of single draws into measures of all draws."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from toolnoise.formulas import Row
from toolnoise.formulas.churn import agreements, normalised_churns
from toolnoise.formulas.declared import METRICS, Metric, within_range
from toolnoise.formulas.per_run import Values
from toolnoise.formulas.weights import Apart
from toolnoise.stats import draws
from toolnoise.stats.draws import Drawn
from toolnoise.stats.estimates import Estimate


class Grouped(NamedTuple):
    """The runs of each algorithmic draw; one group if each draw has one run, or if all runs share a draw.

    `table` has the runs [draws, runs of each] that can be compared in both directions; if `crossed`, its columns are
    draws of the implementation.
    """

    groups: list[np.ndarray]
    n_draws: int
    table: np.ndarray
    crossed: bool


def group_by_draw(drawn: Sequence[Drawn]) -> Grouped:
    """Group runs by their draws."""
    (units,) = draws.units_of_arms(drawn)
    members = draws.members_of_units(units)
    repeated = len(members) > 1 and max(map(len, members)) > 1
    groups = members if repeated else [np.arange(len(drawn))]
    table, crossed = _table(drawn, members) if repeated else (np.empty((0, 0), int), False)
    return Grouped(groups, len(members), table, crossed)


def over_draws(each: Sequence[list[Row]], declared: Mapping[str, Metric] = METRICS) -> list[Row]:
    """Rows of all draws with an interval over draws, from the rows of each draw; unchanged if there is one draw."""
    if len(each) == 1:
        return each[0]
    return within_range((_over(rows, declared) for rows in zip(*each, strict=True)), declared)


def over_sizes(each: list[list[tuple[int, Row, int]]]) -> list[tuple[int, Row, int]]:
    """Rows of ensembles by size, from the rows of each draw; the number of ensembles is the sum over draws."""
    rows = over_draws([[row for _, row, _ in of_draw] for of_draw in each])
    of_all = zip(zip(*each, strict=True), rows, strict=True)
    return [(alike[0][0], row, sum(ensembles for *_, ensembles in alike)) for alike, row in of_all]


def churns_by_draw(
    drawn: Grouped, predicted: np.ndarray, labels: np.ndarray, groups: Mapping[str, np.ndarray]
) -> Values:
    """The mean churn of each run with the other runs of its draw (also normalised), and with runs of other draws.

    The mean over pairs, with or without any run, follows from these values.
    """
    values: Values = []
    for name, member in ({"all": np.ones(len(labels), bool)} | groups).items():
        if member.any():
            chosen, errors = predicted[:, member], np.mean(predicted[:, member] != labels[member], axis=1)
            plain, normalised = np.full((2, len(predicted)), np.nan)
            for group in drawn.groups:
                if len(group) > 1:
                    plain[group] = _mean_churns(chosen[group])
                    normalised[group] = normalised_churns(chosen[group], errors[group]).sums / (len(group) - 1)
            values += [("churn", name, plain), ("churn_normalised", name, normalised)]
    other = np.full(len(predicted), np.nan)
    for row, of_draw in enumerate(drawn.table):
        for column, run in enumerate(of_draw):
            theirs = np.delete(drawn.table, row, axis=0)
            # If runs are crossed, the others must also have another implementation draw, as in ALGO+IMPL.
            theirs = np.delete(theirs, column, axis=1) if drawn.crossed else theirs
            others = predicted[theirs.ravel()]
            if others.size:
                other[run] = 1 - agreements(predicted[[run]], others)[0] / others.size
    return [*values, ("churn_other_draw", "all", other)]


def _mean_churns(predicted: np.ndarray) -> np.ndarray:
    """The mean churn of each run with the others, [S]."""
    compared = (len(predicted) - 1) * predicted.shape[1]
    alike = agreements(predicted, predicted) - predicted.shape[1]  # without the run itself
    return (compared - alike) / compared


def distances_by_draw(drawn: Grouped, weights: Sequence[Apart]) -> Values:
    """The mean distance of each run's weights from those of the other runs of its draw; `weights` are by draw."""
    by_metric: dict[str, np.ndarray] = {}
    for group, of_draw in zip(drawn.groups, weights, strict=True):
        for metric, of_each in of_draw.of_each().items():
            by_metric.setdefault(metric, np.full(sum(map(len, drawn.groups)), np.nan))[group] = of_each
    return [(metric, "all", of_runs) for metric, of_runs in by_metric.items()]


def _over(rows: Sequence[Row], declared: Mapping[str, Metric]) -> Row:
    metric, group, _ = rows[0]
    # A draw with too few runs has no value of its own.
    estimates = [estimate for *_, estimate in rows if not np.isnan(estimate.value)] or [rows[0][-1]]
    over = declared[metric].over
    assert over, f"{metric} is made from all draws at once"
    values = np.array([estimate.value for estimate in estimates])
    of_all = over(values)
    if (values == values[0]).all():
        # If all draws have equal values, the interval spans those of single draws; bit-equal runs have none.
        _, lows, highs = zip(*estimates, strict=True)
        of_all = Estimate(of_all.value, float(np.min(lows)), float(np.max(highs)))
    return metric, group, of_all


def _table(drawn: Sequence[Drawn], members: list[np.ndarray]) -> tuple[np.ndarray, bool]:
    """The runs by draw and by shared implementation draws; if draws share none, the first runs of each draw."""
    columns = [{drawn[run].get("impl"): run for run in runs} for runs in members]
    shared = [draw for draw in columns[0] if draw is not None and all(draw in column for column in columns)]
    if shared:
        return np.array([[column[draw] for draw in shared] for column in columns]), True
    fewest = min(map(len, members))
    return np.array([runs[:fewest] for runs in members]), False
