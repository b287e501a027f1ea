"""How many jobs of a study started warm, and how many cold though a warm server was asked: that costs time unseen.

Jobs that start cold by design, such as the first run of each Control cell, are counted in neither number.
"""

import contextlib
import heapq
from pathlib import Path

from toolnoise.base.errors import BadInput
from toolnoise.record import statements
from toolnoise_warm import FAILED

WARM, COLD = "warm", f"cold: {FAILED}"


def in_one_line(folder: Path, since: float = 0.0, most: int | None = None) -> str:
    """A line if a warm start failed, among the statements in a study's folder; else an empty text.

    Counted are statements written since a time in seconds, and of these the newest `most`.
    """
    written: dict[Path, float] = {}
    for path in (folder / statements.FOLDER).rglob(f"*{statements.SUFFIX}"):
        # Jobs may replace their statements meanwhile.
        with contextlib.suppress(OSError):
            written[path] = path.stat().st_mtime
    newest = heapq.nlargest(most or len(written), written, key=written.__getitem__)
    jobs = []
    for path in newest:
        # The audit reports a damaged statement.
        with contextlib.suppress(BadInput, OSError):
            if written[path] >= since:
                jobs.append(statements.read(path))
    failed = [job for job in jobs if job.process.startswith(COLD)]
    if not failed:
        return ""
    warm = sum(job.process == WARM for job in jobs)
    of = f"of the last {most} jobs, " if most and len(written) > most else ""
    reason = min(failed, key=lambda job: job.started).process.removeprefix(COLD)
    return f"{of}{warm} started warm and {len(failed)} cold though a warm server was asked for; the first: {reason}"
