"""Work done ahead of who needs it: threads make the next results while the last ones are used."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def ahead(function: Callable[[Item], Result], items: Iterable[Item], threads: int = 1) -> Iterator[Result]:
    """`function(item)` of each item, in order; beyond the result in use at most one a thread is made or waits."""
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
