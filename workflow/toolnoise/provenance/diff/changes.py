"""The difference of two files except for when and where they were made, and the place where they first differ.

Records hold seconds and the observed machine, histories a column of seconds; these are left out. All other files are
compared as bytes.
"""

import csv
import io
import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.arrays import as_bytes, bit_equal, read_npy, read_npz
from toolnoise.base.errors import BadInput
from toolnoise.base.files import read_json, read_text, readable

# Keys of records and indexes: the duration, the machine, and the epoch at which an interrupted run resumed.
OCCASION = ("seconds", "observed", "resumed_after")
BLOCK = 1 << 20
TEXT = (".csv", ".html", ".ipynb", ".md", ".svg", ".tex")
SHOWN = 60
NULL_OR_MISSING = "null in one of them, missing in the other"


class FileDifference(NamedTuple):
    """Whether two files are the same; `but` names the parts left out, `first` the first difference."""

    same: bool
    but: str = ""
    first: str = ""


class Change(NamedTuple):
    """A value that differs between two nested objects, by its dotted key; None if one has no such key.

    Both are None if the key is null in one object and missing in the other.
    """

    key: str
    value_a: Any
    value_b: Any


def compare(path_a: str | Path, path_b: str | Path) -> FileDifference:
    """Compare two files."""
    path_a, path_b = Path(path_a), Path(path_b)
    place = _first_byte(path_a, path_b)
    if place is None:
        return FileDifference(True)
    # For a damaged file, report the first byte that differs.
    try:
        return _compared(path_a, path_b) or FileDifference(False, first=f"at byte {place}")
    except (BadInput, RecursionError):
        return FileDifference(False, first=f"at byte {place}")


def changes(value_a: Any, value_b: Any, key: str = "") -> Iterator[Change]:
    """The differences in type or bits between two JSON-like values, in the order of the first one's keys."""
    if isinstance(value_a, dict) and isinstance(value_b, dict):
        for name in dict.fromkeys((*value_a, *value_b)):
            inside = f"{key}.{name}" if key else str(name)
            if name in value_a and name in value_b:
                yield from changes(value_a[name], value_b[name], inside)
            else:
                yield Change(inside, value_a.get(name), value_b.get(name))
    # Python's == ignores the sign of zeros and, inside lists, the types of numbers.
    elif json.dumps(value_a, sort_keys=True) != json.dumps(value_b, sort_keys=True):
        yield Change(key, value_a, value_b)


def both(change: Change, between: str) -> str:
    """The two values on one line, shortened."""
    if change.value_a is None and change.value_b is None:
        return NULL_OR_MISSING
    return f"{shown(change.value_a)}{between}{shown(change.value_b)}"


def shown(value: Any) -> str:
    """A value on one line, shortened."""
    text = "-" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _compared(path_a: Path, path_b: Path) -> FileDifference | None:
    if path_a.name == "history.csv":
        return _compared_values(*(list(_history(path)) for path in (path_a, path_b)), "times")
    if path_a.suffix == ".json":
        return _compared_values(*(_without_occasion(read_json(path)) for path in (path_a, path_b)), "times and machine")
    if path_a.suffix == ".npz":
        where = (f"in {name}, {first}" for name, first in arrays_that_differ(read_npz(path_a), read_npz(path_b)))
        return FileDifference(False, first=next(where, "in the packing of the arrays"))
    if path_a.suffix == ".npy":
        return FileDifference(False, first=_first_element(read_npy(path_a), read_npy(path_b)))
    if path_a.suffix in TEXT:
        with readable(path_a, "text"):
            lines = [read_text(path).split("\n") for path in (path_a, path_b)]
        pairs = enumerate(zip_longest(*lines), 1)
        return next((FileDifference(False, first=f"in line {number}") for number, (a, b) in pairs if a != b), None)
    return None


def _compared_values(value_a: Any, value_b: Any, times: str) -> FileDifference:
    if isinstance(value_a, list) and isinstance(value_b, list):
        value_a, value_b = ({f"line {line}": row for line, row in enumerate(rows, 2)} for rows in (value_a, value_b))
    change = next(changes(value_a, value_b), None)
    if change:
        return FileDifference(False, first=f"in {change.key}: {both(change, ' and ')}")
    return FileDifference(True, but=times)


def _history(path: Path) -> Iterator[dict[str, str]]:
    with readable(path, "a table"):
        table = csv.DictReader(io.StringIO(read_text(path)))
        columns = table.fieldnames or ()
        if len(set(columns)) < len(columns):
            raise ValueError("a column is repeated")
        for row in table:
            yield {column: value for column, value in row.items() if column != "seconds"}


def _without_occasion(value: Any) -> Any:
    return {key: part for key, part in value.items() if key not in OCCASION} if isinstance(value, dict) else value


def arrays_that_differ(arrays_a: dict[str, np.ndarray], arrays_b: dict[str, np.ndarray]) -> Iterator[tuple[str, str]]:
    """The names of the arrays that differ, each with the place where it first does."""
    for name in dict.fromkeys((*arrays_a, *arrays_b)):
        if name not in arrays_a or name not in arrays_b:
            yield name, "missing in one of them"
        elif not bit_equal(arrays_a[name], arrays_b[name]):
            yield name, _first_element(arrays_a[name], arrays_b[name])


def _first_element(array_a: np.ndarray, array_b: np.ndarray) -> str:
    if array_a.shape != array_b.shape or array_a.dtype != array_b.dtype:
        return f"{array_a.dtype} of shape {array_a.shape} and {array_b.dtype} of shape {array_b.shape}"
    different = as_bytes(array_a) != as_bytes(array_b)
    if not different.any():
        return "in the header"
    differ = np.flatnonzero(different.reshape(array_a.size, -1).any(axis=1))
    place = tuple(int(index) for index in np.unravel_index(differ[0], array_a.shape))
    return f"at {place}: {array_a[place]} and {array_b[place]} ({len(differ)} of {array_a.size} differ)"


def _first_byte(path_a: Path, path_b: Path) -> int | None:
    """The first byte that differs; None if none does."""
    place = 0
    with readable(path_a, "a file"), path_a.open("rb") as in_a, readable(path_b, "a file"), path_b.open("rb") as in_b:
        while (a := in_a.read(BLOCK)) == (b := in_b.read(BLOCK)):
            if not a:
                return None
            place += len(a)
    pairs = enumerate(zip(a, b, strict=False))
    return place + next((index for index, (x, y) in pairs if x != y), min(len(a), len(b)))
