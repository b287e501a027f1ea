"""A model is built, and its weights are drawn, before its first run: its errors show before any training."""

import math
from typing import Any

from toolnoise.base import files
from toolnoise.base.job import Input, Output
from toolnoise.base.spec import Spec
from toolnoise.datasets import prepared
from toolnoise.training.network import build_model, initial_state, start_engine


def check(spec: Spec, data: Input, *, out: Output) -> dict[str, Any]:
    """Build the network of a spec for its data, and write the shapes of its weights; return what was observed."""
    dataset = prepared.load(data, spec.recipe["normalise"])
    engine, observed = start_engine(spec)
    parameters = build_model(engine, spec, dataset)
    initial_state(parameters, spec)
    files.write_json(
        out,
        {
            "spec": spec.as_json(),
            "input_shape": list(dataset.train.shape),
            "classes": dataset.outputs,
            "weights": sum(math.prod(parameter.shape) for parameter in parameters),
            "tensors": {parameter.path: list(parameter.shape) for parameter in parameters},
            "observed": observed,
        },
    )
    return observed
