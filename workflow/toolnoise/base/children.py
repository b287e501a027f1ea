"""Processes that end with the one that started them, however that one ends."""

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def end_with(parent: int) -> None:
    """Have the system kill this process when the thread of `parent` that started it ends; only Linux can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        # It may have ended before.
        if os.getppid() != parent:
            os._exit(1)
