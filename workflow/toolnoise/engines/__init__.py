"""Engines: the only place that trains with a framework, one module for each, all with one small protocol."""

import importlib
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from toolnoise.datasets.prepared import Split
from toolnoise.epoch_plan import Plan
from toolnoise.models.initial import Parameter

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


class Engine(Protocol):
    """The protocol that training needs of a framework. One engine serves one process and one model.

    `forks` says whether a process that has imported the framework for a CPU, and nothing more, can be forked.
    """

    forks: bool

    def variables(self, tooling: dict[str, Any], deterministic: bool) -> dict[str, str]:
        """The environment variables that a tooling sets for the framework; the framework need not be installed."""

    def import_ahead(self, tooling: dict[str, Any], deterministic: bool) -> None:
        """Import the framework as `start` would, in a process that forks a child for each run."""

    def start(self, tooling: dict[str, Any], deterministic: bool) -> dict[str, Any]:
        """Import and configure the framework; return what was observed of machine and framework."""

    def build(
        self, builder: Callable[..., Any], options: dict[str, Any], shape: tuple[int, ...], classes: int
    ) -> tuple[Parameter, ...]:
        """Build the network and return its tensors, in the order of its layers."""

    def has_dropout(self) -> bool:
        """Whether the network drops anything out."""

    def compile(self, recipe: dict[str, Any], train: Split) -> None:
        """Compile the epoch, and put the training set on the device unless it is streamed."""

    def restore(self, state: State) -> None:
        """Take weights, slots and step from `state`."""

    def epoch(self, plan: Plan, at: Collection[int] = (), then: Callable[[], None] = lambda: None) -> EpochResult:
        """Train one epoch: in one compiled call, or in one for each part of streamed data.

        After each number of its steps in `at` the state is that of so many steps, and `then` is called, which must not
        change it. The epoch ends with the same bits as without.
        """

    def logits(self, split: Split) -> np.ndarray:
        """Logits of the current network on the middle of every image, float32."""

    def layers(self) -> dict[str, int]:
        """Every layer with weights of its own, in the order of computation, and the size of its output for one image.

        Nested layers count, their containers do not. A layer that computes twice is listed twice.
        """

    def activations(self, split: Split, layers: Sequence[str]) -> list[np.ndarray]:
        """The output of each of these layers on every image's middle, for the current network: [example, number],
        float32.

        A layer's own activation function is included. The bits are as reproducible as those of `logits`, for the same
        layers.
        """

    def weights(self) -> Weights:
        """A copy of every tensor, in the order of the layers."""

    def state(self) -> State:
        """A copy of weights, slots and step."""


def decay(path: str, recipe: dict[str, Any]) -> float:
    """The L2 coefficient of a trained tensor: its multiple that is added to its gradient."""
    spared = _kind(path) in ("gamma", "beta") and not recipe["decay_normalisation"]
    return 0 if spared else recipe["weight_decay"]


def rate_factor(path: str, recipe: dict[str, Any]) -> float:
    """The learning-rate multiplier of a trained tensor."""
    factors = {"bias": recipe["bias_rate"], "beta": recipe["bias_rate"], "gamma": recipe["scale_rate"]}
    return factors.get(_kind(path), 1)


def _kind(path: str) -> str:
    return path.rpartition("/")[2]


def load(name: str) -> Engine:
    """The engine of that name; its framework is imported when it starts."""
    return importlib.import_module(f"toolnoise.engines.{name}").Engine()
