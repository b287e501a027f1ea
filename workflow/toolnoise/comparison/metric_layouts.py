"""Convert every layout of a metric table to one, and find the role of each column: arm, seed, session, step and so on.

W&B exports a chart with a column per run, TensorBoard a file per run, MLflow's page a line per value. People write a
line per model with a column per seed, or a column per model. The user names the metrics (`metric`). A column's role is
the one that the user gives, or else follows from its name if that is clear.
"""

import difflib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.comparison import known_names as known
from toolnoise.comparison import table_files
from toolnoise.comparison.known_names import ASIDE, INDEX, METRICS, OF_LINES
from toolnoise.comparison.naming import arms_in_names, column_named, is_meant, list_text, plain_words, words_of
from toolnoise.comparison.table_files import LARGEST, LINE, is_number

# Blank cells, as spreadsheets and loggers write them.
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
    """A table with the name of its file; a column has numbers, texts, or True and False."""

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
        return texts_of_cells(self.column(name))

    def where(self, line: int) -> str:
        """The file and line number for a message; the file alone if lines do not match the file's."""
        return f"{self.path}: line {self.cells.index[line]}" if self.cells.index.name == LINE else self.path


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


def texts_of_cells(column: np.ndarray) -> list[str]:
    """Cells as texts; whole numbers without a fraction, blank cells empty."""
    if column.dtype.kind != "f":
        return ["" if str(cell).lower() in BLANK else str(cell) for cell in column]
    return ["" if np.isnan(cell) else f"{cell:.17g}" if cell.is_integer() else repr(cell) for cell in column.tolist()]


def numbers_of(frame: Frame, name: str) -> tuple[np.ndarray, bool]:
    """The numbers of a column, NaN in blank cells and infinite where not finite, and whether they have % signs."""
    column = frame.column(name)
    if column.dtype.kind == "b":
        raise BadInput(frame.path, name or "its column", "found True and False", "a number for each run")
    values, percents = np.full(len(column), np.nan), 0
    for line, cell in enumerate(map(str, column)):
        if cell.lower() in BLANK:
            continue
        # MLflow's page writes '-1 for -1, to prevent spreadsheet formulas.
        text = cell.removeprefix("'").removesuffix("%").strip()
        percents += cell.endswith("%")
        if not is_number(text):
            point = " with a decimal point" if "," in cell else ""
            raise BadInput(frame.where(line), name, f"found {cell!r}", f"a number{point}, or a blank cell")
        values[line] = float(text) if np.isfinite(float(text)) else np.inf
        if np.isfinite(values[line]) and values[line] and not 1 / LARGEST <= abs(values[line]) <= LARGEST:
            allowed = f"0, or 1 / {LARGEST:g} to {LARGEST:g}"  # the square must be a finite float, too
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
    """Whether a column is the table's own index."""
    return not name or plain_words(name) in INDEX


def has_column(frame: Frame, wanted: str) -> bool:
    """Whether the table has a column that this name refers to."""
    return any(is_meant(name, wanted) for name in frame.names)


def as_long(
    frame: Frame, metrics: tuple[str, ...], by: str | None, seed: str | None, *, one_arm: bool
) -> tuple[Frame, list[str]]:
    """The table with a line per run or step, and notes on how it was read; if it has one arm, columns are no models."""
    if frame.names == TENSORBOARD:
        return _tensorboard(frame, metrics)
    if all(has_column(frame, metric) for metric in metrics):
        return frame, []
    if runs := [name for name in frame.names if " - " in name]:
        return _chart(frame, metrics, runs)
    if {"metric", "value"} <= set(map(plain_words, frame.names)):
        return _a_line_a_value(frame, metrics)
    if len(metrics) == 1 and frame.names == [""]:
        return Frame(frame.path, frame.cells.set_axis(metrics, axis=1)), [f"the numbers are {metrics[0]}"]
    if len(metrics) == 1:
        found = _seeds_are_columns(frame, metrics[0], by, seed)
        found = found or (None if one_arm else _models_are_columns(frame, metrics[0], by, seed))
        return found or (frame, [])
    return frame, []


def _tensorboard(frame: Frame, metrics: tuple[str, ...]) -> tuple[Frame, list[str]]:
    """The scalars of one run, as saved by TensorBoard's page: one metric, named at most in the file's name."""
    tag = TAG.search(frame.path)
    if len(metrics) > 1 or (tag and not {*words_of(metrics[0])} <= {*words_of(tag[1]), "value"}):
        what = f"found the scalars of {tag[1] if tag else 'one metric'}, asked for {', '.join(metrics)}"
        raise BadArgument("metric", what, "this one", frame.path)
    cells = frame.cells.drop(columns=TENSORBOARD[0]).set_axis([STEP, metrics[0]], axis=1).reset_index(drop=True)
    return frame._replace(cells=cells), [f"Value is {metrics[0]} (TensorBoard)"]


def _chart(frame: Frame, metrics: tuple[str, ...], runs: list[str]) -> tuple[Frame, list[str]]:
    """A chart exported by W&B: columns "run - metric"; the columns of extremes are not used."""
    curves = {metric: [name for name in runs if name.endswith(f" - {metric}")] for metric in metrics}
    for metric, columns in curves.items():
        if not columns:
            known = {name.rpartition(" - ")[2] for name in runs if not EXTREMES.search(name)}
            raise BadArgument(
                "metric", f"found no column of {metric}", f"it has {list_text(sorted(known))}", frame.path
            )
    names = list(dict.fromkeys(name.removesuffix(f" - {metric}") for metric in metrics for name in curves[metric]))
    if any(GROUPED.match(name) for name in names) and all(":" in name for name in names):
        what = f"found curves of groups, such as {names[0]}, which are means of runs"
        raise BadInput(frame.path, "", what, "a chart exported without grouping, with a curve a run")
    parts = []
    for name in names:
        known = [metric for metric in metrics if f"{name} - {metric}" in frame.names]
        numbers = {metric: frame.column(f"{name} - {metric}") if metric in known else "" for metric in metrics}
        parts.append(pd.DataFrame({RUN: name, STEP: frame.columns[0]} | numbers))
    cells = pd.concat(parts, ignore_index=True).astype(dict.fromkeys((RUN, *metrics), object))
    notes = [f"a curve a run (W&B's chart), {len(names)} runs"]
    averaged = 0
    for name in (name for columns in curves.values() for name in columns):
        if {f"{name}__MIN", f"{name}__MAX"} <= set(frame.names):
            ends = zip(frame.texts(f"{name}__MIN"), frame.texts(f"{name}__MAX"), strict=True)
            averaged += sum(low != high for low, high in ends)
    if averaged:
        notes.append(f"{averaged} values are means of several steps, since their __MIN and __MAX differ")
    return frame._replace(cells=cells), notes


def _a_line_a_value(frame: Frame, metrics: tuple[str, ...]) -> tuple[Frame, list[str]]:
    """A line per value with the metric's name: the history saved by MLflow's page."""
    names = {plain_words(name): name for name in frame.names}
    if "group" in names and "run" not in names:
        raise BadInput(frame.path, "Group", "found curves of groups, which are means of runs", "a curve a run")
    named = np.array(frame.texts(names["metric"]), object)
    for metric in metrics:
        if metric not in named:
            allowed = f"it has {list_text(sorted(set(named)))}"
            raise BadArgument("metric", f"found no value of {metric}", allowed, frame.path)
    others = frame.cells.drop(columns=[names["metric"], names["value"]])
    values = frame.column(names["value"]).astype(object)
    held = {metric: np.where(named == metric, values, "").astype(object) for metric in metrics}
    kept = others.assign(**held)[np.isin(named, metrics)].reset_index(drop=True)
    return Frame(frame.path, kept), [A_LINE_A_VALUE]


def _seeds_are_columns(frame: Frame, metric: str, by: str | None, seed: str | None) -> tuple[Frame, list[str]] | None:
    """A line per model with a number for each seed or run; models may be numbers, such as widths."""
    names, columns = frame.names, frame.columns
    cells = [place for place, column in enumerate(columns) if is_numeric(column)]
    if len(cells) == len(names):
        cells = [place for place in cells if NUMBERED.fullmatch(names[place])]
    others = [place for place in range(len(names)) if place not in cells]
    numbered = [NUMBERED.fullmatch(names[place]) for place in cells]
    if len(others) != 1 or not cells or not all(numbered) or (seed and has_column(frame, seed)):
        return None
    name = names[others[0]]
    of_numbers = is_numeric(columns[others[0]]) and (_is_of_lines(name) or _no_model(name))
    if by != name and (by is not None or of_numbers):
        return None
    are = RUN if any((match["word"] or "").lower() in RUN_WORDS for match in numbered) else SEED
    said = f"{are}s are columns: {list_text([names[place] for place in cells])}"
    numbers = {place: match["number"] for place, match in zip(cells, numbered, strict=True)}
    arm = by or MODEL
    long = _below_each_other(frame, numbers, {others[0]: arm}, are, metric)
    named = long.cells.assign(**{arm: np.array(long.texts(arm), object)})
    return frame._replace(cells=named[[arm, are, metric]]), [said]


def _models_are_columns(frame: Frame, metric: str, by: str | None, seed: str | None) -> tuple[Frame, list[str]] | None:
    """A line per seed or run with a number for each model."""
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
    heads = {place: frame.names[place] or RUN for place in of_lines}
    long = _below_each_other(frame, dict(zip(models, names, strict=True)), heads, MODEL, metric)
    return long, [f"models are columns: {list_text(names)}"]


def _below_each_other(
    frame: Frame, columns: Mapping[int, str], others: Mapping[int, str], named: str, metric: str
) -> Frame:
    """The table in long form: a line for each cell of these columns, with the column's name and the other columns."""
    cells = frame.cells.set_axis(range(len(frame.names)), axis=1).melt([*others], [*columns])
    called = cells.pop("variable").map(columns).astype(object)
    cells.insert(0, "variable", called)
    return frame._replace(cells=cells.set_axis([named, *others.values(), metric], axis=1))


def _is_of_lines(name: str) -> bool:
    """Whether a column numbers or identifies lines."""
    return is_index(name) or plain_words(name) in OF_LINES


def _no_model(name: str) -> bool:
    """Whether a column is a numbered run, a metric or another quantity by its name, and so not a model."""
    numbered = NUMBERED.fullmatch(name)
    of_run = numbered is not None and (numbered["word"] or "").lower() in {"seed", *RUN_WORDS - {"r"}}
    return of_run or not {*METRICS, *ASIDE}.isdisjoint(words_of(name))


NONE = "none"  # in place of a column's name: no column
# Only the day of a date counts.
DAY = re.compile(r"(\d{4}-\d\d?-\d\d?|\d{4}/\d\d?/\d\d?|\d\d?[./]\d\d?[./]\d{2,4}|\d{8})([T ].*)?")
# Where arms are: each has files of its own; in a column or names of runs; or there, and otherwise the table is one arm.
Arms = Literal["in files", "needed", "or one"]


class Asked(NamedTuple):
    """The user's options for tables: metrics, columns of arms, seeds and sessions, steps that count, directions.

    `lower` and `higher` are names of metrics; an empty tuple means all, None means none.
    """

    metrics: tuple[str, ...]
    by: str | None = None
    seed: str | None = None
    steps: str | None = None  # "last" or "best"
    lower: tuple[str, ...] | None = None
    higher: tuple[str, ...] | None = None
    paired: bool = False
    session: str | None = None


class Roles(NamedTuple):
    """The columns by role; None if no column has the role, or if files or names of runs have the arm."""

    arm: str | None
    seed: str | None
    name: str | None
    run: str | None
    step: str | None
    state: str | None
    session: str | None
    unused: list[str]  # columns of texts without a role
    settings: list[str]  # columns with few values, such as learning rates


def roles_of(frame: Frame, metrics: list[str], asked: Asked, arms_are: Arms) -> Roles:
    """The roles of a table's columns."""
    by, seed, session = (
        None if name in (None, NONE) and NONE not in frame.names else column_named(frame.path, frame.names, name, of)
        for of, name in (("by", asked.by), ("seed", asked.seed), ("session", asked.session))
    )
    free = [name for name in frame.names if name not in (*metrics, session) and frame.names.count(name) == 1]
    state = next((name for name in free if plain_words(name) in known.STATES and _has_states(frame, name)), None)
    if asked.seed is None:
        seed = _known_seed(frame, [name for name in free if name != by])
    free = [name for name in free if name not in (state, seed)]
    steps = [
        name for order in known.STEPS for name in free if plain_words(name) == order and is_numeric(frame.column(name))
    ]
    filled = [any(cells) for cells in zip(*(frame.texts(metric) for metric in metrics), strict=True)]
    whole = [name for name in steps if all(map(bool, np.array(frame.texts(name))[filled]))]
    free = [name for name in free if name not in steps]
    if arms_are == "in files":
        arm = None
        for name in free:
            held = set(frame.texts(name)) - {""}
            if plain_words(name) in known.SURELY_ARMS and len(held) > 1:
                what = f"found {list_text(sorted(held))} in {name}, in the file of one arm"
                raise BadArgument("by", what, f"a file for each arm, or {name}", frame.path)
    else:
        arm = by or _known_arm(frame, free, needed=arms_are == "needed", curves=bool(steps))
    free = [name for name in free if name != arm]
    named, run = (
        next((name for order in orders for name in free if plain_words(name) == order), None)
        for orders in (known.NAMES, known.RUNS)
    )
    free = [name for name in free if name not in (named, run)]
    # Columns that may show what a line belongs to: texts, and columns named as data sets or tasks.
    aside = known.BESIDE.union(known.RUNS)
    unused = [
        name
        for name in free
        if plain_words(name) in known.TASKS or not (is_numeric(frame.column(name)) or plain_words(name) in aside)
    ]
    others = [name for name in free if plain_words(name) not in known.BESIDE]
    settings = [name for name in others if 1 < len(set(frame.texts(name))) <= frame.lines / 2]
    return Roles(arm, seed, named, run, next(iter([*whole, *steps]), None), state, session, unused, settings)


def _has_states(frame: Frame, name: str) -> bool:
    """Whether a column has states of runs in loggers' words."""
    found = {text.lower() for text in frame.texts(name)}
    if unknown := found - known.FINISHED - known.UNFINISHED:
        if found & known.FAILED:
            allowed = f"states such as finished, done, failed and running, or the column {name} left out"
            raise BadInput(frame.path, name, f"found {', '.join(sorted(unknown))}, beside failed runs", allowed)
        return False
    return found != {""}


def _known_seed(frame: Frame, free: list[str]) -> str | None:
    likely = [name for name in free if plain_words(name.replace("/", ".").rpartition(".")[2]) in known.SEEDS]
    if len(likely) > 1:
        likely = [name for name in likely if len(set(frame.texts(name))) > 1]
    columns = {tuple(frame.texts(name)): name for name in reversed(likely)}
    if len(columns) > 1:
        raise BadArgument("seed", "missing", f"the column of seeds: {list_text(likely)}, or none", frame.path)
    return next(iter(columns.values()), None)


def _known_arm(frame: Frame, free: list[str], *, needed: bool, curves: bool) -> str | None:
    """The column of arms. If runs have several lines, repeated names of runs are not arms."""
    cells = {name: frame.texts(name) for name in free}
    several = {name: held for name, held in cells.items() if len(set(held) - {""}) > 1}
    likely = [name for name in several if plain_words(name) in known.ARMS]
    if not likely:
        beside = known.BESIDE.union(known.RUNS) if curves else known.BESIDE
        likely = [
            name
            for name, held in several.items()
            if not is_numeric(frame.column(name))
            and plain_words(name) not in beside
            and all(count > 1 for cell, count in Counter(held).items() if cell)
        ]
        split = {name: held for name, held in cells.items() if plain_words(name) in known.NAMES}
        in_names = [name for name, held in split.items() if arms_in_names(held)]
        if likely and in_names:
            likely += in_names
        elif in_names or not (likely or needed):
            return None
    if len({tuple(pd.factorize(np.array(several[name], object))[0]) for name in likely}) == 1:
        return likely[0]
    choices = likely or [name for name in several if plain_words(name) not in known.BESIDE] or free
    what = "missing" if likely else "missing, and no column is named like an arm"
    allowed = f"the column that names a run's arm: {list_text(choices)}" if choices else "a file for each arm"
    raise BadArgument("by", what, allowed, frame.path)


def began_columns(frame: Frame, taken: Sequence[str]) -> pd.DataFrame:
    """The cells of columns named as sessions; a `date` is reduced to its day, blank if it has none."""
    free = [name for name in frame.names if name not in taken and frame.names.count(name) == 1]
    cells = {name: frame.texts(name) for name in free if plain_words(name) in known.SESSIONS}
    days = {name: list(map(DAY.fullmatch, held)) for name, held in cells.items() if plain_words(name) == "date"}
    cells |= {name: [day[1] if day else "" for day in held] for name, held in days.items()}
    return pd.DataFrame(cells, range(frame.lines), dtype=object)


def columns_of_sessions(began: pd.DataFrame) -> list[str]:
    """The columns with a session for each run: one, or several that disagree; a constant column only if none varies."""
    filled = [name for name in began if (began[name] != "").all()]
    told = {tuple(pd.factorize(began[name])[0]): name for name in reversed(filled) if len(set(began[name])) > 1}
    return [name for name in filled if name in told.values()] or filled[:1]
