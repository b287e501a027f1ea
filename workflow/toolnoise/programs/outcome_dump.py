"""A cell's predictions by an existing training program: the outcomes of its runs, stacked in one array.

Logits are run x unit x class, predicted classes and values run x unit, losses run x token without padding, and metrics
run x metric.
"""

from typing import Any

import numpy as np

from toolnoise.base import arrays, environment, files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Input, Output, Timings, TrainedRuns
from toolnoise.base.spec import Spec
from toolnoise.datasets import prepared
from toolnoise.dumps.prediction_dump import index_of_dump
from toolnoise.formulas import outcomes, outputs
from toolnoise.formulas.outcomes import LEFT, unit_scores
from toolnoise.programs import left_arrays as left_by
from toolnoise.study import runs


def dump(spec: Spec, data: Input, records: TrainedRuns, *, logits: Output, index: Output) -> dict[str, Any]:
    """Stack what the runs of a cell left; refuse a run whose examples or shape differ from the others'.

    Return the observed machine.
    """
    kind, labels = spec.model.outcome, prepared.targets_of_test(data)["test_labels"]
    cell = [runs.read_run(record) for record in records]
    names, layers, padded = [], [], None
    for run in cell:
        left = left_by.read_left_arrays(run)
        left_by.require_same_labels(run, left, labels)
        if kind == outcomes.LOSSES:
            gaps = np.isnan(left["losses"])
            _require_same_tokens(run, gaps, padded)
            padded = gaps
        metrics, layer = _layer(kind, left)
        if layers and (layer.shape != layers[0].shape or metrics != names):
            what = f"found {kind} of shape {layer.shape} {' '.join(metrics)}".rstrip()
            raise BadInput(run.folder / "weights.npz", "", what, f"{layers[0].shape} {' '.join(names)}, as other runs")
        names = metrics
        layers.append(layer)
    stack = np.stack(layers)
    arrays.write_npy(logits, stack)
    observed = environment.describe_machine()
    entry = index_of_dump(spec, cell, stack.shape, observed, Timings())
    segments = {} if padded is None else {"lengths": outputs.segment_lengths(np.where(padded, np.nan, 0)).tolist()}
    files.write_json(index, entry | {"outcome": kind, "metrics": names} | segments)
    return observed


def _require_same_tokens(run: runs.Run, padded: np.ndarray, before: np.ndarray | None) -> None:
    if before is not None and not np.array_equal(padded, before):
        what = f"found losses of {np.count_nonzero(~padded)} tokens in shape {padded.shape}"
        allowed = f"{np.count_nonzero(~before)} in shape {before.shape}, with the padding of other runs"
        raise BadInput(run.folder / "weights.npz", "losses", what, allowed)


def _layer(kind: str, left: dict[str, np.ndarray]) -> tuple[list[str], np.ndarray]:
    """One run's part of the stack, and the names of its metrics."""
    if kind == outcomes.METRIC:
        metrics = left_by.arrays_named(left, left_by.METRIC)
        return list(metrics), np.array([float(value) for value in metrics.values()])
    if LEFT[kind].scored:
        return [], unit_scores(LEFT[kind].of, np.asarray(left["logits"]))
    values = left["predictions"].ravel() if kind != outcomes.LOSSES else left["losses"][~np.isnan(left["losses"])]
    return [], values.astype(LEFT[kind].dtype)
