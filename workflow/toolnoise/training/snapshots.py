"""Cycles: equal parts of a training, in each of which the learning rate falls to 0, and the weights at their ends.

The weights after every cycle but the last are a run's snapshots; those after the last are its final weights. A diverged
run has the snapshots of the cycles completed before. In a file, the snapshots of a tensor are stacked in one array
under the tensor's path and a "/": no path ends like this, because no tensor has an empty name.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from toolnoise.base.arrays import Rows
from toolnoise.epoch_plan import cycle_length

MARK = "/"


def snapshot_epochs(recipe: Mapping[str, Any], epochs: int) -> list[int]:
    """The epochs after which a run of `epochs` epochs has a snapshot."""
    return list(range(cycle_length(recipe), epochs, cycle_length(recipe)))


def packed(snapshots: Sequence[Mapping[str, np.ndarray]], mark: str = MARK) -> dict[str, Rows]:
    """Snapshots as the arrays of a file, written row by row and never held in memory as such."""
    first = snapshots[0] if snapshots else {}
    return {
        path + mark: Rows((len(snapshots), *tensor.shape), tensor.dtype, [snapshot[path] for snapshot in snapshots])
        for path, tensor in first.items()
    }


def unpacked(packs: Mapping[str, np.ndarray], mark: str = MARK) -> list[dict[str, np.ndarray]]:
    """The snapshots in such arrays, as views of them."""
    kept = min(map(len, packs.values()), default=0)
    return [{name.removesuffix(mark): pack[number, ...] for name, pack in packs.items()} for number in range(kept)]
