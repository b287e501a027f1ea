"""Processes that end with the one that started them, however that one ends."""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def end_with(parent: int, number: int = signal.SIGKILL) -> None:
    """Have the system signal this process when the thread of `parent` that started it ends; only Linux can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)
        # It may have ended before.
        if os.getppid() != parent:
            os._exit(1)
