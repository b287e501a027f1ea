"""An experiment: threads and pieces of work run one after another, in the order in which they are started."""

import concurrent.futures
import multiprocessing.pool
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

PATIENCE = 20.0  # seconds that a thread may take until the next one starts: it may wait for another


def install() -> None:
    """Let each thread end before the one that has started it goes on."""
    start, submit = threading.Thread.start, concurrent.futures.ThreadPoolExecutor.submit

    def start_and_wait(thread: threading.Thread) -> None:
        start(thread)
        if not thread.daemon:
            thread.join(PATIENCE)

    def submit_and_wait(pool: Any, function: Callable, /, *args: Any, **kwargs: Any) -> Any:
        threading.Thread.start = start
        try:
            future = submit(pool, function, *args, **kwargs)
        finally:
            threading.Thread.start = start_and_wait
        concurrent.futures.wait([future], PATIENCE)
        return future

    def in_order(futures: Iterable[Any], timeout: float | None = None) -> Iterator[Any]:
        for future in list(futures):
            concurrent.futures.wait([future], timeout)
            yield future

    threading.Thread.start = start_and_wait
    concurrent.futures.ThreadPoolExecutor.submit = submit_and_wait
    concurrent.futures.as_completed = concurrent.futures._base.as_completed = in_order
    multiprocessing.pool.Pool.imap_unordered = multiprocessing.pool.Pool.imap
