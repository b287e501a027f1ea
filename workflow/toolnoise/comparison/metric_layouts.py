"""Tables of metrics of every layout as one: a line a run or a step, with columns of names and of metrics.

W&B exports a chart with a column a run, TensorBoard a file a run, MLflow's page a line a value; people write a model a
line with a column a seed, or a column a model. What is a metric in these is said by the user: `metric`.
"""

import difflib
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.comparison import table_files
from toolnoise.comparison.known_names import ASIDE, INDEX, METRICS, OF_LINES
from toolnoise.comparison.metric_names import is_meant, listed, plain, words_of
from toolnoise.comparison.table_files import LARGEST, LINE, as_frame, is_number

if TYPE_CHECKING:
    import pandas as pd

# Cells that stand for nothing, as spreadsheets and loggers write them.
BLANK = {"", "-", "none", "null", "n/a", "na", "<na>"}
TENSORBOARD = ["Wall time", "Step", "Value"]
TAG = re.compile(r"[-_]tag[-_](.+)\.csv$")
EXTREMES = re.compile(r"__(MIN|MAX)$")
GROUPED = re.compile(r"(Group|Name|[\w.]+): ")
RUN_WORDS = {"run", "rep", "replicate", "replica", "trial", "r"}
NUMBERED = re.compile(
    r"(?P<word>seed|run|replicate|replica|rep|trial|s|r)?[\s_\-]*(?P<number>\d+)", re.IGNORECASE | re.ASCII
)
A_LINE_A_VALUE = "a line a value"
MODEL, SEED, RUN, STEP = "model", "seed", "run", "step"


class Frame(NamedTuple):
    """A table: what its file is called, and its columns of numbers, of texts, or of True and False."""

    path: str
    cells: "pd.DataFrame"

    @property
    def names(self) -> list[str]:
        """The names of the columns, empty without names."""
        return list(self.cells.columns)

    @property
    def lines(self) -> int:
        """The number of lines below the names."""
        return len(self.cells)

    @property
    def columns(self) -> list[np.ndarray]:
        """The columns in their order."""
        return [self.cells.iloc[:, place].to_numpy() for place in range(len(self.names))]

    def column(self, name: str) -> np.ndarray:
        """The column of this name, which must be the only one."""
        if self.names.count(name) > 1:
            raise BadInput(self.path, name, f"found {self.names.count(name)} columns of this name", "one")
        return self.cells[name].to_numpy()

    def texts(self, name: str) -> list[str]:
        """The cells of a column as texts."""
        return texts(self.column(name))

    def where(self, line: int) -> str:
        """The file, and a line by its number in it, if the lines are the file's and no cell has several."""
        return f"{self.path}: line {self.cells.index[line]}" if self.cells.index.name == LINE else self.path

    def turned(self, names: list[str], columns: list[np.ndarray]) -> "Frame":
        """The same table in another layout."""
        return Frame(self.path, as_frame(names, columns))


def read_metric_file(path: str) -> Frame:
    """The table of metrics in a file."""
    frame = Frame(path, table_files.read_table(path, repeated=True))
    columns = frame.columns
    counted = not table_files.has_names(frame.cells) and all(column.dtype.kind == "f" for column in columns)
    if counted and frame.lines > 1:
        first, *others = np.array(columns).T
        if (first == np.arange(len(columns))).all() and all((line != np.floor(line)).all() for line in others):
            what = "found 0, which may be a run, or the name that pandas gives a column without one"
            raise BadInput(path, "line 1", what, "the metric's name there")
    return frame


def texts(column: np.ndarray) -> list[str]:
    """Cells as texts; whole numbers without a fraction, blank cells empty."""
    if column.dtype.kind != "f":
        return ["" if str(cell).lower() in BLANK else str(cell) for cell in column]
    return ["" if np.isnan(cell) else f"{cell:.17g}" if cell.is_integer() else repr(cell) for cell in column.tolist()]


def numbers_of(frame: Frame, name: str) -> tuple[np.ndarray, bool]:
    """The numbers of a column, NaN in blank cells and infinite where they are not finite; and if in percent."""
    column = frame.column(name)
    if column.dtype.kind == "b":
        raise BadInput(frame.path, name or "its column", "found True and False", "a number for each run")
    values, percents = np.full(len(column), np.nan), 0
    for line, cell in enumerate(map(str, column)):
        if cell.lower() in BLANK:
            continue
        # MLflow's page writes '-1 for -1, against formulas in spreadsheets.
        text = cell.removeprefix("'").removesuffix("%").strip()
        percents += cell.endswith("%")
        if not is_number(text):
            point = " with a decimal point" if "," in cell else ""
            raise BadInput(frame.where(line), name, f"found {cell!r}", f"a number{point}, or a blank cell")
        values[line] = float(text) if np.isfinite(float(text)) else np.inf
        if np.isfinite(values[line]) and values[line] and not 1 / LARGEST <= abs(values[line]) <= LARGEST:
            allowed = f"0, or 1 / {LARGEST:g} to {LARGEST:g}"  # squares have floats, too
            raise BadInput(frame.where(line), name, f"found {values[line]:g}", allowed)
    if 0 < percents < np.count_nonzero(~np.isnan(values)):
        raise BadInput(frame.path, name, "found some numbers with % and some without", "one of the two")
    return values, bool(percents)


def is_numeric(column: np.ndarray) -> bool:
    """Whether all cells are numbers or blank, and some are numbers."""
    if column.dtype.kind == "f":
        return True
    filled = [str(cell) for cell in column if str(cell).lower() not in BLANK]
    return bool(filled) and column.dtype.kind != "b" and all(is_number(cell.rstrip("%")) for cell in filled)


def is_index(name: str) -> bool:
    """Whether a column has a table's own numbers of lines."""
    return not name or plain(name) in INDEX


def has_column(frame: Frame, wanted: str) -> bool:
    """Whether a name stands for a column."""
    return any(is_meant(name, wanted) for name in frame.names)


def as_long(
    frame: Frame, metrics: tuple[str, ...], by: str | None, seed: str | None, *, one_arm: bool
) -> tuple[Frame, list[str]]:
    """A table with a line a run or a step, and what was read how; if it has one arm, models are no columns."""
    if frame.names == TENSORBOARD:
        return _tensorboard(frame, metrics)
    if all(has_column(frame, metric) for metric in metrics):
        return frame, []
    if runs := [name for name in frame.names if " - " in name]:
        return _chart(frame, metrics, runs)
    if {"metric", "value"} <= set(map(plain, frame.names)):
        return _a_line_a_value(frame, metrics)
    if len(metrics) == 1 and frame.names == [""]:
        return Frame(frame.path, frame.cells.set_axis(metrics, axis=1)), [f"the numbers are {metrics[0]}"]
    if len(metrics) == 1:
        found = _seeds_are_columns(frame, metrics[0], by, seed)
        found = found or (None if one_arm else _models_are_columns(frame, metrics[0], by, seed))
        return found or (frame, [])
    return frame, []


def _tensorboard(frame: Frame, metrics: tuple[str, ...]) -> tuple[Frame, list[str]]:
    """The scalars of one run, as TensorBoard's page saves them: one metric, named by the file if at all."""
    tag = TAG.search(frame.path)
    if len(metrics) > 1 or (tag and not {*words_of(metrics[0])} <= {*words_of(tag[1]), "value"}):
        what = f"found the scalars of {tag[1] if tag else 'one metric'}, asked for {', '.join(metrics)}"
        raise BadArgument("metric", what, "this one", frame.path)
    return frame.turned([STEP, metrics[0]], frame.columns[1:]), [f"Value is {metrics[0]} (TensorBoard)"]


def _chart(frame: Frame, metrics: tuple[str, ...], runs: list[str]) -> tuple[Frame, list[str]]:
    """A chart that W&B exported: columns "run - metric", and their extremes, which are left."""
    curves = {metric: [name for name in runs if name.endswith(f" - {metric}")] for metric in metrics}
    for metric, columns in curves.items():
        if not columns:
            known = {name.rpartition(" - ")[2] for name in runs if not EXTREMES.search(name)}
            raise BadArgument("metric", f"found no column of {metric}", f"it has {listed(sorted(known))}", frame.path)
    names = list(dict.fromkeys(name.removesuffix(f" - {metric}") for metric in metrics for name in curves[metric]))
    if any(GROUPED.match(name) for name in names) and all(":" in name for name in names):
        what = f"found curves of groups, such as {names[0]}, which are means of runs"
        raise BadInput(frame.path, "", what, "a chart exported without grouping, with a curve a run")
    steps, blank = frame.columns[0], np.full(frame.lines, "", object)
    columns = [np.repeat(np.array(names, object), len(steps)), np.tile(steps, len(names))]
    for metric in metrics:
        held = {name.removesuffix(f" - {metric}"): frame.column(name) for name in curves[metric]}
        columns.append(np.concatenate([held.get(name, blank).astype(object) for name in names]))
    notes = [f"a curve a run (W&B's chart), {len(names)} runs"]
    averaged = 0
    for name in (name for columns in curves.values() for name in columns):
        if {f"{name}__MIN", f"{name}__MAX"} <= set(frame.names):
            ends = zip(frame.texts(f"{name}__MIN"), frame.texts(f"{name}__MAX"), strict=True)
            averaged += sum(low != high for low, high in ends)
    if averaged:
        notes.append(f"{averaged} values are means of several steps, since their __MIN and __MAX differ")
    return frame.turned([RUN, STEP, *metrics], columns), notes


def _a_line_a_value(frame: Frame, metrics: tuple[str, ...]) -> tuple[Frame, list[str]]:
    """A line a value, with its metric's name: the history that MLflow's page saves."""
    names = {plain(name): name for name in frame.names}
    if "group" in names and "run" not in names:
        raise BadInput(frame.path, "Group", "found curves of groups, which are means of runs", "a curve a run")
    named = np.array(frame.texts(names["metric"]), object)
    for metric in metrics:
        if metric not in named:
            allowed = f"it has {listed(sorted(set(named)))}"
            raise BadArgument("metric", f"found no value of {metric}", allowed, frame.path)
    others = frame.cells.drop(columns=[names["metric"], names["value"]])
    values = frame.column(names["value"]).astype(object)
    held = {metric: np.where(named == metric, values, "").astype(object) for metric in metrics}
    kept = others.assign(**held)[np.isin(named, metrics)].reset_index(drop=True)
    return Frame(frame.path, kept), [A_LINE_A_VALUE]


def _seeds_are_columns(frame: Frame, metric: str, by: str | None, seed: str | None) -> tuple[Frame, list[str]] | None:
    """A line a model, with a number for each seed or run; models may be numbers, such as widths."""
    names, columns = frame.names, frame.columns
    cells = [place for place, column in enumerate(columns) if is_numeric(column)]
    if len(cells) == len(names):
        cells = [place for place in cells if NUMBERED.fullmatch(names[place])]
    others = [place for place in range(len(names)) if place not in cells]
    numbered = [NUMBERED.fullmatch(names[place]) for place in cells]
    if len(others) != 1 or not cells or not all(numbered) or (seed and has_column(frame, seed)):
        return None
    name, models = names[others[0]], texts(columns[others[0]])
    of_numbers = is_numeric(columns[others[0]]) and (_is_of_lines(name) or _no_model(name))
    if by != name and (by is not None or of_numbers):
        return None
    numbers = np.repeat(np.array([match["number"] for match in numbered], object), len(models))
    are = RUN if any((match["word"] or "").lower() in RUN_WORDS for match in numbered) else SEED
    said = f"{are}s are columns: {listed([names[place] for place in cells])}"
    of_lines = [np.tile(np.array(models, object), len(cells)), numbers]
    return frame.turned([by or MODEL, are, metric], [*of_lines, _below_each_other(frame, cells)]), [said]


def _models_are_columns(frame: Frame, metric: str, by: str | None, seed: str | None) -> tuple[Frame, list[str]] | None:
    """A line a seed or a run, with a number for each model."""
    known = seed is not None and seed in frame.names
    of_lines = [
        place
        for place, name in enumerate(frame.names)
        if name == seed or _is_of_lines(name) or (not known and name.lower() == "seed")
    ]
    models = [place for place in range(len(frame.names)) if place not in of_lines]
    names, columns = [frame.names[place] for place in models], frame.columns
    if by or len(models) < 2 or any(map(_no_model, names)) or not all(is_numeric(columns[place]) for place in models):
        return None
    if difflib.get_close_matches(metric, names, 1):
        return None
    heads = [frame.names[place] or RUN for place in of_lines]
    repeated = [np.repeat(np.array(names, object), frame.lines)]
    repeated += [np.tile(columns[place], len(models)) for place in of_lines]
    turned = frame.turned([MODEL, *heads, metric], [*repeated, _below_each_other(frame, models)])
    return turned, [f"models are columns: {listed(names)}"]


def _below_each_other(frame: Frame, places: list[int]) -> np.ndarray:
    return np.concatenate([frame.columns[place].astype(object) for place in places])


def _is_of_lines(name: str) -> bool:
    """Whether a column numbers lines, or tells them apart."""
    return is_index(name) or plain(name) in OF_LINES


def _no_model(name: str) -> bool:
    """Whether a column is a metric, or something else that is counted."""
    numbered = NUMBERED.fullmatch(name)
    of_run = numbered is not None and (numbered["word"] or "").lower() in {"seed", *RUN_WORDS - {"r"}}
    return of_run or not {*METRICS, *ASIDE}.isdisjoint(words_of(name))
