"""The measures of a cell whose runs are those of a training program that leaves logits.

They are those of any cell, but for those of identical runs: of the program's epochs too little is known.
"""

from collections.abc import Sequence
from pathlib import Path

from toolnoise.base import metric_files
from toolnoise.formulas.ensembles import ENSEMBLES
from toolnoise.formulas.per_run import RUNS
from toolnoise.formulas.stability import STABILITY
from toolnoise.measures import noise
from toolnoise.measures.reading import predictions_of


def measure(
    cell: Sequence[str],
    study_seed: int,
    data: str | Path,
    logits: str | Path,
    index: str | Path,
    records: list[str],
    out: str | Path,
    out_runs: str | Path,
    out_ensembles: str | Path,
) -> None:
    """Write the measures of one cell."""
    rows = noise.measured(cell, study_seed, *predictions_of(data, logits, index), records)
    metric_files.write(out, STABILITY, rows.stability)
    metric_files.write(out_runs, RUNS, rows.runs)
    metric_files.write(out_ensembles, ENSEMBLES, rows.ensembles)
