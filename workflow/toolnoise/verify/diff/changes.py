"""FileDifference of two files except for when and where they were made, and the place where they first differ.

Records hold seconds and the observed machine, histories a column of seconds; these are left out. All other files are
compared as bytes.
"""

import csv
import io
import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from toolnoise.base.arrays import read_npy, read_npz
from toolnoise.base.errors import BadInput
from toolnoise.base.files import read_json, read_text, readable
from toolnoise.measures.two_runs import as_bytes, bit_equal

# Keys of records and indexes: the duration, the machine, and the epoch at which an interrupted run resumed.
OCCASION = ("seconds", "observed", "resumed_after")
BLOCK = 1 << 20
TEXT = (".csv", ".html", ".ipynb", ".md", ".svg", ".tex")
SHOWN = 60


class FileDifference(NamedTuple):
    """Whether two files are the same; `but` names the parts left out, `first` the first difference."""

    same: bool
    but: str = ""
    first: str = ""


class Change(NamedTuple):
    """A value that differs between two nested objects, by its dotted key; None if one has no such key."""

    key: str
    one: Any
    other: Any


def compare(one: str | Path, other: str | Path) -> FileDifference:
    """Compare two files."""
    one, other = Path(one), Path(other)
    place = _first_byte(one, other)
    if place is None:
        return FileDifference(True)
    # For a damaged file, report the first byte that differs.
    try:
        return _compared(one, other) or FileDifference(False, first=f"at byte {place}")
    except (BadInput, RecursionError):
        return FileDifference(False, first=f"at byte {place}")


def changes(one: Any, other: Any, key: str = "") -> Iterator[Change]:
    """The differences between two JSON-like values, in the order of the first one's keys."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in dict.fromkeys((*one, *other)):
            yield from changes(one.get(name), other.get(name), f"{key}.{name}" if key else str(name))
    elif one != other or type(one) is not type(other):
        yield Change(key, one, other)


def shown(value: Any) -> str:
    """A value on one line, shortened."""
    text = "-" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _compared(one: Path, other: Path) -> FileDifference | None:
    if one.name == "history.csv":
        return _compared_values(*(list(_history(path)) for path in (one, other)), "times")
    if one.suffix == ".json":
        return _compared_values(*(_without_occasion(read_json(path)) for path in (one, other)), "times and machine")
    if one.suffix == ".npz":
        return FileDifference(False, first=_first_array(read_npz(one), read_npz(other)))
    if one.suffix == ".npy":
        return FileDifference(False, first=_first_element(read_npy(one), read_npy(other)))
    if one.suffix in TEXT:
        with readable(one, "text"):
            lines = [read_text(path).split("\n") for path in (one, other)]
        pairs = enumerate(zip_longest(*lines), 1)
        return next((FileDifference(False, first=f"in line {number}") for number, (a, b) in pairs if a != b), None)
    return None


def _compared_values(one: Any, other: Any, times: str) -> FileDifference:
    if isinstance(one, list) and isinstance(other, list):
        one, other = ({f"line {number}": row for number, row in enumerate(rows, 2)} for rows in (one, other))
    change = next(changes(one, other), None)
    if change:
        return FileDifference(False, first=f"in {change.key}: {shown(change.one)} and {shown(change.other)}")
    return FileDifference(True, but=times)


def _history(path: Path) -> Iterator[dict[str, str]]:
    with readable(path, "a table"):
        for row in csv.DictReader(io.StringIO(read_text(path))):
            yield {column: value for column, value in row.items() if column != "seconds"}


def _without_occasion(value: Any) -> Any:
    return {key: part for key, part in value.items() if key not in OCCASION} if isinstance(value, dict) else value


def _first_array(one: dict[str, np.ndarray], other: dict[str, np.ndarray]) -> str:
    for name in dict.fromkeys((*one, *other)):
        if name not in one or name not in other:
            return f"in {name}, missing in one of them"
        if not bit_equal(one[name], other[name]):
            return f"in {name}, {_first_element(one[name], other[name])}"
    return "in the packing of the arrays"


def _first_element(one: np.ndarray, other: np.ndarray) -> str:
    if one.shape != other.shape or one.dtype != other.dtype:
        return f"{one.dtype} of shape {one.shape} and {other.dtype} of shape {other.shape}"
    different = as_bytes(one) != as_bytes(other)
    if not different.any():
        return "in the header"
    differ = np.flatnonzero(different.reshape(one.size, -1).any(axis=1))
    place = tuple(int(index) for index in np.unravel_index(differ[0], one.shape))
    return f"at {place}: {one[place]} and {other[place]} ({len(differ)} of {one.size} differ)"


def _first_byte(one: Path, other: Path) -> int | None:
    """The first byte that differs; None if none does."""
    with readable(one, "a file"), one.open("rb") as first, readable(other, "a file"), other.open("rb") as second:
        return _first_difference(first, second)


def _first_difference(one: BinaryIO, other: BinaryIO) -> int | None:
    place = 0
    while True:
        a, b = one.read(BLOCK), other.read(BLOCK)
        if a != b:
            pairs = zip(a, b, strict=False)
            return place + next((index for index, (x, y) in enumerate(pairs) if x != y), min(len(a), len(b)))
        if not a:
            return None
        place += len(a)
