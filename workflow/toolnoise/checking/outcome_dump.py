"""A cell's predictions where an existing training program made them: what its runs left, stacked in one array.

Logits are run x example x class, predicted classes and values run x example, and metrics run x metric.
"""

from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput
from toolnoise.base.spec import Spec
from toolnoise.base.timings import Timings
from toolnoise.checking import labels as test_set
from toolnoise.checking.left import read as read_left
from toolnoise.datasets import prepared
from toolnoise.dumps.prediction_dump import about
from toolnoise.engines import environment
from toolnoise.study import programs
from toolnoise.training import runs


def dump(spec: Spec, data: str | Path, records: list[str], logits: str | Path, index: str | Path) -> dict[str, Any]:
    """Stack what the runs of a cell left; refuse a run whose examples or shape differ from the others'.

    Return the observed machine.
    """
    kind, labels = spec.model.outcome, prepared.targets(data)["test_labels"]
    cell = [runs.read(record) for record in records]
    names, layers = [], []
    for run in cell:
        left = read_left(run)
        test_set.require_same(run, left, labels)
        metrics, layer = _layer(kind, left)
        if layers and (layer.shape != layers[0].shape or metrics != names):
            what = f"found {kind} of shape {layer.shape} {' '.join(metrics)}".rstrip()
            raise BadInput(run.folder / "weights.npz", "", what, f"{layers[0].shape} {' '.join(names)}, as other runs")
        names = metrics
        layers.append(layer)
    stack = np.stack(layers)
    arrays.write_npy(logits, stack)
    observed = environment.machine()
    entry = about(spec, cell, stack.shape, observed, Timings())
    files.write_json(index, entry | {"outcome": kind, "metrics": names})
    return observed


def _layer(kind: str, left: dict[str, np.ndarray]) -> tuple[list[str], np.ndarray]:
    """One run's part of the stack, and the names of its metrics."""
    if kind == programs.METRIC:
        metrics = test_set.named(left, test_set.METRIC)
        return list(metrics), np.array([float(value) for value in metrics.values()])
    if kind == programs.LOGITS:
        return [], left["logits"]
    return [], left["predictions"].astype(np.float64 if kind == programs.VALUES else np.int64)
