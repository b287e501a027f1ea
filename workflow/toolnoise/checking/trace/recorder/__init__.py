"""The recorder, which runs in the program's interpreter: it needs Python alone, and imports nothing of toolnoise.

The program's frameworks are hooked once the program has imported them. trace/traced_runs.py copies this folder, and the
program imports it as toolnoise_recorder.
"""

import os
import sys
import threading
from typing import Any

from toolnoise_recorder import imports, of_jax, of_lines, of_numpy, of_random, of_tensorflow, of_torch
from toolnoise_recorder.log import Log

FILE, WINDOW = "TOOLNOISE_TRACE", "TOOLNOISE_TRACE_WINDOW"
HOOKS = {
    "torch": of_torch.hook,
    "numpy": of_numpy.hook,
    "jax": of_jax.hook,
    "tensorflow": of_tensorflow.hook,
    "keras": of_tensorflow.hook_keras,
}


def start() -> None:
    """Record this process, if it is the first one of the program that computes; ranks other than 0 are not recorded."""
    path = os.environ.get(FILE, "")
    if not path or os.environ.get("RANK", "0") != "0":
        return
    first, _, end = os.environ.get(WINDOW, "0:0").partition(":")
    log = Log(path, range(int(first), int(end)), sys.modules)
    os.register_at_fork(before=log.flush, after_in_child=log.stop)
    _leave_out_threads(log)
    of_random.hook(log)
    imports.after(HOOKS, log)
    of_lines.start(log)


def _leave_out_threads(log: Any) -> None:
    """Leave out what happens in threads that start from now on: their operations have no order of their own."""
    started = threading.Thread._bootstrap_inner

    def start(thread: threading.Thread) -> None:
        log.leave_out()
        for call in log.in_threads:
            call()
        started(thread)

    threading.Thread._bootstrap_inner = start
