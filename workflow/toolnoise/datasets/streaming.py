"""Data too large for memory: the images of a few steps at a time, in the planned order, read and normalised ahead."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np

from toolnoise.datasets.prepared import Split
from toolnoise.epoch_plan import Plan

# Bytes of float32 images in one part, which has at least one step. Three parts exist at once: one in use and one per
# thread.
PART_BYTES = 256 << 20
THREADS = 2
Item = TypeVar("Item")
Result = TypeVar("Result")


def ahead(function: Callable[[Item], Result], items: Iterable[Item], threads: int = 1) -> Iterator[Result]:
    """`function(item)` for each item, in order; at most one result per thread is in the making or waiting."""
    pending: deque[Future[Result]] = deque()
    pool, user = ThreadPoolExecutor(threads), threading.get_ident()
    try:
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) > threads:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        # Who left the loop waits for what is being made. What is collected as garbage may be so by one of the pool's
        # own threads, which cannot wait for itself.
        pool.shutdown(wait=threading.get_ident() == user, cancel_futures=True)


def steps_in_part(train: Split, batch: int) -> int:
    """The number of steps of `batch` images in a part; the last part of an epoch may have fewer."""
    return max(1, PART_BYTES // (batch * 4 * int(np.prod(train.pixels.shape[1:]))))


def parts(train: Split, plan: Plan) -> Iterator[tuple[np.ndarray, np.ndarray, Plan]]:
    """Cut an epoch into parts of whole steps: images, labels and a plan whose `order` indexes these images."""
    length = steps_in_part(train, plan.order.shape[1])

    def read(start: int) -> tuple[np.ndarray, np.ndarray, Plan]:
        part = plan.steps(start, start + length)
        chosen = part.order.ravel()
        renumbered = np.arange(chosen.size, dtype=part.order.dtype).reshape(part.order.shape)
        return train.take(chosen, part.boxes), train.targets[chosen], part._replace(order=renumbered)

    return ahead(read, range(0, len(plan.order), length), THREADS)
