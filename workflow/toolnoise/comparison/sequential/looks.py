"""The looks at a comparison, one JSON line each, in a file beside its plan; lines are only added.

Each line has the digest of the line before, the first that of the plan. So a line that is changed or taken out, or a
plan that is changed after a look, is found, unless all later lines are written anew.
"""

import getpass
import hashlib
import json
import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import faults
from toolnoise.base.errors import BadInput
from toolnoise.base.files import parse_json, read_bytes, readable


class Look(NamedTuple):
    """Who looked when, at which values of each arm, and what came of it."""

    at: str
    who: str
    runs: int
    a: tuple[float, ...]
    b: tuple[float, ...]
    pvalue: float | None
    decides_at: float
    decision: str

    def has_the_runs_of(self, other: "Look") -> bool:
        """Whether the values of another look are among those of this one."""
        return Counter(other.a) <= Counter(self.a) and Counter(other.b) <= Counter(self.b)


def beside(plan: str) -> Path:
    """Where the looks of a plan are kept."""
    return Path(plan).with_suffix(".looks.jsonl")


def read(plan: str) -> list[Look]:
    """The looks so far, in their order; every line follows from the one before."""
    path, previous, found = beside(plan), _digest(read_bytes(plan)), list[Look]()
    if not path.exists():
        return []
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        with readable(path, "looks, one JSON line each"):
            fields = parse_json(line.decode())
            if not isinstance(fields, dict) or {*fields} != {*Look._fields, "previous"}:
                raise ValueError(f"line {number} is no look")
            if fields.pop("previous") != previous:
                what = "the plan" if number == 1 else f"line {number - 1}"
                raise BadInput(path, f"line {number}", f"does not follow from {what}", "a plan and looks as written")
            found.append(Look(**fields | {arm: tuple(fields[arm]) for arm in "ab"}))
        previous = _digest(line)
    return found


def add(plan: str, look: Look) -> None:
    """Add a line, and have it on the disk before anybody reads the result."""
    path = beside(plan)
    before = read_bytes(path).splitlines() if path.exists() else []
    line = look._asdict() | {"previous": _digest(before[-1] if before else read_bytes(plan))}
    with faults.at(path), path.open("ab") as file:
        file.write(json.dumps(line, sort_keys=True, allow_nan=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def now() -> tuple[str, str]:
    """The time, and who looks."""
    try:
        who = getpass.getuser()
    except (OSError, KeyError):  # an account without a name, as in containers
        who = str(os.getuid())
    return datetime.now(UTC).isoformat(timespec="seconds"), who


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
