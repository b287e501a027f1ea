"""The runs of a loop of changes, in the order in which they were made: a table with a line a run, or a log.

A table has a column that says the change and one of the metric; autoresearch loops also write a status, of which a
crash counts. A log has lines `METRIC name=value`: one that says the change begins a run.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.base.files import readable
from toolnoise.comparison.known_names import FAILED, FINISHED, SEEDS, STATES, STEPS
from toolnoise.comparison.known_names import UNFINISHED as NOT_FINISHED
from toolnoise.comparison.metric_layouts import BLANK, Frame, numbers_of
from toolnoise.comparison.metric_names import column_named, listed, plain
from toolnoise.comparison.table_files import ENCODING, as_frame, has_names, read_csv

# Names of the column that says the change; the first that the table has.
CHANGES = ("change", "candidate", "patch", "idea", "commit", "sha", "revision", "variant", "name", "id")
CRASHED = FAILED | {"crash", "oom"}
UNFINISHED = NOT_FINISHED - FAILED - {""}
STATUSES = FINISHED | NOT_FINISHED | CRASHED | {"keep", "kept", "discard", "discarded", "drop", "dropped", "baseline"}
METRIC_LINE = re.compile(r"^\s*METRIC\s+([^\s=]+)\s*=[ \t]*(.*?)\s*$", re.MULTILINE)


class LoopRuns(NamedTuple):
    """The change of each run, its value or NaN if it crashed, and the name of the column that says the change."""

    changes: list[str]
    values: np.ndarray
    column: str


def read_loop_table(path: str, metric: str, by: str | None) -> Frame:
    """The table or the log in a file as columns of texts."""
    with readable(path, "text"):
        logged = METRIC_LINE.findall(Path(path).read_text(ENCODING))
    if logged:
        return _table_of_log(path, logged, metric, by)
    table = read_csv(path, "runs", repeated=True, typed=False)
    if not has_names(table):
        raise BadInput(path, "line 1", "found no names", "names of columns, such as change and val_loss")
    return Frame(path, table)


def loop_table_of_frame(table: Any) -> Frame:
    """A DataFrame of pandas or polars as columns of texts."""
    if len({*table.columns}) < len(table.columns):
        raise BadInput("table", "", "found a column twice", "each once")
    names = list(map(str, table.columns))
    return Frame("table", as_frame(names, [np.array([*map(str, table[name])], object) for name in table.columns]))


def _table_of_log(path: str, logged: Sequence[tuple[str, str]], metric: str, by: str | None) -> Frame:
    """The lines of a log as a table: one that says the change begins a run, which has one value of the metric."""
    names = list(dict.fromkeys(name for name, _ in logged))
    change = _column_of_changes(path, names, by)
    runs: list[dict[str, str]] = []
    for name, value in logged:
        if name == change:
            runs.append({})
        if not runs or (name == metric and name in runs[-1]):
            raise BadInput(path, metric, f"found METRIC {name}={value}", f"METRIC {change}=... before each run")
        runs[-1][name] = value
    return Frame(path, as_frame(names, [np.array([run.get(name, "") for run in runs], object) for name in names]))


def runs_of_loop(table: Frame, metric: str, by: str | None, needed: int) -> LoopRuns:
    """The runs in a table of texts; so many runs of a change that are all equal are refused."""
    column = _column_of_changes(table.path, table.names, by)
    measured = column_named(table.path, table.names, metric, "metric")
    if measured == column:
        raise BadArgument("metric", f"found {column}, which says the change", "another column", table.path)
    changes = [str(cell).strip() for cell in table.column(column)]
    for line, change in enumerate(changes):
        if change.lower() in BLANK | {"nan"}:
            raise BadInput(table.where(line), column, "found no change", "its name in each line")
    _require_a_line_a_run(table, changes)
    statuses = _statuses(table)
    # What a loop writes for a run that crashed, such as 0.000000, is no value.
    texts = np.where(np.isin(statuses, [*CRASHED]), "", table.column(measured)).astype(object)
    numbers, _ = numbers_of(Frame(table.path, table.cells.assign(**{measured: texts})), measured)
    done = ~np.isin(statuses, [*UNFINISHED])
    values = np.where(np.isfinite(numbers), numbers, math.nan)[done]
    changes = [change for change, each in zip(changes, done, strict=True) if each]
    for change in dict.fromkeys(changes):
        first = values[[each == change for each in changes]][:needed]
        if len(first) == needed and (first == first[0]).all():
            raise BadInput(table.path, measured, f"found {needed} equal runs of {change}", "runs with different seeds")
    return LoopRuns(changes, values, column)


def _statuses(table: Frame) -> list[str]:
    """The status of each run in small letters, empty without such a column."""
    name = next((name for name in table.names if plain(name) in STATES), None)
    if name is None:
        return [""] * table.lines
    statuses = [str(cell).strip().lower() for cell in table.column(name)]
    for line, status in enumerate(statuses):
        if status not in STATUSES:
            raise BadInput(table.where(line), name, f"found {status!r}", "keep, discard or crash")
    return statuses


def _column_of_changes(path: str, names: list[str], by: str | None) -> str:
    """The column that says the change, as asked or by its name."""
    if by is not None:
        return column_named(path, names, by, "by")
    known = [plain(name) for name in names]
    name = next((name for name in CHANGES if name in known), None)
    if name is None:
        what = f"found no column that says the change in {listed(names)}"
        raise BadArgument("by", what, f"the name of one (known: {', '.join(CHANGES)})", path)
    return names[known.index(name)]


def _require_a_line_a_run(table: Frame, changes: list[str]) -> None:
    """Refuse several lines of one run, steps or a seed again, and several lines in a cell."""
    for name, column in zip(table.names, table.columns, strict=True):
        if any("\n" in str(cell) for cell in column):
            raise BadInput(table.path, name, "found a cell of several lines", "a line a run, and each quote closed")
        cells = [cell for cell in zip(changes, map(str, column), strict=True) if cell[1].lower() not in BLANK]
        if plain(name) in SEEDS and len(set(cells)) < len(cells):
            change, seed = next(cell for place, cell in enumerate(cells) if cell in cells[:place])
            raise BadInput(table.path, name, f"found {seed} twice for {change}", "another seed for each run")
        if plain(name) in STEPS and len(set(cells)) > len({change for change, _ in cells}):
            raise BadInput(table.path, name, "found several steps of a change", "a line a run, with its last value")
