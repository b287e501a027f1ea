"""The measures of a cell whose runs are those of a training program.

Logits have those of any cell, except those of identical runs: too little is known about the program's epochs.
Predicted classes have all measures that need no scores. Values and losses have no churn: its place is taken by the mean
absolute difference between runs. A metric alone has a mean and an SD.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.base import metric_files, shapes
from toolnoise.base.errors import BadInput
from toolnoise.base.shapes import TEXT
from toolnoise.checking import values
from toolnoise.datasets import outcomes, prepared
from toolnoise.dumps import stacks
from toolnoise.dumps.stacks import Predictions
from toolnoise.formulas import Row
from toolnoise.formulas.per_run import RUNS, Values
from toolnoise.formulas.stability import STABILITY
from toolnoise.formulas.weights import Apart, apart
from toolnoise.measures import by_draw, noise
from toolnoise.measures.noise import Noise
from toolnoise.measures.reading import TrainedVectors, finished_runs, predictions_of

Measured = tuple[values.Numbers, dict[str, np.ndarray]]


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
    if outcome == outcomes.CLASSES:
        rows = noise.measured(cell, study_seed, *predictions_of(data, logits, index), records)
    else:
        dump, stream = stacks.read_predictions(logits, index), noise.bootstrap(study_seed, cell)
        vectors = TrainedVectors(finished_runs(records, dump))
        if outcome in MEASURED:
            rows = _of_numbers(cell, MEASURED[outcome](dump, data, index), dump, vectors, stream)
        else:
            rows = _of_metrics(cell, dump, _names(index, dump), vectors, stream)
    metric_files.write(out, STABILITY, rows.stability)
    metric_files.write(out_runs, RUNS, rows.runs)


def _of_numbers(
    cell: Sequence[str], measured: Measured, dump: Predictions, vectors: TrainedVectors, stream: int
) -> Noise:
    of_runs, groups = measured
    stack = noise.stack_of(dump)
    each = [
        (metric, group, found)
        for group, member in groups.items()
        for metric, found in of_runs.each(stack[:, member], member).items()
    ]

    def of_draw(chosen: np.ndarray, weights: Apart) -> list[Row]:
        return values.stability(of_runs, noise.some_of(stack, chosen), groups, weights, stream)

    return _rows(cell, dump, vectors, of_draw, each)


def _values(dump: Predictions, data: str | Path, index: str | Path) -> Measured:  # noqa: ARG001 (as of losses)
    """How values are measured; each of several columns is a group, too."""
    stored = prepared.targets(data)
    labels = stored["test_labels"].astype(np.float64)
    if dump.logits.shape[1] != labels.size:
        raise BadInput(data, "test_labels", f"found {labels.size}", f"the {dump.logits.shape[1]} values of the dump")
    columns = labels.shape[1] if labels.ndim > 1 else 1
    groups = _groups(stored, np.full(len(labels), columns))
    for place, name in enumerate(stored.get("asked", ())):
        groups[str(name)] = np.arange(labels.size) % columns == place
    return values.Errors(labels.reshape(-1)), groups


def _losses(dump: Predictions, data: str | Path, index: str | Path) -> Measured:
    lengths = shapes.read(index, {"lengths": [shapes.POSITIVE]}, "the index that dump-outcomes wrote")["lengths"]
    if sum(lengths) != dump.logits.shape[1]:
        raise BadInput(index, "lengths", f"found {sum(lengths)} tokens", f"the {dump.logits.shape[1]} of the dump")
    return values.Losses(), _groups(prepared.targets(data), np.array(lengths))


# How the numbers of each outcome are measured, and the units of each group.
MEASURED: Mapping[str, Callable[..., Measured]] = {outcomes.VALUES: _values, outcomes.LOSSES: _losses}


def _groups(stored: Mapping[str, np.ndarray], times: np.ndarray) -> dict[str, np.ndarray]:
    """The units of each group of examples, of which each has so many units."""
    members = zip(map(str, stored.get("groups", ())), stored.get("test_groups", np.empty((0, 0))).T, strict=True)
    return {"all": np.ones(times.sum(), bool)} | {name: member.repeat(times) for name, member in members}


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
