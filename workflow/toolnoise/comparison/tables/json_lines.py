"""Runs in JSON lines, as programs log them: an object for each run, or for each step of one."""

from collections.abc import Iterator, Mapping
from typing import Any

from toolnoise.comparison.csv_columns import Table, typed_cells
from toolnoise.comparison.evals import json_text


def read(path: str) -> Table:
    """The fields of all lines as columns, blank where a line lacks one; a field of a field is config.lr."""
    rows = [dict(_cells(line)) for _, line in json_text.lines(path)]
    names = dict.fromkeys(name for row in rows for name in row)
    return Table(list(names), [typed_cells([row.get(name, "") for row in rows]) for name in names])


def _cells(fields: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        if isinstance(value, dict):
            yield from _cells(value, f"{above}{name}.")
        else:
            yield above + name, "" if value is None else str(value).strip()
