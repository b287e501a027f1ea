"""The weights that a run keeps on its way: after each cycle, and after steps 1, 2, 4, 8, ...

Cycles are equal parts of a training, in each of which the learning rate falls to 0. The weights after every cycle but
the last are a run's snapshots; those after the last are its final weights. A diverged run has the snapshots of the
cycles completed before.

Recorded steps are before training, after steps 1, 2, 4, 8, ..., and at the end; weights and test logits are kept. A
recipe asks for them with `record_steps`. Two runs from equal starts can then be compared while they diverge, on a scale
on which growth by a power of the number of steps is a straight line.

In a file, what was kept of a tensor is stacked in one array under the tensor's path and a mark. No path ends like one,
because no tensor has an empty name. Logits are under `logits` and the mark: every path begins with the name of a layer.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from toolnoise.base.arrays import Rows
from toolnoise.datasets.prepared import Data
from toolnoise.engines import EpochResult, Weights
from toolnoise.engines.keras_engine import KerasEngine
from toolnoise.epoch_plan import Plan, cycle_length, steps_per_epoch
from toolnoise.study.entries import records_steps

OF_CYCLES, OF_STEPS = "/", "//"
LOGITS = "logits"
# The first test examples: with more, recording would take more than a twentieth of a short training.
EXAMPLES = 256


def snapshot_epochs(recipe: Mapping[str, Any], epochs: int) -> list[int]:
    """The epochs after which a run of `epochs` epochs has a snapshot."""
    return list(range(cycle_length(recipe), epochs, cycle_length(recipe)))


def packed(snapshots: Sequence[Mapping[str, np.ndarray]], mark: str = OF_CYCLES) -> dict[str, Rows]:
    """Kept weights as the arrays of a file, written row by row and never held in memory as such."""
    first = snapshots[0] if snapshots else {}
    return {
        path + mark: Rows((len(snapshots), *tensor.shape), tensor.dtype, [snapshot[path] for snapshot in snapshots])
        for path, tensor in first.items()
    }


def unpacked(packs: Mapping[str, np.ndarray], mark: str = OF_CYCLES) -> list[dict[str, np.ndarray]]:
    """The kept weights in such arrays, as views of them."""
    kept = min(map(len, packs.values()), default=0)
    return [{name.removesuffix(mark): pack[number, ...] for name, pack in packs.items()} for number in range(kept)]


def schedule(last: int) -> list[int]:
    """The numbers of steps after which a run of `last` steps records itself."""
    return [0, *(2**power for power in range(last.bit_length()) if 2**power < last), last]


class Recording:
    """What a run records of its steps: nothing unless its recipe asks for it.

    `recorded` has the tensors and logits of the steps so far, and grows.
    """

    def __init__(self, engine: KerasEngine, recipe: dict[str, Any], dataset: Data) -> None:
        self.engine = engine
        self.recorded: list[Weights] = []
        self.steps_per_epoch = steps_per_epoch(recipe, len(dataset.train))
        self.steps = schedule(recipe["epochs"] * self.steps_per_epoch) if records_steps(recipe) else []
        self.test = dataset.test.first(max(1, EXAMPLES // dataset.test.units))
        if self.steps:
            # XLA compiles for their number: now, not between two steps.
            engine.logits(self.test)

    def epoch(self, plan: Plan, before: int) -> EpochResult:
        """Train the epoch that follows `before` epochs."""
        if not self.steps:
            return self.engine.epoch(plan)
        if not self.recorded:
            self._record()
        at = [step - before * self.steps_per_epoch for step in self.steps]
        return self.engine.epoch(plan, [step for step in at if 0 < step <= self.steps_per_epoch], self._record)

    def about(self) -> dict[str, Any]:
        """What the record of the run says of them."""
        if not self.steps:
            return {}
        return {"steps_per_epoch": self.steps_per_epoch, "recorded_steps": self.steps[: len(self.recorded)]}

    def _record(self) -> None:
        self.recorded.append(self.engine.weights() | {LOGITS: self.engine.logits(self.test)})


def expected(record: Mapping[str, Any]) -> list[int]:
    """The steps that the run of this record has recorded: those of its recipe, up to its last epoch."""
    recipe = record["spec"]["recipe"]
    if not records_steps(recipe):
        return []
    each = record["steps_per_epoch"]
    return [step for step in schedule(recipe["epochs"] * each) if step <= record["epochs"] * each]
