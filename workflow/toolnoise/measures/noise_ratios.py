"""Ratios of noise between the cells of a task on a tooling, and to those of the model with batch normalisation."""

import pandas as pd

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Inputs, Output
from toolnoise.base.noise_sources import DRAWN
from toolnoise.formulas.per_run import FINGERPRINT, OWN
from toolnoise.formulas.per_run import RUNS as OF_RUNS
from toolnoise.formulas.ratios import MEASURES, RATIOS, CellRuns, ratios
from toolnoise.study.cells import Cell, Variants
from toolnoise.study.published import comparisons


def measure(model: str, dataset: str, hardware: str, runs: Inputs, *, out: Output) -> None:
    """Write every ratio between the cells whose single runs are given."""
    place = Variants(model, dataset, hardware)
    table = metric_files.read(runs, OF_RUNS)
    table = table[table["group"] == "all"]
    by_cell = {Cell(*names): _runs(rows, runs) for names, rows in table.groupby(list(Cell._fields), sort=False)}
    rows = []
    for cell, over in comparisons(place, by_cell):
        (numerator, missing), (denominator, over_missing) = by_cell[cell], by_cell[over]
        ratio = ratios(numerator, denominator)
        counts = len(numerator.drawn), missing, len(denominator.drawn), over_missing, *ratio[1:]
        names = *cell, over.model, over.variant
        rows += [(*names, metric, "all", *estimate, *counts) for metric, estimate in ratio.estimates.items()]
    if not rows:
        raise BadInput(runs[0], "variant", f"nothing to compare for {'/'.join(place)}", "runs of two of its cells")
    metric_files.write(out, RATIOS, rows)


def _runs(rows: pd.DataFrame, files: list[str]) -> tuple[CellRuns, int]:
    """The finished runs of a cell, and the number of the others, whose accuracy has no value."""
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
