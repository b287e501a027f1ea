"""A cell's predictions: the logits of every run on the test set, stacked in one memory-mapped array.

The index next to it has the seed of each layer of the stack. A diverged run is stored as NaN, so positions stay fixed.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base import arrays, files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Input, Output, Timings, TrainedRuns
from toolnoise.base.noise_sources import OPTIONAL, draws_of_runs
from toolnoise.base.spec import Spec
from toolnoise.datasets import prepared
from toolnoise.engines import State, Weights
from toolnoise.engines.keras_engine import KerasEngine
from toolnoise.formulas.likeliest import CUT, likeliest, unit_dtype
from toolnoise.models.initial import Parameter
from toolnoise.study import runs
from toolnoise.training.network import build_model, start_engine


class Predictor(NamedTuple):
    """All that is needed to predict with a cell's runs: a started engine, its empty network, the data, the machine."""

    engine: KerasEngine
    parameters: tuple[Parameter, ...]
    dataset: prepared.Data
    observed: dict[str, Any]

    def take(self, weights: Weights, run: runs.Run) -> None:
        """Put weights of a run into the network."""
        for parameter in self.parameters:
            if weights.get(parameter.path, np.empty(0)).shape != parameter.shape:
                problem = f"no tensor of shape {parameter.shape}"
                raise BadInput(run.folder / "weights.npz", parameter.path, problem, "weights of this model")
        self.engine.restore(State(weights, {}, 0))

    def unused(self, recipe: dict[str, Any]) -> list[str]:
        """The sources that a training by this recipe does not use, whose draws no two runs share."""
        used = {
            "augment": recipe["crop"] or recipe["flip"] or "resized_crop" in recipe or self.dataset.train.margin,
            "dropout": any(layer.rate for layer in self.engine.dropouts),
        }
        return [source for source in OPTIONAL if not used[source]]


def build(spec: Spec, data: str | Path, timings: Timings) -> Predictor:
    """Start a cell's engine and build its network; `spec` is the spec of any of its runs."""
    with timings.measure("start_up"):
        dataset = prepared.load(data, spec.recipe["normalise"])
        engine, observed = start_engine(spec)
    with timings.measure("compile"):
        return Predictor(engine, build_model(engine, spec, dataset), dataset, observed)


def dump(
    spec: Spec,
    data: Input,
    records: TrainedRuns,
    *,
    logits: Output,
    index: Output,
    trained_on: str = "",
) -> dict[str, Any]:
    """Run every network of a cell on the test set, on the tooling of `spec`, the spec of any of the cell's runs.

    Runs `trained_on` another tooling predict in the same way as runs of this tooling: only inference differs from their
    own dump. Return the observed properties of the machine.
    """
    timings = Timings()
    cell = [runs.read_run(record) for record in records]
    network = build(spec, data, timings)
    test = network.dataset.test
    dtype, of_unit = unit_dtype(test.units > 1, len(network.dataset.classes))
    shape = (len(cell), len(test.labels), *of_unit)
    with timings.measure("predicting"), arrays.filling_npy(logits, shape, dtype) as stack:
        for layer, run in zip(stack, cell, strict=True):
            if run.diverged:
                layer[...] = np.nan
            else:
                network.take(run.weights(), run)
                for units, scores in network.engine.scores(test):
                    layer[units] = scores if of_unit else likeliest(scores, test.labels[units])
    entry = index_of_dump(spec, cell, shape, network.observed, timings, network.unused(spec.recipe))
    entry |= {"trained_on": trained_on} if trained_on else {}
    files.write_json(index, entry | ({} if of_unit else {"outcome": CUT}))
    return network.observed


def index_of_dump(
    spec: Spec,
    cell: list[runs.Run],
    shape: tuple[int, ...],
    observed: dict[str, Any],
    timings: Timings,
    unused: Collection[str] = (),
) -> dict[str, Any]:
    """The index of a dump; `unused` are the sources that the training does not use, if that is known."""
    return {
        "spec": {key: value for key, value in spec.json.items() if key not in ("seed", "draw")},
        "seeds": [run.seed for run in cell],
        "draws": draws_of_runs(spec, [run.seed for run in cell], unused),
        "diverged": [run.diverged for run in cell],
        "shape": list(shape),
        "observed": observed,
        "seconds": dict(timings),
        **({"unused": list(unused)} if unused else {}),
    }
