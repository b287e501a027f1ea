"""The state of a program at its save, and at the same line after it has resumed: seen from within its process.

It runs in the program's own interpreter: it needs Python alone, and imports nothing of toolnoise. `forgotten_state.py`
injects it as toolnoise_state, and compares what two processes wrote.

A save is a file that is written within a loop. The line that counts is the first of the loop's body, when it is reached
next: there, the process that saves writes its state and ends. A process that resumes writes its state when it first
reaches that line after it has read what was saved, and when it is at the same place in its loops.
"""

import json
import os
import sys
from pathlib import Path


def start() -> None:
    """Observe this process, if the environment asks for it; ranks other than 0 are not observed."""
    task = os.environ.get("TOOLNOISE_STATE")
    if not task or os.environ.get("RANK", "0") != "0":
        return
    # These import modules of Python's library: a process that is not observed does without.
    from toolnoise_state.process import Finder, Observer

    observer = Observer(json.loads(Path(task).read_text()))
    sys.addaudithook(observer.heard)
    sys.meta_path.insert(0, Finder(observer))
