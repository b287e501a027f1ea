"""The log of a job: no result, so a full disk under it ends no job; and whether it says why the job failed."""

import io
import os
import re
import sys
from pathlib import Path

from toolnoise.base.files import require_plain
from toolnoise.base.printing import Plain

# The last line of a job that ended by itself: a refusal, or an exception.
SAID = re.compile(r"toolnoise: |[A-Za-z_][\w.]*(Error|Exception|Interrupt|Warning)\b")
TRACEBACK = "Traceback (most recent call last):"
TAIL_BYTES = 8192
SILENT = "it ended without a message, as a job does that is killed"


class _Lossy(io.FileIO):
    """A stream that drops what it cannot write."""

    def write(self, data: bytes) -> int:  # type: ignore[override]
        try:
            return super().write(data)
        except OSError:
            return len(data)


def may_be_lost() -> None:
    """From now on, this process goes on if what it prints cannot be written."""
    for name in ("stdout", "stderr"):
        shown = getattr(sys, name)
        stream = shown.stream if isinstance(shown, Plain) else shown
        # Not what a test or a notebook has put there.
        if stream is getattr(sys, f"__{name}__"):
            stream.flush()
            lossy = io.BufferedWriter(_Lossy(stream.fileno(), "w", closefd=False))
            errors = stream.errors or "strict"
            wrapped = io.TextIOWrapper(lossy, stream.encoding, errors, line_buffering=True)
            if isinstance(shown, Plain):
                shown.stream = wrapped
            else:
                setattr(sys, name, wrapped)


def tail(path: str | Path) -> str:
    """The end of a log, which may be large."""
    require_plain(path)
    with Path(path).open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
        return file.read().decode(errors="replace")


def silent_end(text: str) -> str:
    """What to say of a log that does not end with why its job failed; often it ends with a library's greeting."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return f"its log is empty: {SILENT}, or the disk under it is full"
    return "" if SAID.match(lines[-1]) or TRACEBACK in lines else SILENT
