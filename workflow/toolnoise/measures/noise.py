"""Measures the noise of a cell from its predictions and weights, of built networks or of training programs."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from toolnoise import streams
from toolnoise.base import metric_files
from toolnoise.base.job import Input, Output, PlaceNames, WholeRuns
from toolnoise.base.noise_sources import DRAWN
from toolnoise.datasets.prepared import Data
from toolnoise.dumps.stacks import Predictions
from toolnoise.formulas import Row, per_run, variance_components
from toolnoise.formulas.accuracy import cross_entropies, predictions
from toolnoise.formulas.ensembles import ENSEMBLES, by_size
from toolnoise.formulas.likeliest import keeps_all, keeps_likeliest
from toolnoise.formulas.per_run import RUNS
from toolnoise.formulas.stability import STABILITY, of_all_draws, stability
from toolnoise.formulas.weights import Apart, weight_distances
from toolnoise.measures import by_draw
from toolnoise.measures.reading import TrainedVectors, count_finished, finished_runs, predictions_of
from toolnoise.stats.estimates import Estimate

# With more classes, such as tokens, tables have no rows for single classes.
MOST_CLASSES = 1000
Rows = list[tuple[metric_files.Value, ...]]


class Noise(NamedTuple):
    """The rows of a cell's stability, of its single runs, and of ensembles of its runs."""

    stability: Rows
    runs: Rows
    ensembles: Rows


def measure_runs(cell: Sequence[str], study_seed: int, dump: Predictions, dataset: Data, records: list[str]) -> Noise:
    """Measure a cell; if only predicted classes are known, measures that need scores are left out."""
    test = dataset.test
    stream = streams.stream_key(study_seed, streams.ANALYSIS, 0, "bootstrap", *cell)
    stack, together = dump.kept, by_draw.group_by_draw(dump.kept_draws)
    vectors, groups = TrainedVectors(finished_runs(records, dump)), dataset.members(test)
    weights = [weight_distances(vectors.of(chosen)) for chosen in together.groups]
    every, classes = keeps_all(stack), len(dataset.classes)
    scored = every or keeps_likeliest(stack)
    predicted, shown = predictions(stack) if scored else stack, classes if classes <= MOST_CLASSES else 0
    counted = classes if every else shown

    def of_draw(chosen: np.ndarray, of_weights: Apart) -> list[Row]:
        of_runs, scores = some_of(predicted, chosen), some_of(stack, chosen) if scored else None
        return stability(of_runs, test.labels, counted, groups, of_weights, stream, test.units, scores)

    rows = by_draw.over_draws(list(map(of_draw, together.groups, weights)))
    rows += of_all_draws(predicted, test.labels, counted, groups, together.groups, rows, test.units)
    rows += variance_components.component_rows(predicted, test.labels, together.table, together.crossed)

    entropies = cross_entropies(stack, test.labels) if scored else None
    values = per_run.per_run(predicted, entropies, test.labels, shown, groups)
    if scored:
        values += [
            ("cross_entropy", name, cross_entropies(stack, test.labels, member)) for name, member in groups.items()
        ]
        values.append((per_run.FINGERPRINT, "all", per_run.fingerprints(stack)))
    values += by_draw.churns_by_draw(together, predicted, test.labels, groups)
    values += by_draw.distances_by_draw(together, weights)

    sizes = []
    if scored:
        # At least two ensembles of each size, so that they have an SD; with too few runs, single runs only.
        largest = max(1, min(map(len, together.groups)) // 2) if every else 1
        sizes = [by_size(some_of(stack, chosen), test.labels, largest) for chosen in together.groups]
    return as_rows(cell, dump, together, rows, values, sizes)


def as_rows(
    cell: Sequence[str],
    dump: Predictions,
    together: by_draw.Grouped,
    rows: list[Row],
    values: per_run.Values,
    sizes: list[list[tuple[int, Row, int]]],
) -> Noise:
    """The measurements, as the rows of metric files."""
    count, missing = count_finished(dump.finished)
    n_draws = ("n_draws", "all", Estimate(float(together.n_draws)))
    return Noise(
        [(*cell, *names, *estimate, count, missing) for *names, estimate in [*rows, n_draws]],
        list(_of_each(cell, dump, values)),
        [
            (*cell, size, metric, group, *estimate, ensembles, missing)
            for size, (metric, group, estimate), ensembles in (by_draw.over_sizes(sizes) if sizes else [])
        ],
    )


def _of_each(
    cell: Sequence[str], dump: Predictions, values: per_run.Values
) -> Iterator[tuple[metric_files.Value, ...]]:
    """The rows of single runs; a diverged run has an accuracy without a value."""
    finished = np.flatnonzero(dump.finished)
    names = [
        (*cell, seed, *(per_run.OWN if run[source] is None else str(run[source][1]) for source in DRAWN))
        for seed, run in zip(dump.seeds, dump.drawn, strict=True)
    ]
    for metric, group, of_runs in values:
        yield from ((*names[run], metric, group, value) for run, value in zip(finished, of_runs, strict=True))
    for run in np.flatnonzero(~dump.finished):
        yield (*names[run], "accuracy", "all", np.nan)


def some_of(stack: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The chosen runs; if all runs are chosen, they stay in their file."""
    return stack if len(chosen) == len(stack) else stack[chosen]


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

    If a cell has several algorithmic draws, noise is measured among the runs of each draw and then averaged over draws.
    Diverged runs are excluded and counted as missing.
    """
    rows = measure_runs(cell, study_seed, *predictions_of(data, logits, index), records)
    metric_files.write_metrics(out, STABILITY, rows.stability)
    metric_files.write_metrics(out_runs, RUNS, rows.runs)
    metric_files.write_metrics(out_ensembles, ENSEMBLES, rows.ensembles)
