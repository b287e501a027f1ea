"""Engines: the only modules that train with a framework, one for each framework, all with the same base class."""

import importlib
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.errors import BadInput

# The engines, each named after the module that it imports.
FRAMEWORKS = ("tensorflow", "jax", "torch")

Weights = dict[str, np.ndarray]


class State(NamedTuple):
    """All that training carries from step to step: weights, the optimiser's slots for each, steps done.

    Fresh training starts from `State(weights, {}, 0)`: with no slots given, all are zero.
    """

    weights: Weights
    slots: dict[str, Weights]
    step: int


class EpochResult(NamedTuple):
    """Mean training loss and accuracy over an epoch, measured during the epoch."""

    loss: float
    accuracy: float


def decay(path: str, recipe: dict[str, Any]) -> float:
    """The L2 coefficient of a trained tensor: this multiple of the tensor is added to its gradient."""
    spared = _kind(path) in ("gamma", "beta") and not recipe["decay_normalisation"]
    spared = spared or not {*path.split("/")}.isdisjoint(recipe.get("undecayed", ()))
    return 0 if spared else recipe["weight_decay"]


def rate_factor(path: str, recipe: dict[str, Any]) -> float:
    """The learning-rate multiplier of a trained tensor."""
    layer = path.rpartition("/")[0]
    scale_rate = 1 if layer in recipe.get("whole_scale_rate", ()) else recipe["scale_rate"]
    factors = {"bias": recipe["bias_rate"], "beta": recipe["bias_rate"], "gamma": scale_rate}
    return factors.get(_kind(path), 1)


def _kind(path: str) -> str:
    return path.rpartition("/")[2]


def load(name: str) -> Any:
    """The engine of that name, a `KerasEngine`; its framework is imported when it starts."""
    if name not in FRAMEWORKS:  # a statement from elsewhere may name any
        raise BadInput("engine", "", f"found {name!r}", f"one of {', '.join(FRAMEWORKS)}")
    return importlib.import_module(f"toolnoise.engines.{name}").Engine()
