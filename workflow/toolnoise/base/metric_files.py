"""Metric files: the contract between measuring and everything drawn from the measures.

A file is CSV below one comment with the version. Numbers are the shortest text that reads back as the same float, an
undefined number is an empty field, and the same rows give the same bytes. A file is read whole and valid, with each row
once, or refused in one line.
"""

import csv
import importlib
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Implied, Inputs, Output

VERSION = "# toolnoise metrics 1"
NUMBERS = ("value", "ci_low", "ci_high")

# The columns of a kind of metric file, in their order, each with what it holds: text, a number or a count.
Columns = dict[str, type]
CELL: Columns = dict.fromkeys(("model", "dataset", "hardware", "variant"), str)
PAIR: Columns = dict.fromkeys(("model", "dataset", "hardware", "other_hardware", "variant"), str)
ESTIMATE: Columns = {**dict.fromkeys(NUMBERS, float), "n_runs": int, "n_missing": int}
MEASURE: Columns = {"metric": str, "group": str, **ESTIMATE}

# The texts of each kind of number.
NUMBER_TEXTS = {
    float: (re.compile(r"-?(\d+(\.\d+)?(e[-+]?\d+)?|inf)", re.ASCII), "a number, or nothing where undefined"),
    int: (re.compile(r"\d{1,18}", re.ASCII), "a count: 0, 1, ..."),
}

Value = str | int | float


def columns_at(named: str) -> Columns:
    """The columns defined in a module, given as module:NAME."""
    module, _, name = named.partition(":")
    return getattr(importlib.import_module(module), name)


def write_metrics(path: str | Path, columns: Columns, rows: Iterable[Sequence[Value]]) -> None:
    """Write rows in the order of `columns`, such as `(*cell, metric, group, *estimate, runs, missing)`."""
    text = io.StringIO()
    print(VERSION, file=text)
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_text(kind, cell) for kind, cell in zip(columns.values(), row, strict=True)])
    content = text.getvalue()
    if (size := len(content.encode())) > files.LARGEST_TEXT:
        # `read_metrics` would refuse it.
        raise BadInput(path, "", f"would have {size} bytes", f"at most {files.LARGEST_TEXT}; split the study")
    files.write_text(path, content)


def read_metrics(paths: str | Path | Sequence[str | Path], columns: Columns) -> pd.DataFrame:
    """Read a metric file, or several as one: text as text (groups too), numbers as floats, counts as integers."""
    paths = [paths] if isinstance(paths, (str, Path)) else paths
    return pd.DataFrame(_all_rows(paths, columns), columns=list(columns))


def columns_and_rows(path: str | Path) -> tuple[Columns, list[list[Value]]]:
    """The columns and the rows of a metric file of any kind; only the columns of an estimate are read as numbers."""
    lines = _lines(path)
    where, names = next(lines)
    if len(set(names)) < len(names):
        raise BadInput(path, where, "found a column twice", "each column once")
    numbers = ESTIMATE if ESTIMATE.keys() <= set(names) else {}
    columns = {name: numbers.get(name, str) for name in names}
    return columns, _typed(path, lines, columns)


def collect(kind: str, columns: Implied, metrics: Inputs, *, out: Output) -> None:
    """Write the rows of several files of a kind as one, in their order; `columns` is where the columns are defined."""
    print(f"combining {len(metrics)} metric files of kind {kind}", flush=True)
    defined = columns_at(columns)
    write_metrics(out, defined, _all_rows(metrics, defined))


def part_of(group: str) -> str:
    """The examples that a row covers, by its group: `all` examples, a `class` (its index) or a `group` (its name)."""
    if group == "all":
        return "all"
    return "class" if group.isascii() and group.isdigit() else "group"


def of_label(table: pd.DataFrame, label_of: Mapping[str, str]) -> pd.DataFrame:
    """A table with the rows of only one label, as if it were the only one, for each data set in `label_of`."""
    starts = [f"{label_of[dataset]}:" if dataset in label_of else "" for dataset in table["dataset"]]
    groups = [(group, start) for group, start in zip(table["group"], starts, strict=True) if group.startswith(start)]
    chosen = table[list(map(str.startswith, table["group"], starts))] if len(table) else table
    return chosen.assign(group=[group.removeprefix(start) for group, start in groups])


def _text(kind: type, cell: Value) -> str:
    if kind is float:
        return "" if np.isnan(cell) else repr(float(cell))
    return str(cell)


def _all_rows(paths: Iterable[str | Path], columns: Columns) -> list[list[Value]]:
    """The rows of several files; two rows that differ only in floats are refused."""
    named = [place for place, kind in enumerate(columns.values()) if kind is not float]
    seen: set[tuple[Value, ...]] = set()
    every_row = []
    for path in paths:
        for row in _rows(path, columns):
            key = tuple(row[place] for place in named)
            if key in seen:
                what = "/".join(str(part) for part in key if part != "")
                raise BadInput(path, "", f"found {what} twice in this or the files beside it", "each row once")
            seen.add(key)
            every_row.append(row)
    return every_row


def _rows(path: str | Path, columns: Columns) -> list[list[Value]]:
    numbered_lines = _lines(path)
    _check_header(path, next(numbered_lines)[1], columns)
    rows = _typed(path, numbered_lines, columns)
    if not rows:
        raise BadInput(path, "", "no rows", "expected at least one below the column names")
    return rows


def _lines(path: str | Path) -> Iterator[tuple[str, list[str]]]:
    """The names of the columns, then the fields of each row, which must be as many; each with its line."""
    with files.readable(path, "a metric file"):
        version, _, body = files.read_bytes(path).decode().partition("\n")
    if version != VERSION:
        raise BadInput(path, "line 1", f"found {version[:60]!r}", f"expected {VERSION!r}")
    reader = csv.reader(io.StringIO(body), strict=True)
    try:
        names = next(reader, [])
        yield "line 2", names
        for fields in reader:
            where = f"line {reader.line_num + 1}"
            if len(fields) != len(names):
                raise BadInput(path, where, f"{len(fields)} fields", f"expected {len(names)}")
            yield where, fields
    except csv.Error as error:
        raise BadInput(path, f"line {reader.line_num + 1}", f"damaged ({error})", "expected CSV") from None


def _typed(path: str | Path, lines: Iterable[tuple[str, list[str]]], columns: Columns) -> list[list[Value]]:
    return [
        [
            _cell(path, f"{where}, {column}", kind, text)
            for (column, kind), text in zip(columns.items(), fields, strict=True)
        ]
        for where, fields in lines
    ]


def _check_header(path: str | Path, names: Sequence[str], columns: Columns) -> None:
    allowed = f"the columns are {', '.join(columns)}"
    for column in columns:
        if column not in names:
            raise BadInput(path, column, "column missing", allowed)
    for column in names:
        if column not in columns:
            raise BadInput(path, column, "unexpected column", allowed)
    if tuple(names) != tuple(columns):
        raise BadInput(path, "columns", f"found {', '.join(names)}", allowed)


def _cell(path: str | Path, where: str, kind: type, text: str) -> Value:
    if kind is str:
        return text
    if kind is float and text == "":
        return np.nan
    pattern, expected = NUMBER_TEXTS[kind]
    if not pattern.fullmatch(text):
        raise BadInput(path, where, f"found {text!r}", f"expected {expected}")
    return kind(text)
