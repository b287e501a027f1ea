"""JSON as the writers of logs leave it: a text, or an object in each line; NaN and infinities are among the numbers."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable
from toolnoise.comparison.csv_columns import LONGEST

WANTED = "a log of lm-evaluation-harness or Inspect, or JSON lines"


def lines(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects in the lines of a file, each with its place."""
    with readable(path, WANTED), Path(path).open(encoding="utf-8-sig") as file:
        place = 0
        while line := file.readline(LONGEST):
            place += 1
            if len(line) == LONGEST:
                raise BadInput(path, f"line {place}", f"has {LONGEST} characters or more", WANTED)
            if not line.strip():
                continue
            yield f"line {place}", as_object(path, f"line {place}", line)


def as_object(path: str, key: str, text: str | bytes) -> dict[str, Any]:
    """The object that a text has."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(path, key, f"damaged or truncated ({error})", WANTED) from None
    if not isinstance(found, dict):
        raise BadInput(path, key, f"found {type(found).__name__}", "an object")
    return found


def first(path: str) -> dict[str, Any] | None:
    """The object in the first line of a file; None if there is none, and an empty one if it goes on below."""
    try:
        with Path(path).open(encoding="utf-8-sig") as file:
            line = file.readline(LONGEST).strip()
    except (OSError, ValueError):
        return None
    if not line.startswith("{"):
        return None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else None
