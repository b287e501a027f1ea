"""Where two runs of a program part: PyTorch's operations are recorded one by one, and the records are compared."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.checking import differences
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.program_text import code_of
from toolnoise.checking.trial_runs import UNCOMPILED, TrialRuns

PAIRS = 2  # of runs that record the same, until it is believed
NOTHING = "nothing was recorded: the program is not run by Python, or by one that ignores PYTHONPATH (-I, -E, -S)"


class Operation(NamedTuple):
    """One operation: what it is, the user's line, the digests of its results, and what went into it."""

    name: str
    file: str
    line: int
    result: str
    about: dict[str, Any]


class Parting(NamedTuple):
    """Where two runs part: `index` is the number of the operation from 0, of `count`.

    Without a name, `says` is all that is known. `equal_results` is whether the recorded runs ended equal: recording has
    hidden the difference, or chance.
    """

    says: str
    count: int
    equal_results: bool
    index: int | None = None
    name: str = ""
    file: str = ""
    line: int = 0
    code: str = ""
    forward: tuple[str, int] | None = None
    versions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def locate(runs: TrialRuns) -> Parting:
    """Record pairs of runs until one shows where they part."""
    for pair in range(PAIRS):
        (outcome, record), (other_outcome, other) = (_traced(runs, f"trace-{2 * pair + number}") for number in (1, 2))
        alike = not differences.between(outcome, other_outcome).files
        parting = _compared(record, other, alike=alike)
        if parting.index is not None or not parting.count or not alike:
            break
    said = {kind: tuple(dict.fromkeys(each[0] for each in lines_of(record, kind))) for kind in ("version", "note")}
    return parting._replace(versions=said["version"], notes=said["note"])


def _traced(runs: TrialRuns, name: str) -> tuple[Outcome, Path]:
    """A run that is recorded, and its record; there is none if nothing was recorded."""
    record = (runs.folder / f"{name}.jsonl").resolve()
    return runs.run(name, task={"observer": "operations", "file": str(record)}, more=UNCOMPILED), record


def lines_of(record: Path, kind: str) -> Iterator[list[Any]]:
    """The lines of one kind in a record: what was written, and last what else is known of it."""
    for line in _raw_lines(record, kind):
        yield [*json.loads(line[0])[1:], json.loads(line[1])]


def _raw_lines(record: Path, kind: str) -> Iterator[tuple[str, str]]:
    """What is compared of each line of one kind, and the rest."""
    if not record.is_file():
        return
    with record.open(encoding="utf-8") as file:
        for line in file:
            what, _, about = line.partition("\t")
            # The last line of a program that was killed may have no end.
            if what.startswith(f'["{kind}"') and about.endswith("\n"):
                yield what, about


def _compared(record: Path, other: Path, *, alike: bool) -> Parting:
    """The first operation that two runs do not have in common."""
    if not record.is_file() or not other.is_file():
        return Parting(NOTHING, 0, alike)
    count, first = 0, None
    for pair in itertools.zip_longest(_raw_lines(record, "operation"), _raw_lines(other, "operation")):
        if first is None and (pair[0] is None or pair[1] is None or pair[0][0] != pair[1][0]):
            first = count, pair
        count += 1
    if first is None:
        says = f"all {count:,} recorded operations are equal" if count else "no operation was recorded"
        return Parting(says, count, alike)
    index, pair = first
    one, another = (each and Operation(*json.loads(each[0])[1:], json.loads(each[1])) for each in pair)
    shown = one or another
    place = (index, shown.name, shown.file, shown.line, code_of(shown.file, shown.line))
    forward = shown.about.get("forward")
    says = explain(one, another, index)
    return Parting(says, count, alike, *place, tuple(forward) if forward else None)


def explain(a: Operation | None, b: Operation | None, index: int) -> str:
    """What is known of two operations of one number that differ; None is one that a run has not made."""
    if a is None or b is None:
        return f"one run does it, and the other has ended after {index:,} operations"
    if a[:3] != b[:3]:
        return f"the other run does {b.name} in {b.file}:{b.line} instead"
    inputs = list(zip(a.about.get("inputs", ()), b.about.get("inputs", ()), strict=False))
    for number, (digest, other) in enumerate(inputs, 1):
        if digest != other:
            which = f"its input {number} of {len(inputs)}" if len(inputs) > 1 else "its only input"
            return f"{which} differs, though what was recorded before agrees: NumPy or a thread may have written it"
    numbers = zip(a.about.get("numbers", ()), b.about.get("numbers", ()), strict=False)
    if changed := next(((x, y) for x, y in numbers if x != y), None):
        return f"its tensors were equal, and it was given {changed[0]} and {changed[1]}"
    if a.about.get("draw"):
        return "it draws from a generator whose seed or state differs"
    if any("uninitialised" in pair for pair in inputs):
        return "it reads memory that torch.empty has made, and that no recorded operation has filled"
    if not inputs:
        return "it has no inputs: its values come from outside the framework"
    return "its inputs were equal, and its output was not: the operation itself is not deterministic"


def as_text(parting: Parting) -> list[str]:
    """Where two runs part, for people."""
    recorded = f" (recorded: {', '.join(parting.versions)})" if parting.versions else ""
    if parting.index is None:
        lines = [f"Where the runs part{recorded}: {parting.says}."]
    else:
        lines = [f"The runs part at operation {parting.index + 1:,} of {parting.count:,}{recorded}:"]
        lines += [f"  {parting.name} in {parting.file}:{parting.line}: {parting.code}"]
        if parting.forward:
            file, line = parting.forward
            lines.append(f"  It is in the backward pass of {file}:{line}: {code_of(file, line)}")
        lines.append(f"  {parting.says[0].upper()}{parting.says[1:]}.")
    if parting.equal_results:
        hides = "recording hides the difference, as it may with threads and timing, or the runs differ only sometimes"
        lines.append(f"The recorded runs end equal: {hides}.")
    return lines + [f"  Note: {note}." for note in parting.notes]
