"""The two ways in which JAX trains the runs of a block: in turn, or all at once.

In turn, each run is trained by the program of a process of its own, compiled once. At once, `vmap` makes one step of
all: their weights, slots and plans are stacked along an axis of their own.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from toolnoise.base.arrays import bit_equal
from toolnoise.engines import EpochResult, State
from toolnoise.engines.formulas import BETA_1, BETA_2
from toolnoise.engines.jax import Engine
from toolnoise.engines.keras_engine import Chunk, Sums
from toolnoise.epoch_plan import Plan


class InTurn(Engine):
    """Trains one run after another."""

    def at_once(self) -> int:
        """The number of runs that it trains at the same time."""
        return 1

    def restore_all(self, states: Sequence[State]) -> None:
        """Take the states of the next runs."""
        (state,) = states
        self.restore(state)

    def epochs(self, plans: Sequence[Plan]) -> list[EpochResult]:
        """Train an epoch of each run."""
        return [self.epoch(plan) for plan in plans]

    def show(self, place: int) -> None:
        """From now on, `scores` and `weights` are those of the run at this place."""

    def differing_copy(self) -> str:
        """The first tensor in which a copy of a run differs from it, if any."""
        return ""


class AtOnce(Engine):
    """Trains as many runs as its tooling has replicas in one compiled step.

    Fewer runs are filled up with copies of them, so that the program is the same whatever their number.
    """

    def at_once(self) -> int:
        """The number of runs that it trains at the same time."""
        return self.tooling["replicas"]

    def restore_all(self, states: Sequence[State]) -> None:
        """Take the states of the next runs."""
        self.runs = len(states)
        filled = self._filled_up(states)
        stack = self.jax.numpy.stack
        self.stacked = {path: stack([state.weights[path] for state in filled]) for path in states[0].weights}
        zeros = self.jax.numpy.zeros_like
        self.slots = {slot: {path: zeros(self.stacked[path]) for path in self.trainable} for slot in self.slots}
        self.step = 0

    def epochs(self, plans: Sequence[Plan]) -> list[EpochResult]:
        """Train an epoch of each run."""
        copies = self.at_once()
        sums = Sums(np.zeros(copies, np.float32), np.zeros(copies, np.int32))
        self.tensors = self.stacked
        for parts in zip(*(plan.parts() for plan in self._filled_up(plans)), strict=True):
            steps = self.step + 1 + np.arange(len(parts[0].order))
            rates = np.stack([parts[0].rates, BETA_1**steps, BETA_2**steps], axis=1).astype(np.float32)
            sums = self._train(Chunk(*self.held, _stacked(parts), steps.astype(np.uint32), rates), sums)
            self.step += len(steps)
        self.stacked = self.tensors
        trained = plans[0].parts()
        steps, units = sum(len(part.order) for part in trained), sum(part.order.size for part in trained)
        means = zip(sums.loss / np.float64(steps), sums.correct / (units * self.train.units), strict=True)
        return [EpochResult(float(loss), float(accuracy)) for loss, accuracy in means][: self.runs]

    def show(self, place: int) -> None:
        """From now on, `scores` and `weights` are those of the run at this place."""
        self.tensors = {path: values[place] for path, values in self.stacked.items()}

    def differing_copy(self) -> str:
        """The first tensor in which a copy of a run differs from it, if any."""
        for path, values in self.stacked.items():
            read = self._read(values)
            if not all(bit_equal(read[place], read[place % self.runs]) for place in range(self.runs, len(read))):
                return path
        return ""

    def _compile(self) -> None:
        self._loops = self.tooling["accelerator"] != "cpu"
        # The axis of the runs: first in what a step carries and in the keys of dropout, second in what is planned.
        planned = [1, 1, 1, 1, None, None]
        self._one = super()._step
        self._all = self.jax.vmap(self._one, in_axes=(0, None, planned, None, None, 0, None))
        self._advance = self.jax.jit(self._loop if self._loops else self._step, donate_argnums=0)

    def _step(self, *given):  # noqa: ANN002, ANN202 (symbolic arrays)
        return self._all(*given)

    def _filled_up(self, values: Sequence[Any]) -> list[Any]:
        return [values[place % len(values)] for place in range(self.at_once())]


def of(tooling: dict[str, Any]) -> InTurn | AtOnce:
    """The engine of a tooling with replicas."""
    return AtOnce() if tooling.get("at_once") else InTurn()


def _stacked(plans: Sequence[Plan]) -> Plan:
    """The plans of a step of several runs: theirs along the second axis, and the common rates."""
    drawn = (
        np.stack([getattr(plan, name) for plan in plans], axis=1) for name in ("order", "offsets", "flips", "slots")
    )
    return Plan(*drawn, np.stack([plan.dropout for plan in plans]), plans[0].rates)
