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
from toolnoise.epoch_plan import cycle_length
from toolnoise.study.entries import records_steps

OF_CYCLES, OF_STEPS = "/", "//"
LOGITS = "logits"


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


def expected(record: Mapping[str, Any]) -> list[int]:
    """The steps that the run of this record has recorded: those of its recipe, up to its last epoch."""
    recipe = record["spec"]["recipe"]
    if not records_steps(recipe):
        return []
    each = record["steps_per_epoch"]
    return [step for step in schedule(recipe["epochs"] * each) if step <= record["epochs"] * each]
