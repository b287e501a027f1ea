"""Initial weights, drawn from the streams before any framework sees them.

Each tensor has its own key, so layers of equal shape start with different weights. Only initialisers that need no maths
library are supported: constants, uniforms, and normals truncated at two standard deviations. They are the same on every
platform.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from toolnoise import streams
from toolnoise.base.errors import BadInput

CONSTANTS = {"Zeros": 0.0, "Ones": 1.0}
# Keras's names for cases of VarianceScaling: the variance is scale / fan, and the fan is the number of inputs, the
# number of outputs, or their mean.
SCALED = {
    f"{name}{kind}": {"scale": scale, "mode": mode, "distribution": distribution}
    for name, scale, mode in (("Glorot", 1.0, "fan_avg"), ("He", 2.0, "fan_in"), ("Lecun", 1.0, "fan_in"))
    for kind, distribution in (("Uniform", "uniform"), ("Normal", "truncated_normal"))
}
# The standard deviation of a standard normal that is truncated at two: Keras's constant, digit for digit.
CUT_OFF_SPREAD = 0.87962566103423978


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
    """Draw every tensor of a model; `model` is its name in error messages."""
    return {
        parameter.path: _draw(parameter, streams.stream_key(study_seed, "init", replicate, parameter.path), model)
        for parameter in parameters
    }


def _draw(parameter: Parameter, stream: int, model: str) -> np.ndarray:
    _, shape, _, initializer, config = parameter
    config = {**config, **SCALED.get(initializer, {})}
    kind = config.get("distribution", initializer)
    if kind in CONSTANTS:
        return np.full(shape, CONSTANTS[kind], np.float32)
    if kind == "Constant":
        return np.full(shape, config["value"], np.float32)
    if kind == "RandomUniform":
        return _uniform(stream, shape, config["minval"], config["maxval"])
    if kind == "TruncatedNormal":
        return _normal(stream, shape, config["mean"], config["stddev"])
    if kind == "uniform":
        limit = np.sqrt(3.0 * _variance(shape, config))
        return _uniform(stream, shape, -limit, limit)
    if kind == "truncated_normal":
        return _normal(stream, shape, 0.0, np.sqrt(_variance(shape, config)) / CUT_OFF_SPREAD)
    known = ", ".join(sorted(["Constant", "RandomUniform", "TruncatedNormal", *CONSTANTS, *SCALED]))
    problem, allowed = f"initializer {initializer} of {parameter.path}", f"allowed: {known}"
    raise BadInput(f"model {model}", parameter.path, problem, f"{allowed}, VarianceScaling uniform or truncated")


def _uniform(stream: int, shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
    return np.float32(low) + streams.uniform(stream, shape) * np.float32(high - low)


def _normal(stream: int, shape: tuple[int, ...], mean: float, spread: float) -> np.ndarray:
    return np.float32(mean) + streams.truncated_normal(stream, shape) * np.float32(spread)


def _variance(shape: tuple[int, ...], config: dict[str, Any]) -> float:
    # Keras's convention: the last two axes are inputs and outputs, and the others are a receptive field, unless the
    # layer names its axes.
    if config.get("input_axes") is not None:
        fans = [[shape[axis] for axis in config[axes]] for axes in ("input_axes", "output_axes")]
    elif len(shape) < 2:
        fans = [shape, shape]
    else:
        fans = [(*shape[:-2], shape[-2]), (*shape[:-2], shape[-1])]
    fan_in, fan_out = map(math.prod, fans)
    fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[config["mode"]]
    return config["scale"] / max(1.0, fan)
