"""Progress of long work on data: a bar on a terminal, an occasional line in a log or a pipe."""

import sys

from tqdm import tqdm

from toolnoise.base.printing import make_printable

# Away from a terminal: seconds until the first line, and between lines.
INTERVAL = 30


class _Lines:
    """The standard error without carriage returns: each state of a counter is a line."""

    def write(self, text: str) -> None:
        """Write a state; tqdm also writes empty ones, to erase its bar."""
        if text := text.strip():
            sys.stderr.write(f"{text}\n")

    def flush(self) -> None:
        """Show the written lines."""
        sys.stderr.flush()


def progress(what: str, total: int | None, unit: str, done: int = 0) -> tqdm:
    """A counter of `total` units, `done` of them already done; the caller updates and closes it."""
    options = {"desc": make_printable(what), "total": total, "initial": done, "unit": unit, "unit_scale": True}
    if sys.stderr.isatty():
        # A bar moves the cursor.
        return tqdm(**options, file=getattr(sys.stderr, "stream", sys.stderr), mininterval=1)
    of_total = "{n_fmt} of {total_fmt} {unit}" if total else "{n_fmt} {unit}"
    return tqdm(
        **options, file=_Lines(), bar_format=f"{{desc}}: {of_total}, {{rate_fmt}}", delay=INTERVAL, mininterval=INTERVAL
    )
