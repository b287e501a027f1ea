"""A metric of runs, from a CSV file with a line for each run: its value and, where there are columns, seed and time.

`read_runs_of_metric` is the only reader of such files for `compare --peek` and `gate`.
"""

from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.comparison import csv_columns
from toolnoise.comparison.tables.roles import SUMMARIES, is_index

# Names of columns, in small letters.
SEEDS = ("seed", "run", "replicate", "trial")
TIMES = ("started", "timestamp", "date", "created")
# In seconds since 1970; smaller numbers are durations.
FIRST_TIME = 1e9
EXACT = 2**53  # from here on, whole numbers are not exact as floats


class RunsOfMetric(NamedTuple):
    """The values of a metric in the order of the file; `seeds` and `times` are None without such a column."""

    file: str
    values: np.ndarray
    seeds: list[str] | None
    times: list[datetime] | None


def read_runs_of_metric(path: str, metric: str, *, timed: bool = False) -> RunsOfMetric:
    """The runs of a file, each with a finite value; their times are read only if they matter."""
    table = csv_columns.read(path, None, "runs")
    columns = dict(zip(table.names, table.columns, strict=True)) if table.names else {}
    if metric not in columns:
        named = ", ".join(table.names) or "no names"
        raise BadInput(path, f"column {metric}", f"found {named}", "a column of this name, with a line for each run")
    values = columns[metric]
    if values.dtype.kind != "f" or not (np.abs(values) <= csv_columns.LARGEST).all():
        raise BadInput(path, f"column {metric}", "found what is no finite number", "a number for each run")
    seeds, times = (
        next((column for name, column in columns.items() if name.lower() in names and name != metric), None)
        for names in (SEEDS, TIMES)
    )
    index = next((column for name, column in columns.items() if is_index(name)), ())
    seeds = None if seeds is None else _seeds(path, seeds)
    for named in [*(seeds or ()), *map(str, index)]:
        if named.strip().lower() in SUMMARIES:
            raise BadInput(path, "the column of seeds", f"found {named}, which sums up runs", "a line for each run")
    if seeds and len(set(seeds)) < len(seeds):
        twice = next(seed for place, seed in enumerate(seeds) if seed in seeds[:place])
        raise BadInput(path, "the column of seeds", f"found {twice} twice", "a line for each run")
    if not timed or times is None or (times.dtype.kind == "f" and (times < FIRST_TIME).all()):
        return RunsOfMetric(path, values, seeds, None)
    return RunsOfMetric(path, values, seeds, [_time(path, time) for time in times.tolist()])


def _seeds(path: str, column: np.ndarray) -> list[str]:
    """Seeds as texts, whole numbers without a fraction; numbers that floats round are refused."""
    if column.dtype.kind != "f":
        return [str(seed) for seed in column]
    if (np.abs(column) >= EXACT).any():
        raise BadInput(path, "the column of seeds", f"found {np.abs(column).max():.0f}, rounded", f"below {EXACT}")
    return [f"{seed:.17g}" for seed in column]


def _time(path: str, written: float | str) -> datetime:
    """A time in ISO 8601, taken for UTC without a zone, or in seconds since 1970."""
    try:
        if isinstance(written, float):
            return datetime.fromtimestamp(written, UTC)
        time = datetime.fromisoformat(written)
        return time if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        allowed = "ISO 8601, such as 2026-01-31T12:00Z, or seconds since 1970"
        raise BadInput(path, "the column of times", f"found {written}", allowed) from None
