"""The tables of a page as plain values: what the notebooks rendered, and the metric files as they are."""

import math
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from toolnoise.base import files, metric_files
from toolnoise.base.errors import BadInput

# A metric file with more rows is shown as far as this; the whole of it is a link.
MOST_ROWS = 2000
# An estimate's columns, which are shown as one number with its interval and n.
ESTIMATE = tuple(metric_files.ESTIMATE)
DIGITS = 5


class _Rendered(HTMLParser):
    """A table that a notebook wrote (figures/tables.py): its title, its columns, its rows and its notes."""

    def __init__(self) -> None:
        super().__init__()
        self.title, self.columns, self.rows, self.notes = "", [], [], []
        self._within = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("caption", "small", "p"):
            self._within = tag
            if tag == "p":
                self.notes.append("")
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td"):
            given = dict(attrs)
            self._within = "column" if given.get("scope") == "col" else "entry"
            if self._within == "column":
                self.columns.append({"label": "", "kind": "entry" if given.get("class") == "number" else "name"})
            else:
                self.rows[-1].append({"text": "", "detail": ""} if tag == "td" else "")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("th", "td", "caption", "p"):
            self._within = ""

    def handle_data(self, data: str) -> None:
        if self._within == "caption":
            self.title += data
        elif self._within == "column":
            self.columns[-1]["label"] += data
        elif self._within == "p":
            self.notes[-1] += data
        elif self._within in ("entry", "small"):
            last = self.rows[-1][-1]
            if isinstance(last, str):
                self.rows[-1][-1] = last + data
            else:
                last["detail" if self._within == "small" else "text"] += data


def rendered(path: Path) -> dict[str, Any]:
    """A table of a notebook, from its HTML."""
    parser = _Rendered()
    with files.readable(path, "a table as HTML"):
        text = files.read_text(path)
    try:
        parser.feed(text)
    except (IndexError, AssertionError):
        # Text outside of a row, or a mark that the parser does not know.
        raise BadInput(path, "", "damaged", "a table as HTML") from None
    parser.close()
    return {
        "title": parser.title,
        "columns": parser.columns,
        "rows": [row for row in parser.rows if row],
        "notes": parser.notes,
    }


def measured(path: Path, title: str) -> dict[str, Any]:
    """A metric file; an estimate's columns are one."""
    kinds, every = metric_files.table(path)
    rows = [dict(zip(kinds, row, strict=True)) for row in every[:MOST_ROWS]]
    estimated = set(ESTIMATE) <= kinds.keys()
    names = [column for column in kinds if not (estimated and column in ESTIMATE)]
    numbers = {name: all(is_number(row[name]) for row in rows) for name in names}
    columns = [{"label": name, "kind": "plain" if numbers[name] else "name"} for name in names]
    table = [[_number(row[name]) if numbers[name] else row[name] for name in names] for row in rows]
    if estimated:
        columns.append({"label": "value", "kind": "number", "digits": 5})
        table = [[*cells, [_rounded(row[name]) for name in ESTIMATE]] for cells, row in zip(table, rows, strict=True)]
    more = len(every) - len(rows)
    notes = [f"{more} more rows are in the CSV file."] if more else []
    return {"title": title, "columns": columns, "rows": table, "notes": notes}


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
    return int(text) if len(text) < 20 and text.removeprefix("-").isdecimal() else _rounded(text or "nan")


def _rounded(value: str | float) -> float | int | None:
    return value if isinstance(value, int) else number(value, 6)
