"""The tables of a page as plain values: what the notebooks rendered, and the metric files as they are."""

import math
import re
from collections.abc import Sequence
from html import unescape
from pathlib import Path
from typing import Any

from toolnoise.base import files, metric_files
from toolnoise.base.errors import BadInput
from toolnoise.measures.what_varies import Row
from toolnoise.study.entries import dataset_name

# A metric file with more rows is shown as far as this; the whole of it is a link.
MOST_ROWS = 2000
DIGITS = 5
DATASET = "dataset"


# The marks of a table that a notebook wrote (figures/tables.py).
TITLE = re.compile("<caption>(.*?)</caption>", re.DOTALL)
COLUMN = re.compile('<th scope="col"( class="number")?>(.*?)</th>', re.DOTALL)
ROW = re.compile("<tr>(.*?)</tr>", re.DOTALL)
ENTRY = re.compile('<(th scope="row"|td class="number")>(.*?)(?:<small>(.*?)</small>)?</t[hd]>', re.DOTALL)
NOTE = re.compile("<p>(.*?)</p>", re.DOTALL)


def rendered(path: Path) -> dict[str, Any]:
    """A table of a notebook, from its HTML: its title, its columns, its rows and its notes."""
    with files.readable(path, "a table as HTML"):
        text = files.read_text(path)
    title, (head, *rows) = TITLE.search(text), ROW.findall(text) or [""]
    columns, entries = COLUMN.findall(head), [ENTRY.findall(row) for row in rows]
    if not title or any(len(row) != len(columns) for row in entries):
        raise BadInput(path, "", "damaged", "a table as HTML")
    return {
        "title": unescape(title[1]),
        "columns": [{"label": unescape(name), "kind": "entry" if number else "name"} for number, name in columns],
        "rows": [[_entry(*entry) for entry in row] for row in entries],
        "notes": list(map(unescape, NOTE.findall(text))),
    }


def _entry(mark: str, text: str, detail: str) -> str | dict[str, str]:
    return {"text": unescape(text), "detail": unescape(detail)} if mark.startswith("td") else unescape(text)


def measured(path: Path, title: str, synthetic: Sequence[str] = ()) -> dict[str, Any]:
    """A metric file; a number and its interval are one column, and data sets are called as elsewhere on the page."""
    kinds, every = metric_files.table(path)
    rows = [dict(zip(kinds, row, strict=True)) for row in every[:MOST_ROWS]]
    estimated = metric_files.ESTIMATE.keys() <= kinds.keys()
    names = [column for column in kinds if not (estimated and column in metric_files.NUMBERS)]
    texts = {name: [str(row[name]) for row in rows] for name in names}
    if DATASET in texts:
        texts[DATASET] = [dataset_name(name, synthetic) for name in texts[DATASET]]
    shown = {name: "plain" if all(map(is_number, column)) else "name" for name, column in texts.items()}
    columns = [{"label": name, "kind": kind} for name, kind in shown.items()]
    table = [
        [_number(text) if kind == "plain" else text for text, kind in zip(row, shown.values(), strict=True)]
        for row in zip(*texts.values(), strict=True)
    ]
    if estimated:
        columns.append({"label": "value", "kind": "number", "digits": 5})
        estimates = ([number(row[name], 6) for name in metric_files.NUMBERS] for row in rows)
        table = [[*cells, measured] for cells, measured in zip(table, estimates, strict=True)]
    more = len(every) - len(rows)
    notes = [f"{more} more rows are in the CSV file."] if more else []
    return {"title": title, "columns": columns, "rows": table, "notes": notes}


def estimate(row: Row) -> list[float | int | None]:
    """A measure of a cell: its number, its interval, its runs, those that are missing and, if they are units, draws."""
    return [*map(number, row[:3]), row.runs, row.missing, *([row.draws] if row.repeated else [])]


def number(value: str | float, digits: int = DIGITS) -> float | None:
    """A number with a few digits, or None: JSON has no NaN."""
    value = float(value)
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def is_number(text: str) -> bool:
    """Whether a field of a CSV file is a number; an empty one is an undefined number."""
    try:
        float(text or "nan")
    except ValueError:
        return False
    return True


def _number(text: str) -> float | int | None:
    # Python refuses to read thousands of digits.
    return int(text) if len(text) < 20 and text.removeprefix("-").isdecimal() else number(text or "nan", 6)
