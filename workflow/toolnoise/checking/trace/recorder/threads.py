"""Threads that the program starts: their operations have no order of their own, and are not recorded as such."""

import threading
from typing import Any


def hook(log: Any) -> None:
    """Leave out what happens in threads that start from now on."""
    started = threading.Thread._bootstrap_inner

    def start(thread: threading.Thread) -> None:
        log.leave_out()
        for call in log.in_threads:
            call()
        started(thread)

    threading.Thread._bootstrap_inner = start
