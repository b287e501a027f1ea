"""Initial weights, drawn from the streams before any framework sees them.

Each tensor has a key of its own, so that layers of equal shape start different. Only initialisers that need no maths
library are drawn (constants and uniforms): they are exact on every platform.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from toolnoise import streams
from toolnoise.errors import BadInput

CONSTANTS = {"Zeros": 0.0, "Ones": 1.0}
# Keras's uniform initialisers: the variance is scale / fan, the fan being of inputs, outputs or their mean.
FANS = {
    "GlorotUniform": (1.0, "fan_avg"),
    "HeUniform": (2.0, "fan_in"),
    "LecunUniform": (1.0, "fan_in"),
}


class Parameter(NamedTuple):
    """One tensor of a model: its path, shape, whether it is trained, and its initialiser as Keras serialises it."""

    path: str
    shape: tuple[int, ...]
    trainable: bool
    initializer: str
    config: dict[str, Any]


def initial_weights(
    parameters: Sequence[Parameter], study_seed: int, replicate: int, model: str
) -> dict[str, np.ndarray]:
    """Draw every tensor of a model; `model` is what complaints call it."""
    return {
        parameter.path: _draw(parameter, streams.key(study_seed, "init", replicate, parameter.path), model)
        for parameter in parameters
    }


def _draw(parameter: Parameter, stream: int, model: str) -> np.ndarray:
    _, shape, _, initializer, config = parameter
    if initializer in CONSTANTS:
        return np.full(shape, CONSTANTS[initializer], np.float32)
    if initializer == "Constant":
        return np.full(shape, config["value"], np.float32)
    scale, fan = FANS.get(initializer, (config.get("scale"), config.get("mode")))
    if initializer in FANS or (initializer == "VarianceScaling" and config["distribution"] == "uniform"):
        limit = np.sqrt(3.0 * scale / max(1.0, _fan(shape, fan)))
        low, high = -limit, limit
    elif initializer == "RandomUniform":
        low, high = config["minval"], config["maxval"]
    else:
        allowed = ["Constant", "RandomUniform", "VarianceScaling with distribution uniform", *CONSTANTS, *FANS]
        found = f"initializer {initializer} of {parameter.path}"
        raise BadInput(f"model {model}", parameter.path, found, f"allowed: {', '.join(sorted(allowed))}")
    return np.float32(low) + streams.uniform(stream, shape) * np.float32(high - low)


def _fan(shape: tuple[int, ...], mode: str) -> float:
    # Keras's convention: the last two axes are inputs and outputs, the others a receptive field.
    if len(shape) < 2:
        fan_in = fan_out = float(np.prod(shape))
    else:
        field = float(np.prod(shape[:-2]))
        fan_in, fan_out = shape[-2] * field, shape[-1] * field
    return {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
