"""The record of a run as the recorder left it, and the place at which two of them part."""

import itertools
import json
from pathlib import Path
from typing import Any, NamedTuple


class TracedEvent(NamedTuple):
    """One operation: its number from 0, what it is, the user's line, the digest of its results, and the rest."""

    index: int
    kind: str
    name: str
    file: str
    line: int
    result: str
    about: dict[str, Any]

    @property
    def what(self) -> tuple[str, str, int]:
        """What is done, and where."""
        return self.name, self.file, self.line


class Trace(NamedTuple):
    """One run: a digest up to each of some operations, and those operations that were recorded singly."""

    blocks: list[tuple[int, int]]
    events: dict[int, TracedEvent]
    versions: list[str]
    notes: list[str]

    @property
    def count(self) -> int:
        """How many operations there were."""
        return self.blocks[-1][0] if self.blocks else 0


def read(path: Path) -> Trace:
    """Read a record; it has no end if the program left without telling Python, or no file if nothing was recorded."""
    trace = Trace([], {}, [], [])
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    for line in lines:
        try:
            kind, *parts = json.loads(line)
        except ValueError:
            # The end of a program that was killed.
            break
        if kind == "event":
            trace.events[parts[0]] = TracedEvent(*parts)
        elif kind == "block":
            trace.blocks.append((parts[0], parts[1]))
        elif kind in ("version", "note"):
            (trace.versions if kind == "version" else trace.notes).append(parts[0])
    return trace


def parting(one: Trace, other: Trace) -> range | None:
    """The operations among which two runs part; None if they do not."""
    start = 0
    for pair in itertools.zip_longest(one.blocks, other.blocks):
        if pair[0] != pair[1]:
            return range(start, max(block[0] for block in pair if block))
        start = pair[0][0]
    return None


def first(one: Trace, other: Trace, among: range) -> tuple[TracedEvent | None, TracedEvent | None] | None:
    """The first two operations that differ, or one that one run has alone; None if they were not recorded singly."""
    for index in among:
        pair = one.events.get(index), other.events.get(index)
        if pair == (None, None):
            return None
        if None in pair or pair[0].what != pair[1].what or pair[0].result != pair[1].result:
            return pair
    return None
