"""Prefetching: threads compute the next results while the current one is used."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_ahead(function: Callable[[Item], Result], items: Iterable[Item], threads: int = 1) -> Iterator[Result]:
    """`function(item)` for each item, in order; ahead of the current one, at most one result per thread is computed."""
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
        # The user's thread waits for the calls that still run. Garbage collection may run this in one of the pool's own
        # threads, which cannot wait for itself.
        pool.shutdown(wait=threading.get_ident() == user, cancel_futures=True)
