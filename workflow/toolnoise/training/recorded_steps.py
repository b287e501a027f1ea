"""Recorded steps: a run's weights and test logits before training, after steps 1, 2, 4, 8, ..., and at the end.

A recipe asks for them with `record_steps`. Two runs from equal starts can then be compared while they diverge, on a
scale on which growth by a power of the number of steps is a straight line.

In a file, what was recorded of a tensor is stacked in one array under the tensor's path and "//", and the logits under
`logits//`: no path ends like this, and every path begins with the name of a layer.
"""

from collections.abc import Mapping
from typing import Any

from toolnoise.datasets.prepared import Data
from toolnoise.engines import EpochResult, Weights
from toolnoise.engines.keras_engine import KerasEngine
from toolnoise.epoch_plan import Plan, steps_per_epoch
from toolnoise.study.entries import records_steps

MARK, LOGITS = "//", "logits"
# The first test examples: with more, recording would take more than a twentieth of a short training.
EXAMPLES = 256


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
