"""The measures of one cell: its stability, its runs one by one and as identical runs, and ensembles of its runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.analyses.identical import measure as identical_runs
from toolnoise.analyses.identical.metric import CONVERGENCE, IDENTICAL
from toolnoise.base import metric_files
from toolnoise.datasets.prepared import Data
from toolnoise.dumps.stacks import Predictions
from toolnoise.formulas.ensembles import ENSEMBLES
from toolnoise.formulas.per_run import RUNS
from toolnoise.formulas.stability import STABILITY
from toolnoise.measures import by_draw, noise
from toolnoise.measures.reading import finished_runs, predictions_of, runs_at


def measure(
    cell: Sequence[str],
    study_seed: int,
    identical: dict[str, Any],
    data: str | Path,
    logits: str | Path,
    index: str | Path,
    records: list[str],
    out: str | Path,
    out_runs: str | Path,
    out_identical: str | Path,
    out_convergence: str | Path,
    out_ensembles: str | Path,
) -> None:
    """Write the measures of one cell.

    Noise is measured among the runs of each algorithmic draw, where a cell has several, and then averaged over draws.
    `identical` are the study's settings for identical runs. Diverged runs are excluded and counted as missing.
    """
    dump, dataset = predictions_of(data, logits, index)
    found = noise.measured(cell, study_seed, dump, dataset, records)
    experiments = _identical(cell, identical, dump, dataset, records)
    metric_files.write(out, STABILITY, found.stability)
    metric_files.write(out_runs, RUNS, found.runs)
    metric_files.write(out_identical, IDENTICAL, [row for one in experiments for row in one.cell])
    metric_files.write(out_convergence, CONVERGENCE, [row for one in experiments for row in one.runs])
    metric_files.write(out_ensembles, ENSEMBLES, found.ensembles)


def _identical(
    cell: Sequence[str], identical: dict[str, Any], dump: Predictions, dataset: Data, records: list[str]
) -> list[identical_runs.Found]:
    """Identical runs share their draws, so each draw is an experiment of its own."""
    finished = dump.finished
    stack, measured = noise.stack_of(dump), finished_runs(records, dump)
    kept, diverged = np.cumsum(finished) - 1, runs_at(records, dump, np.flatnonzero(~finished))
    lost = np.cumsum(~finished) - 1
    experiments = []
    for group in by_draw.grouped(dump.drawn).groups:
        some = kept[group[finished[group]]]
        of_draw = [measured[run] for run in some], [diverged[run] for run in lost[group[~finished[group]]]]
        experiments.append(identical_runs.rows(cell, *of_draw, noise.some_of(stack, some), dataset, identical))
    return experiments
