"""The measures of a cell whose runs are those of a training program.

Logits have those of any cell, except those of identical runs: too little is known about the program's epochs.
Predicted classes have all measures that need no scores. Values have no churn: its place is taken by the mean absolute
difference between runs. A metric alone has a mean and an SD.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.base import metric_files, shapes
from toolnoise.base.errors import BadInput
from toolnoise.base.shapes import TEXT
from toolnoise.checking import values
from toolnoise.datasets import prepared
from toolnoise.dumps import stacks
from toolnoise.dumps.stacks import Predictions
from toolnoise.formulas import Row
from toolnoise.formulas.ensembles import ENSEMBLES
from toolnoise.formulas.per_run import RUNS, Values
from toolnoise.formulas.stability import STABILITY
from toolnoise.formulas.weights import Apart, apart
from toolnoise.measures import by_draw, noise
from toolnoise.measures.noise import Noise
from toolnoise.measures.reading import TrainedVectors, finished_runs, predictions_of
from toolnoise.study import programs


def measure_logits(
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
    """Write the measures of one cell whose runs left logits."""
    rows = noise.measured(cell, study_seed, *predictions_of(data, logits, index), records)
    metric_files.write(out, STABILITY, rows.stability)
    metric_files.write(out_runs, RUNS, rows.runs)
    metric_files.write(out_ensembles, ENSEMBLES, rows.ensembles)


def measure(
    cell: Sequence[str],
    study_seed: int,
    outcome: str,
    data: str | Path,
    logits: str | Path,
    index: str | Path,
    records: list[str],
    out: str | Path,
    out_runs: str | Path,
) -> None:
    """Write the measures of one cell from what else its runs left."""
    if outcome == programs.CLASSES:
        rows = noise.measured(cell, study_seed, *predictions_of(data, logits, index), records)
    else:
        dump, stream = stacks.read_predictions(logits, index), noise.bootstrap(study_seed, cell)
        vectors = TrainedVectors(finished_runs(records, dump))
        if outcome == programs.VALUES:
            rows = _of_values(cell, dump, data, vectors, stream)
        else:
            rows = _of_metrics(cell, dump, _names(index, dump), vectors, stream)
    metric_files.write(out, STABILITY, rows.stability)
    metric_files.write(out_runs, RUNS, rows.runs)


def _of_values(cell: Sequence[str], dump: Predictions, data: str | Path, vectors: TrainedVectors, stream: int) -> Noise:
    stored, stack = prepared.targets(data), noise.stack_of(dump)
    labels = stored["test_labels"].astype(np.float64)
    if stack.shape[1] != len(labels):
        raise BadInput(data, "test_labels", f"found {len(labels)}", f"the {stack.shape[1]} examples of the dump")
    groups: Mapping[str, np.ndarray] = {"all": np.ones(len(labels), bool)}
    if "groups" in stored:
        groups |= dict(zip(map(str, stored["groups"]), stored["test_groups"].T, strict=True))
    each = [
        (metric, group, errors)
        for group, member in groups.items()
        for metric, errors in values.errors(stack[:, member], labels[member]).items()
    ]

    def of_draw(chosen: np.ndarray, weights: Apart) -> list[Row]:
        return values.stability(noise.some_of(stack, chosen), labels, groups, weights, stream)

    return _rows(cell, dump, vectors, of_draw, each)


def _names(index: str | Path, dump: Predictions) -> list[str]:
    """The names of the metrics in a dump."""
    names = shapes.read(index, {"metrics": [TEXT]}, "the index that dump-outcomes wrote")["metrics"]
    if [len(names)] != list(noise.stack_of(dump).shape[1:]) or len(set(names)) < len(names):
        raise BadInput(index, "metrics", f"found {len(names)}", "a name of its own for each metric of the dump")
    return names


def _of_metrics(
    cell: Sequence[str], dump: Predictions, names: Sequence[str], vectors: TrainedVectors, stream: int
) -> Noise:
    each = dict(zip(names, noise.stack_of(dump).T, strict=True))

    def of_draw(chosen: np.ndarray, weights: Apart) -> list[Row]:
        return values.of_metrics({name: of_runs[chosen] for name, of_runs in each.items()}, weights, stream)

    of_each = [(name, "all", of_runs) for name, of_runs in each.items()]
    return _rows(cell, dump, vectors, of_draw, of_each, values.declared_as(names))


def _rows(
    cell: Sequence[str], dump: Predictions, vectors: TrainedVectors, of_draw: Callable, each: Values, *declared: Any
) -> Noise:
    """The rows of a cell from those of its draws, and from the values of each run."""
    together = by_draw.grouped(noise.drawn(dump))
    weights = [apart(vectors.of(chosen)) for chosen in together.groups]
    rows = by_draw.over_draws(list(map(of_draw, together.groups, weights)), *declared)
    return noise.as_rows(cell, dump, together, rows, each + by_draw.distances(together, weights), [])
