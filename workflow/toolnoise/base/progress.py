"""Progress of long work on data: a bar on a terminal, a line now and then in a log."""

import sys

from tqdm import tqdm


def progress(what: str, total: int | None, unit: str, done: int = 0) -> tqdm:
    """A counter of so many units, of which some are done already; to be updated and closed."""
    seconds = 1 if sys.stderr.isatty() else 30
    return tqdm(desc=what, total=total, initial=done, unit=unit, unit_scale=True, mininterval=seconds)
