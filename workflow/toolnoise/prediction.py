"""A cell's predictions: the logits of every run on the test set, stacked in one array that maps into memory.

The index beside it says which seed each layer of the stack is; a diverged run is there as NaN, so that nothing shifts.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise import arrays, files, runs
from toolnoise.datasets import prepared
from toolnoise.engines import Engine, State
from toolnoise.errors import BadInput
from toolnoise.models.initial import Parameter
from toolnoise.runs import Run
from toolnoise.training import Timings, build_model, start_engine


class Predictions(NamedTuple):
    """Logits (run x example x class) with the seed and the status of each run."""

    logits: np.ndarray
    seeds: list[int]
    diverged: list[bool]

    @property
    def finished(self) -> np.ndarray:
        """Which runs can be measured."""
        return ~np.array(self.diverged, bool)


def dump(
    spec: dict[str, Any], data: str | Path, records: list[str], logits: str | Path, index: str | Path
) -> dict[str, Any]:
    """Run every network of a cell on the test set, on the cell's tooling; `spec` is of any of its runs.

    Return what was observed of the machine.
    """
    timings = Timings()
    cell = [runs.read(record) for record in records]
    with timings.measure("start_up"):
        dataset = prepared.load(data, spec["recipe"]["normalise"])
        engine, observed = start_engine(spec)
    with timings.measure("compile"):
        parameters = build_model(engine, spec, dataset)
    stack = np.full((len(cell), len(dataset.test.labels), len(dataset.classes)), np.nan, np.float32)
    with timings.measure("predicting"):
        for layer, run in zip(stack, cell, strict=True):
            if not run.diverged:
                restore(engine, run, parameters)
                layer[...] = engine.logits(dataset.test)
    arrays.write_npy(logits, stack)
    files.write_json(
        index,
        {
            "spec": {key: value for key, value in spec.items() if key != "seed"},
            "seeds": [run.seed for run in cell],
            "diverged": [run.diverged for run in cell],
            "shape": list(stack.shape),
            "observed": observed,
            "seconds": dict(timings),
        },
    )
    return observed


def restore(engine: Engine, run: Run, parameters: Sequence[Parameter]) -> None:
    """Give the engine's network the weights that a run ended with."""
    weights = run.weights()
    for parameter in parameters:
        if weights.get(parameter.path, np.empty(0)).shape != parameter.shape:
            found = f"no tensor of shape {parameter.shape}"
            raise BadInput(run.folder / "weights.npz", parameter.path, found, "weights of this model")
    engine.restore(State(weights, {}, 0))


def read(logits: str | Path, index: str | Path) -> Predictions:
    """Read a dump and check that it is whole and fits its index."""
    about = files.read_json(index)
    for key in ("seeds", "diverged", "shape"):
        if key not in about:
            raise BadInput(index, key, "no such key", "the index that predict wrote")
    stack = arrays.read_npy(logits)
    if list(stack.shape) != about["shape"] or stack.dtype != np.float32:
        found = f"found {stack.dtype} of shape {stack.shape}"
        raise BadInput(logits, "", found, f"float32 of shape {tuple(about['shape'])}, as {Path(index).name} says")
    for key in ("seeds", "diverged"):
        if len(about[key]) != len(stack):
            raise BadInput(index, key, f"found {len(about[key])}", f"one for each of the {len(stack)} runs")
    return Predictions(stack, about["seeds"], about["diverged"])
