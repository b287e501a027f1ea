"""A file of runs, in CSV, JSON lines or Parquet, as columns.

Of the numbers in a column, blank cells and those that are not finite are told apart.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable
from toolnoise.comparison import csv_columns
from toolnoise.comparison.csv_columns import LARGEST, Table
from toolnoise.comparison.table_files import first_object, objects
from toolnoise.comparison.tables.directions import words_of

# Cells that stand for nothing, as spreadsheets and loggers write them.
BLANK = {"", "-", "none", "null", "n/a", "na", "<na>"}
# What loggers write before the name of a column.
PREFIXES = ("metrics.", "params.", "tags.", "config.", "summary.", "config/", "params_", "user_attrs_")
SHOWN = 20  # names in an error


class Frame(NamedTuple):
    """A file: the names of its columns, as many, and their cells as floats, texts, or True and False.

    Its lines are those of the file, unless it was `turned` from another layout.
    """

    path: str
    names: list[str]
    columns: list[np.ndarray]
    turned: bool = False

    @property
    def lines(self) -> int:
        """The number of lines below the names."""
        return len(self.columns[0])

    def column(self, name: str) -> np.ndarray:
        """The column of this name, which must be the only one."""
        if self.names.count(name) > 1:
            raise BadInput(self.path, name, f"found {self.names.count(name)} columns of this name", "one")
        return self.columns[self.names.index(name)]

    def where(self, line: int) -> str:
        """The file, and a line by its number in it, if no cell has several lines."""
        return self.path if self.turned else f"{self.path}: line {line + 1 + any(self.names)}"


class Cells(NamedTuple):
    """Numbers of a column: NaN where a cell is blank, infinite where a number is not finite; and if in percent."""

    values: np.ndarray
    percent: bool


def read(path: str) -> Frame:
    """The columns of a file; one without names has empty ones."""
    if first_object(path):
        return Frame(path, *_of_objects(line for _, line in objects(path)), turned=True)
    if Path(path).suffix == ".parquet":
        return Frame(path, *_of_objects(_parquet(path)), turned=True)
    table = csv_columns.read(path, None, "metrics", repeated=True)
    if not table.names and _may_be_names(table.columns):
        what = "found 0, which may be a run, or the name that pandas gives a column without one"
        raise BadInput(path, "line 1", what, "the metric's name there")
    return Frame(path, table.names or [""] * len(table.columns), table.columns)


def _parquet(path: str) -> list[dict[str, Any]]:
    """The lines of a Parquet file, with an index that has a name."""
    import pandas as pd  # slow to import, and Parquet is rare

    try:
        with readable(path, "Parquet"):
            table = pd.read_parquet(path)
    except ImportError:
        raise BadInput(path, "", "is Parquet", "pip install pyarrow; or CSV") from None
    table = table.reset_index() if any(name is not None for name in table.index.names) else table
    return table.astype(object).where(table.notna(), None).rename(columns=str).to_dict("records")


def _of_objects(lines: Iterable[Mapping[str, Any]]) -> Table:
    """The fields of all lines as columns, blank where a line lacks one; a field of a field is config.lr."""
    rows = [dict(_cells(line)) for line in lines]
    names = dict.fromkeys(name for row in rows for name in row)
    return Table(list(names), [csv_columns.typed_cells([row.get(name, "") for row in rows]) for name in names])


def _cells(fields: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _cells(value, f"{above}{name}.")
        else:
            yield above + name, "" if value is None else str(value).strip()


def _may_be_names(columns: list[np.ndarray]) -> bool:
    """Whether the first line counts the columns, and no other has a whole number."""
    if any(column.dtype.kind != "f" for column in columns) or len(columns[0]) < 2:
        return False
    cells = np.array(columns)
    return bool((cells[:, 0] == np.arange(len(cells))).all() and (cells[:, 1:] != np.floor(cells[:, 1:])).all())


def found(frame: Frame, wanted: str, option: str) -> str:
    """The one column that a name stands for: exactly, without a logger's prefix, or in other letters' case."""
    for matching in (
        [name for name in frame.names if name == wanted],
        [name for name in frame.names if name in {prefix + wanted for prefix in PREFIXES}],
        [name for name in frame.names if bare(name).lower() == bare(wanted).lower()],
    ):
        if len(set(matching)) == 1:
            return matching[0]
        if matching:
            raise BadInput(frame.path, option, f"found {wanted} in {', '.join(matching)}", "the name of one of them")
    near = difflib.get_close_matches(wanted, frame.names, 1)
    meant = f"did you mean {near[0]}? " if near else ""
    raise BadInput(frame.path, option, f"found no column {wanted}", f"{meant}it has {listed(frame.names)}")


def has(frame: Frame, wanted: str) -> bool:
    """Whether a name stands for a column."""
    return any(bare(name).lower() == bare(wanted).lower() for name in frame.names)


def bare(name: str) -> str:
    """A name without a logger's prefix."""
    prefix = next((prefix for prefix in PREFIXES if name.startswith(prefix)), "")
    return name[len(prefix) :]


def plain(name: str) -> str:
    """A name by its words and numbers alone, without a logger's prefix: MLflow's "Run ID" is run_id."""
    return "_".join(words_of(bare(name)))


def listed(names: list[str]) -> str:
    """Names for an error, not all of many."""
    shown = [name or "one without a name" for name in names[:SHOWN]]
    return ", ".join(shown) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def texts(column: np.ndarray) -> list[str]:
    """Cells as texts; whole numbers without a fraction, blank cells empty."""
    if column.dtype.kind != "f":
        return ["" if str(cell).lower() in BLANK else str(cell) for cell in column]
    return [
        "" if np.isnan(cell) else f"{cell:.17g}" if float(cell).is_integer() else repr(float(cell)) for cell in column
    ]


def numbers(frame: Frame, name: str) -> Cells:
    """The numbers of a column."""
    column = frame.column(name)
    if column.dtype.kind == "f":
        return Cells(_possible(frame, name, np.where(np.isnan(column), np.inf, column)), percent=False)
    if column.dtype.kind == "b":
        raise BadInput(frame.path, name or "its column", "found True and False", "a number for each run")
    values, percents = np.full(len(column), np.nan), 0
    for line, cell in enumerate(map(str, column)):
        if cell.lower() in BLANK:
            continue
        # MLflow's page writes '-1 for -1, against formulas in spreadsheets.
        text = cell.removeprefix("'").removesuffix("%").strip()
        percents += cell.endswith("%")
        if not csv_columns.is_number(text):
            point = " with a decimal point" if "," in cell else ""
            raise BadInput(frame.where(line), name, f"found {cell!r}", f"a number{point}, or a blank cell")
        values[line] = float(text) if np.isfinite(float(text)) else np.inf
    if 0 < percents < np.count_nonzero(~np.isnan(values)):
        raise BadInput(frame.path, name, "found some numbers with % and some without", "one of the two")
    return Cells(_possible(frame, name, values), bool(percents))


def _possible(frame: Frame, name: str, values: np.ndarray) -> np.ndarray:
    """Numbers of which the squares have floats, too; those that are not finite are infinite."""
    with np.errstate(invalid="ignore"):
        wrong = np.isfinite(values) & (values != 0) & ((np.abs(values) > LARGEST) | (np.abs(values) < 1 / LARGEST))
    if wrong.any():
        line = int(np.argmax(wrong))
        raise BadInput(frame.where(line), name, f"found {values[line]:g}", f"0, or 1 / {LARGEST:g} to {LARGEST:g}")
    return np.where(np.isinf(values), np.inf, values)


def is_numeric(column: np.ndarray) -> bool:
    """Whether all cells are numbers or blank, and some are numbers."""
    if column.dtype.kind == "f":
        return True
    filled = [str(cell) for cell in column if str(cell).lower() not in BLANK]
    return bool(filled) and column.dtype.kind != "b" and all(csv_columns.is_number(cell.rstrip("%")) for cell in filled)
