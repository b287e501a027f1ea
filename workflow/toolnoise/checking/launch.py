"""An existing program, started and seen to its end: no shell, a process group of its own, a log, a time limit.

Whatever ends this process, be it Ctrl-C, SIGTERM or SIGHUP, ends the program first, with all that it has started. If
this process is killed, the system kills the program, on Linux; what that has started may go on.
"""

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from toolnoise.base.children import end_with
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import span
from toolnoise.checking.redaction import Redaction

GRACE = 10  # seconds from SIGTERM to SIGKILL
LAST_LINES, LAST_BYTES = 3, 4096


def run(
    words: Sequence[str],
    variables: Mapping[str, str],
    log: str | Path,
    folder: str | Path = ".",
    limit: float | None = None,
    hidden: Mapping[str, str] | None = None,
) -> None:
    """Run a command to its end, at most `limit` seconds, and append what it prints to the log.

    The values of `hidden` are neither in the log nor in an error: their placeholders are.
    """
    log, redaction, code = Path(log), Redaction(hidden or {}), None
    name = redaction.text(words[0])
    with log.open("ab") as output, _stoppable(), redaction.into(output.fileno()) as printed:
        child = _started(words, variables, folder, printed, redaction)
        try:
            with suppress(subprocess.TimeoutExpired):
                code = child.wait(limit)
        finally:
            _end(child)
    if code is None:
        raise BadInput(name, "", f"still runs after {span(limit)}", f"a higher limit; {_last(log)}")
    if code:
        ended = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        raise BadInput(name, "", ended, _last(log))


def _started(
    words: Sequence[str], variables: Mapping[str, str], folder: str | Path, output: int, redaction: Redaction
) -> subprocess.Popen:
    try:
        return subprocess.Popen(
            list(words),
            cwd=folder,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            process_group=0,
            preexec_fn=functools.partial(end_with, os.getpid()),
        )
    except (OSError, ValueError) as error:
        name, why = redaction.text(words[0]), redaction.text(str(error))
        raise BadInput(name, "", f"cannot be started ({why})", "a program, on PATH or by its path") from None


@contextmanager
def _stoppable() -> Iterator[None]:
    """Signals that would end this process at once raise an exception instead, so that the program is ended, too."""

    def stop(number: int, _frame: FrameType | None) -> NoReturn:
        sys.exit(128 + number)

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number, handler in before.items():
        # Under nohup, SIGHUP stays ignored.
        if handler != signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(child: subprocess.Popen) -> None:
    """End a program that still runs, and its group."""
    if child.poll() is not None:
        return
    try:
        os.killpg(child.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            child.wait(GRACE)
    finally:
        # Also after a second Ctrl-C, and for those of the group that outlive its leader.
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _last(log: Path) -> str:
    """The last lines that a program printed, in one."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LAST_BYTES))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines() if line.strip()]
    return f"its last lines: {' | '.join(lines[-LAST_LINES:])}" if lines else "it printed nothing"
