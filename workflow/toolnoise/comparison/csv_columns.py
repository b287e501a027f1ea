"""A CSV file as columns with names, each of numbers, of True and False, or of texts.

Fields are separated by commas, semicolons, tabs or, as `numpy.savetxt` writes them, spaces. A byte order mark, Windows'
line ends, quotes, spaces around a field, and `# ` before the names are accepted. The first line has the names unless it
looks like the others; a column without a name is an index, and stands first.
"""

import csv
import itertools
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, TextIO

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable

ENCODING = "utf-8-sig"
LARGEST = 1e100  # of a metric or a score: its square is finite, too
EXACT = 2**53  # from here on, whole numbers are not exact as floats
LONGEST = 2**26  # characters in a line: zeros after the content of a damaged file are one
BOOLEANS = {"true": True, "false": False}


class Table(NamedTuple):
    """Columns of equal length, float64, bool or text; `names` are empty if the file has none."""

    names: list[str]
    columns: list[np.ndarray]


def read(
    path: str, examples: int | None, wanted: str = "predictions", *, repeated: bool = False, typed: bool = True
) -> Table:
    """The columns of a CSV file; the number of examples, if known, tells names 0, 1, ... from data.

    `wanted` is for messages; names may stand on several columns if `repeated` is true. Columns that are not typed are
    the texts that the file has.
    """
    with readable(path, "CSV"):
        head = _first_lines(path)
        if not head:
            raise BadInput(path, "", "found nothing", f"{wanted} in CSV")
        separator = _separator(head[0], head[-1])
        first = _fields(head[0].removeprefix("#"), separator)
        # Names that are not the fields' are a comment.
        commented = head[0].startswith("#") and len(first) != len(_fields(head[-1], separator))
        data = not head[0].startswith("#") and all(is_number(field) or field.lower() in BOOLEANS for field in first)
        columns = _numbers(path, separator, 0 if data else 1) if typed else None
        if columns is None:
            columns = _texts(path, separator, 0 if data else 1, typed=typed)
            if not (data or head[0].startswith("#")) and len(first) == len(columns) and _continues(first, columns):
                data, columns = True, _texts(path, separator, 0, typed=typed)
    if not columns or not len(columns[0]):
        raise BadInput(path, "", "found only names", f"{wanted} below them")
    if data:
        lines = len(columns[0])
        counted = first == [str(place) for place in range(len(first))]
        if not (counted and lines > 1 and (lines - 1 == examples or len(first) == examples != lines)):
            return Table([], columns)
        columns = [column[1:] for column in columns]
    elif commented:
        return Table([], columns)
    _require_names(path, first, len(columns), repeated=repeated)
    return Table(first, columns)


def _first_lines(path: str) -> list[str]:
    """The first line, and the next that is not empty."""
    with Path(path).open(encoding=ENCODING) as file:
        lines = (line.strip("\r\n") for line in _lines(path, file) if line.strip())
        return list(itertools.islice(lines, 2))


def _lines(path: str, file: TextIO) -> Iterator[str]:
    """The lines of a file, none longer than the memory allows."""
    while line := file.readline(LONGEST):
        if len(line) == LONGEST:
            raise BadInput(path, "", f"damaged (a line of {LONGEST} characters or more)", "CSV")
        yield line


def _separator(first: str, line: str) -> str:
    """What stands between the fields of a line of data; a comma may be a decimal one if names have other separators."""
    likely = [separator for separator in ",\t;" if separator in line]
    for separator in (*(each for each in likely if each in first), *likely):
        return separator
    parts = line.split()
    return " " if len(parts) > 1 and all(map(is_number, parts)) else ","


def _fields(line: str, separator: str) -> list[str]:
    if separator == " ":
        return line.split()
    return [field.strip() for field in next(csv.reader([line], delimiter=separator), [])]


def _numbers(path: str, separator: str, skipped: int) -> list[np.ndarray] | None:
    """The columns of a file that has only numbers below its names."""
    how = {"delimiter": None if separator == " " else separator, "comments": None, "quotechar": '"'}
    with Path(path).open(encoding=ENCODING) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # no data below the names: refused by the caller
        try:
            table = np.loadtxt(_lines(path, file), skiprows=skipped, ndmin=2, **how)
        except UnicodeDecodeError:
            raise
        except ValueError:
            return None
    return list(table.T)


def _texts(path: str, separator: str, skipped: int, *, typed: bool) -> list[np.ndarray]:
    """The columns of a file of any fields."""
    with Path(path).open(encoding=ENCODING, newline="") as file:
        every = _lines(path, file)
        lines = map(str.split, every) if separator == " " else csv.reader(every, delimiter=separator, strict=True)
        rows = [[field.strip() for field in fields] for fields in lines if fields][skipped:]
    for number, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise BadInput(path, f"row {number + 1}", f"found {len(row)} fields", f"{len(rows[0])}, as in the first")
    return [typed_cells(list(cells)) if typed else np.array(cells, object) for cells in zip(*rows, strict=True)]


def typed_cells(cells: list[str]) -> np.ndarray:
    """Cells as True and False or as numbers, if all of them are such."""
    if {cell.lower() for cell in set(cells)} <= BOOLEANS.keys():
        return np.array([BOOLEANS[cell.lower()] for cell in cells])
    return np.array(cells, float if all(map(is_number, cells)) else str)


def _continues(first: list[str], columns: list[np.ndarray]) -> bool:
    """Whether each field of the first line is also one of the texts below it, so that it is no name."""
    return all(
        column.dtype.kind == "U" and (column == field).any() for field, column in zip(first, columns, strict=True)
    )


def is_number(text: str) -> bool:
    """Whether a field is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # Python reads 1_0 as 10


def _require_names(path: str, names: list[str], columns: int, *, repeated: bool) -> None:
    if len(names) != columns:
        raise BadInput(path, "row 1", f"found {columns} fields", f"{len(names)}, as names")
    if "" in names[1:]:
        raise BadInput(path, f"column {names.index('', 1) + 1}", "no name", "a name for each column but an index")
    (name, times), *_ = Counter(names).most_common(1)
    if times > 1 and not repeated:
        raise BadInput(path, f"column {name}", f"found {times} of this name", "one")
