"""Ratios of noise between two cells, from the values of their single runs: churn over churn, SD over SD.

They compare the cells of a task on a tooling, and a model's cells with batch normalisation with those without.

If a cell has several algorithmic draws with several runs each, its noise is measured among the runs of each draw and
averaged over draws, as in `stability`. Intervals over draws come from `stats.contrasts`, as in claims; cells with the
same draws are paired. A cell of one draw has no such interval: its ratio holds for that draw.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Inputs, Output
from toolnoise.base.metric_files import CELL, MEASURE, Columns
from toolnoise.base.noise_sources import DRAWN
from toolnoise.formulas.per_run import FINGERPRINT, OWN
from toolnoise.formulas.per_run import RUNS as OF_RUNS
from toolnoise.stats import draws
from toolnoise.stats.contrasts import PAIRS, SD, of_runs, ratio_of_estimates
from toolnoise.stats.draws import Drawn
from toolnoise.stats.estimates import Estimate
from toolnoise.study.cells import Cell, Variants
from toolnoise.study.published import comparisons_of_cells

# The numerator is CELL, and `n_runs` and `n_missing` count its runs. The denominator has the same data set and tooling.
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
# The relation between the draws of the two cells. There is no interval if a cell has `one draw`, or if draws are
# `crossed`: shared, but not one by one.
PAIRED, INDEPENDENT, ONE_DRAW, CROSSED = "paired", "independent", "one draw", "crossed"
# Both cells have bit-equal runs: a source that varies in only one cell changed nothing, so nothing can be compared.
BIT_EQUAL = "bit-equal"


class CellRuns(NamedTuple):
    """The finished runs of a cell: the draws of each, and the values of each by metric, [S]."""

    drawn: Sequence[Drawn]
    by_metric: Mapping[str, np.ndarray]


# The metric of single runs for each ratio, and the statistic of this metric.
MEASURES = {
    "churn": ("churn", PAIRS),
    "churn_normalised": ("churn_normalised", PAIRS),
    "accuracy_sd": ("accuracy", SD),
    "cross_entropy_sd": ("cross_entropy", SD),
}


class Ratios(NamedTuple):
    """The ratios of two cells by metric, their numbers of draws, and the relation between these draws."""

    estimates: dict[str, Estimate]
    n_draws: int
    over_n_draws: int
    design: str


def measure(model: str, dataset: str, hardware: str, runs: Inputs, *, out: Output) -> None:
    """Write every ratio between the cells whose single runs are given."""
    place = Variants(model, dataset, hardware)
    table = metric_files.read_metrics(runs, OF_RUNS)
    table = table[table["group"] == "all"]
    by_cell = {Cell(*names): _runs(rows, runs) for names, rows in table.groupby(list(Cell._fields), sort=False)}
    rows = []
    for cell, over in comparisons_of_cells(place, by_cell):
        (numerator, missing), (denominator, over_missing) = by_cell[cell], by_cell[over]
        ratio = ratios(numerator, denominator)
        counts = len(numerator.drawn), missing, len(denominator.drawn), over_missing, *ratio[1:]
        names = *cell, over.model, over.variant
        rows += [(*names, metric, "all", *estimate, *counts) for metric, estimate in ratio.estimates.items()]
    if not rows:
        raise BadInput(runs[0], "variant", f"nothing to compare for {'/'.join(place)}", "runs of two of its cells")
    metric_files.write_metrics(out, RATIOS, rows)


def _runs(rows: pd.DataFrame, files: list[str]) -> tuple[CellRuns, int]:
    """The finished runs of a cell, and the number of diverged runs, whose accuracy has no value."""
    if not (rows["metric"] == "accuracy").any():
        cell = "/".join(rows.iloc[0][list(Cell._fields)])
        raise BadInput(files[0], "metric", f"no accuracy of {cell} in this and the files beside it", "one for each run")
    values = rows.pivot_table(index="seed", columns="metric", values="value", sort=False, dropna=False)
    finished = values["accuracy"].notna()
    drawn = rows.drop_duplicates("seed").set_index("seed").loc[values.index[finished], list(DRAWN)]
    named = [
        {source: None if draw == OWN else draw for source, draw in run.items()} for run in drawn.to_dict("records")
    ]
    fingerprints = [FINGERPRINT] if FINGERPRINT in values.columns else []
    kept = values[finished].reindex(columns=[*(of for of, _ in MEASURES.values()), *fingerprints])
    return CellRuns(named, {metric: of_runs.to_numpy() for metric, of_runs in kept.items()}), int((~finished).sum())


def ratios(numerator: CellRuns, denominator: CellRuns) -> Ratios:
    """The ratios of one cell's noise to another's."""
    both = numerator, denominator
    together, by_cell = (
        draws.units_of_arms(*(runs.drawn for runs in both)),
        [draws.units_of_arms(runs.drawn)[0] for runs in both],
    )
    counts = [len(set(units.tolist())) for units in by_cell]
    design = BIT_EQUAL if _bit_equal(numerator, denominator, together) else _design(together, counts)
    estimates = {}
    over_draws = design in (PAIRED, INDEPENDENT)
    for metric, (of, statistic) in MEASURES.items():
        arms = [
            of_runs(runs.by_metric[of], units.tolist(), statistic)
            for runs, units in zip(both, together if over_draws else by_cell, strict=True)
        ]
        estimates[metric] = ratio_of_estimates(*(arms if over_draws else [arm.alone for arm in arms]))
    return Ratios(estimates, *counts, design)


def _bit_equal(numerator: CellRuns, denominator: CellRuns, together: Sequence[np.ndarray]) -> bool:
    """Whether both cells have the same units with the same fingerprints; False for files without fingerprints."""
    if not all(FINGERPRINT in runs.by_metric for runs in (numerator, denominator)):
        return False
    first, second = (
        sorted(zip(units.tolist(), runs.by_metric[FINGERPRINT].tolist(), strict=True))
        for runs, units in zip((numerator, denominator), together, strict=True)
    )
    return len(first) > 1 and first == second


def _design(together: Sequence[np.ndarray], alone: Sequence[int]) -> str:
    shared = [set(numbers.tolist()) for numbers in together]
    if min(alone) < 2:
        return ONE_DRAW
    if any(len(numbers) < units for numbers, units in zip(shared, alone, strict=True)):
        return CROSSED  # draws of one cell that are one unit in the other cannot be left out one by one
    return PAIRED if shared[0] & shared[1] else INDEPENDENT
