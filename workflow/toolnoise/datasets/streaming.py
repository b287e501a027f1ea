"""Streams data too large for memory: reads and normalises the images of a few steps ahead, in the planned order."""

from collections.abc import Iterator

import numpy as np

from toolnoise.datasets.prefetch import map_ahead
from toolnoise.datasets.prepared import Split
from toolnoise.epoch_plan import Plan

# Bytes of float32 images in one part, which has at least one step. Three parts exist at once: one in use and one per
# thread.
PART_BYTES = 256 << 20
THREADS = 2


def steps_in_part(train: Split, batch: int) -> int:
    """The number of steps of `batch` images in a part; the last part of an epoch may have fewer."""
    return max(1, PART_BYTES // (batch * 4 * int(np.prod(train.pixels.shape[1:]))))


def parts_of_epoch(train: Split, plan: Plan) -> Iterator[tuple[np.ndarray, np.ndarray, Plan]]:
    """Cut an epoch into parts of whole steps: images, labels and a plan whose `order` indexes these images."""
    length = steps_in_part(train, plan.order.shape[1])

    def read(start: int) -> tuple[np.ndarray, np.ndarray, Plan]:
        part = plan.steps(start, start + length)
        chosen = part.order.ravel()
        renumbered = np.arange(chosen.size, dtype=part.order.dtype).reshape(part.order.shape)
        return train.take(chosen, part.boxes), train.targets[chosen], part._replace(order=renumbered)

    return map_ahead(read, range(0, len(plan.order), length), THREADS)
