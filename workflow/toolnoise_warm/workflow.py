"""The start and the end of a workflow's dispatcher. Snakemake calls these; they import next to nothing."""

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path

from toolnoise.base import program, scratch
from toolnoise_warm import VARIABLE, messages

# For a dispatcher to end, with its servers.
SECONDS_TO_END = 20.0
PREFIX = "toolnoise-warm-"
_started = contextlib.ExitStack()


def start() -> None:
    """Start a dispatcher for the jobs of this process, unless warm starts are off or they have one.

    It ends when this process ends, however that happens: it reads from a pipe that nobody else has. This process holds
    the folder of its socket. A dispatcher removes the folder at its end; if it is killed, the next start does.
    """
    # Only Linux says how many threads a process has, and gives descriptors of processes.
    if VARIABLE in os.environ or not (hasattr(os, "pidfd_open") and Path("/proc/self/task").exists()):
        return
    folder = _started.enter_context(scratch.folder(Path(tempfile.gettempdir()), PREFIX))
    address = f"{folder}/dispatcher"
    try:
        listener = messages.listening(address)
    except OSError:
        # Such as a temporary folder whose path is too long for a socket. The jobs' statements will have the reason.
        os.environ[VARIABLE] = address
        _started.callback(os.environ.pop, VARIABLE, None)
        return
    with listener:
        dispatcher = subprocess.Popen(
            program.python("toolnoise_warm.dispatcher", str(listener.fileno())),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
            start_new_session=True,
        )
    _started.callback(_end, dispatcher)
    os.environ[VARIABLE] = address


def stop() -> None:
    """End the dispatcher with its servers, and wait for that."""
    _started.close()


def _end(dispatcher: subprocess.Popen) -> None:
    os.environ.pop(VARIABLE, None)
    with contextlib.suppress(OSError):
        dispatcher.stdin.close()
    wait_or_kill(dispatcher, SECONDS_TO_END)


def wait_or_kill(process: subprocess.Popen, seconds: float) -> None:
    """Wait for the end of a process whose input has ended; one that is stopped would never come to it."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
