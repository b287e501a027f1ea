"""Progress of long work on data: a bar on a terminal, an occasional line in a log."""

import sys

from tqdm import tqdm


def progress(what: str, total: int | None, unit: str, done: int = 0) -> tqdm:
    """A counter of `total` units, `done` of them already done; the caller updates and closes it."""
    seconds = 1 if sys.stderr.isatty() else 30
    return tqdm(desc=what, total=total, initial=done, unit=unit, unit_scale=True, mininterval=seconds)
