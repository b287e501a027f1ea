"""The start and the end of a workflow's dispatcher. Snakemake calls these; they import next to nothing."""

import contextlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from toolnoise.base import program
from toolnoise.warm import VARIABLE, messages

_started: list[subprocess.Popen] = []


def start() -> None:
    """Start a dispatcher for the jobs of this process, unless warm starts are off or they have one.

    It ends when this process ends, however that happens: it reads from a pipe that nobody else has.
    """
    # Only Linux says how many threads a process has, and gives descriptors of processes.
    if VARIABLE in os.environ or not (hasattr(os, "pidfd_open") and Path("/proc/self/task").exists()):
        return
    folder = tempfile.mkdtemp(prefix="toolnoise-")
    address = f"{folder}/dispatcher"
    try:
        listener = messages.listening(address)
    except OSError:
        # Such as a temporary folder whose path is too long for a socket.
        shutil.rmtree(folder)
        return
    with listener:
        command = program.python("toolnoise.warm.dispatcher", str(listener.fileno()))
        _started.append(
            subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                pass_fds=[listener.fileno()],
                start_new_session=True,
            )
        )
    os.environ[VARIABLE] = address


def stop() -> None:
    """End the dispatcher with its servers, and wait for that."""
    while _started:
        dispatcher = _started.pop()
        os.environ.pop(VARIABLE, None)
        with contextlib.suppress(OSError):
            dispatcher.stdin.close()
        dispatcher.wait()
