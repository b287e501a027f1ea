"""The measures of one cell: its stability, its runs as identical runs, and ensembles of its runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolnoise import streams
from toolnoise.base import metric_files
from toolnoise.measures.identical import rows
from toolnoise.measures.reading import counts, finished_runs, predictions_of, trained_vectors
from toolnoise.metrics.ensembles import ENSEMBLES, by_size
from toolnoise.metrics.identical import CONVERGENCE, IDENTICAL
from toolnoise.metrics.stability import STABILITY, stability


def measure(
    cell: Sequence[str],
    study_seed: int,
    identical: dict[str, Any],
    data: str | Path,
    logits: str | Path,
    index: str | Path,
    records: list[str],
    out: str | Path,
    out_identical: str | Path,
    out_convergence: str | Path,
    out_ensembles: str | Path,
) -> None:
    """Write the measures of one cell: its stability, its runs as identical runs, and ensembles of its runs.

    `identical` are the study's settings for identical runs. Diverged runs are excluded and counted as missing.
    """
    dump, dataset = predictions_of(data, logits, index)
    finished = dump.finished
    measured = finished_runs(records, finished)
    stream = streams.key(study_seed, streams.ANALYSIS, 0, "bootstrap", *cell)
    test = dataset.test
    stack = dump.logits if finished.all() else dump.logits[finished]  # the whole dump stays in its file
    found = stability(stack, test.labels, dataset.members(test), trained_vectors(measured), stream)
    count, missing = counts(finished)
    of_runs = rows(cell, measured, finished_runs(records, ~finished), stack, dataset, identical)
    # At least two ensembles of each size, so that they have an SD; with too few runs, single runs only.
    sizes = by_size(stack, test.labels, max(1, len(measured) // 2), stream)
    metric_files.write(out, STABILITY, [(*cell, *names, *estimate, count, missing) for *names, estimate in found])
    metric_files.write(out_identical, IDENTICAL, of_runs.cell)
    metric_files.write(out_convergence, CONVERGENCE, of_runs.runs)
    metric_files.write(
        out_ensembles,
        ENSEMBLES,
        [
            (*cell, members, metric, group, *estimate, ensembles, missing)
            for members, (metric, group, estimate), ensembles in sizes
        ],
    )
