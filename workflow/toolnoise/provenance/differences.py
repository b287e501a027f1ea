"""The difference of two files except for when and where they were made, and the place where they first differ.

Records hold seconds and the observed machine, histories a column of seconds; these are left out. All other files are
compared as bytes.
"""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.arrays import arrays_that_differ, first_element, read_npy, read_npz
from toolnoise.base.errors import BadInput
from toolnoise.base.files import read_json, read_text, readable

# Keys of records and indexes: the duration, the machine, and the epoch at which an interrupted run resumed.
OCCASION = ("seconds", "observed", "resumed_after")
BLOCK = 1 << 20
TEXT = (".csv", ".html", ".ipynb", ".md", ".svg", ".tex")
SHOWN = 80
TIMES = "in times and machine alone"
NULL_OR_MISSING = "null in one of them, missing in the other"


class Change(NamedTuple):
    """A value that differs between two nested objects, by its dotted key; None if one has no such key.

    Both are None if the key is null in one object and missing in the other.
    """

    key: str
    a: Any
    b: Any

    def told(self, between: str) -> str:
        """The two values on one line, shortened."""
        return NULL_OR_MISSING if self.a is None and self.b is None else f"{shown(self.a)}{between}{shown(self.b)}"


def compare(path_a: Path, path_b: Path) -> str:
    """Where two files first differ: empty if they do not, `TIMES` if in nothing else."""
    try:
        place = _first_byte(path_a, path_b)
    except BadInput as error:
        return str(error)
    if place is None:
        return ""
    # Of a damaged file, the first byte that differs is told.
    with suppress(BadInput, RecursionError):
        if path_a.name == "history.csv" or path_a.suffix == ".json":
            change = next(changes(_without_occasion(path_a), _without_occasion(path_b)), None)
            return f"in {change.key}: {change.told(' and ')}" if change else TIMES
        if path_a.suffix == ".npz":
            apart = arrays_that_differ(read_npz(path_a), read_npz(path_b))
            return next((f"in {name}, {where}" for name, where in apart), "in the packing of the arrays")
        if path_a.suffix == ".npy":
            return first_element(read_npy(path_a), read_npy(path_b))
        if path_a.suffix in TEXT:
            with readable(path_a, "text"):
                pairs = zip_longest(*(read_text(path).split("\n") for path in (path_a, path_b)))
            return next(f"in line {number}" for number, (a, b) in enumerate(pairs, 1) if a != b)
    return f"at byte {place}"


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


def shown(value: Any) -> str:
    """A value on one line, shortened."""
    text = "-" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _without_occasion(path: Path) -> Any:
    """The values of a JSON file, or the rows of a history by their lines."""
    if path.suffix == ".json":
        value = read_json(path)
        return {key: part for key, part in value.items() if key not in OCCASION} if isinstance(value, dict) else value
    with readable(path, "a table"):
        table = csv.DictReader(io.StringIO(read_text(path)))
        if len(columns := table.fieldnames or ()) > len(set(columns)):
            raise ValueError("a column is repeated")
        rows = [{column: value for column, value in row.items() if column != "seconds"} for row in table]
    return {f"line {line}": row for line, row in enumerate(rows, 2)}


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
