"""The measures of one cell: its stability, its runs one by one and as identical runs, and ensembles of its runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise import streams
from toolnoise.base import metric_files
from toolnoise.base.noise_sources import SOURCES
from toolnoise.dumps.stacks import Predictions
from toolnoise.measures import draws
from toolnoise.measures import identical as identical_runs
from toolnoise.measures.reading import counts, finished_runs, predictions_of, trained_vectors
from toolnoise.metrics import components, per_run
from toolnoise.metrics.accuracy import predictions
from toolnoise.metrics.ensembles import ENSEMBLES, by_size
from toolnoise.metrics.entropy import cross_entropies
from toolnoise.metrics.identical import CONVERGENCE, IDENTICAL
from toolnoise.metrics.per_run import RUNS
from toolnoise.metrics.stability import STABILITY, stability
from toolnoise.stats.estimates import Estimate


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
    finished = dump.finished
    measured = finished_runs(records, finished)
    stream = streams.key(study_seed, streams.ANALYSIS, 0, "bootstrap", *cell)
    test = dataset.test
    stack = dump.logits if finished.all() else dump.logits[finished]  # the whole dump stays in its file
    drawn = [run for run, keep in zip(dump.drawn, finished, strict=True) if keep]
    together, vectors, groups = draws.grouped(drawn), trained_vectors(measured), dataset.members(test)
    predicted, count, missing = predictions(stack), *counts(finished)

    found = draws.over_draws(
        together, lambda some: stability(_some(stack, some), test.labels, groups, vectors[some], stream)
    )
    found += components.rows(predicted, test.labels, together.table, together.crossed)
    found.append(("n_draws", "all", Estimate(float(together.n_draws), np.nan, np.nan)))

    entropies = cross_entropies(stack, test.labels)
    values = per_run.per_run(predicted, entropies, test.labels, len(dataset.classes), groups)
    values += draws.churns(together, predicted, test.labels, groups)
    values += draws.independent_variances(together, predicted, test.labels, len(dataset.classes), groups)

    # Identical runs share their draws, so each draw is an experiment of its own.
    kept, diverged = np.cumsum(finished) - 1, finished_runs(records, ~finished)
    lost = np.cumsum(~finished) - 1
    experiments = []
    for group in draws.grouped(dump.drawn).groups:
        some = kept[group[finished[group]]]
        of_draw = [measured[run] for run in some], [diverged[run] for run in lost[group[~finished[group]]]]
        experiments.append(identical_runs.rows(cell, *of_draw, _some(stack, some), dataset, identical))
    # At least two ensembles of each size, so that they have an SD; with too few runs, single runs only.
    fewest = min(map(len, together.groups))
    largest = max(1, fewest // 2)
    sizes = [by_size(_some(stack, some), test.labels, largest, stream) for some in together.groups]

    metric_files.write(out, STABILITY, [(*cell, *names, *estimate, count, missing) for *names, estimate in found])
    metric_files.write(out_runs, RUNS, _of_each(cell, dump, values))
    metric_files.write(out_identical, IDENTICAL, [row for one in experiments for row in one.cell])
    metric_files.write(out_convergence, CONVERGENCE, [row for one in experiments for row in one.runs])
    metric_files.write(
        out_ensembles,
        ENSEMBLES,
        [
            (*cell, size, metric, group, *estimate, ensembles, missing)
            for size, (metric, group, estimate), ensembles in draws.over_sizes(sizes)
        ],
    )


def _of_each(
    cell: Sequence[str], dump: Predictions, values: per_run.Values
) -> Iterator[tuple[metric_files.Value, ...]]:
    """The rows of single runs; a diverged run has an accuracy without a value."""
    finished = np.flatnonzero(dump.finished)
    names = [
        (*cell, seed, *(per_run.OWN if run[source] is None else str(run[source][1]) for source in SOURCES))
        for seed, run in zip(dump.seeds, dump.drawn, strict=True)
    ]
    for metric, group, of_runs in values:
        yield from ((*names[run], metric, group, value) for run, value in zip(finished, of_runs, strict=True))
    for run in np.flatnonzero(~dump.finished):
        yield (*names[run], "accuracy", "all", np.nan)


def _some(stack: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Some of the runs; all of them stay in their file."""
    return stack if len(some) == len(stack) else stack[some]
