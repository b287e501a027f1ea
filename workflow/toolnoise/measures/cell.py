"""The measures of one cell: its stability, its runs one by one, and ensembles of its runs."""

from toolnoise.base import metric_files
from toolnoise.base.job import Input, Output, PlaceNames, WholeRuns
from toolnoise.formulas.ensembles import ENSEMBLES
from toolnoise.formulas.per_run import RUNS
from toolnoise.formulas.stability import STABILITY
from toolnoise.measures import noise
from toolnoise.measures.reading import predictions_of


def measure(
    cell: PlaceNames,
    study_seed: int,
    data: Input,
    logits: Input,
    index: Input,
    records: WholeRuns,
    *,
    out: Output,
    out_runs: Output,
    out_ensembles: Output,
) -> None:
    """Write the measures of one cell.

    Noise is measured among the runs of each algorithmic draw, where a cell has several, and then averaged over draws.
    Diverged runs are excluded and counted as missing.
    """
    rows = noise.measured(cell, study_seed, *predictions_of(data, logits, index), records)
    metric_files.write(out, STABILITY, rows.stability)
    metric_files.write(out_runs, RUNS, rows.runs)
    metric_files.write(out_ensembles, ENSEMBLES, rows.ensembles)
