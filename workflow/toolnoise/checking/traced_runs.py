"""Find where two runs of a program diverge: record PyTorch's operations one by one, and compare the records."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.checking import differences
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.program_text import code_of
from toolnoise.checking.trial_runs import UNCOMPILED, TrialRuns

PAIRS = 2  # pairs of runs to record at most, if all their operations are equal
NOTHING = "nothing was recorded: the program is not run by Python, or by one that ignores PYTHONPATH (-I, -E, -S)"


class Operation(NamedTuple):
    """One operation: its name, the user's line, digests of its results, and details such as digests of its inputs."""

    name: str
    file: str
    line: int
    result: str
    about: dict[str, Any]


class Parting(NamedTuple):
    """The first operation that differs between two runs: `index` counts from 0, out of `count` operations.

    Without an index, only `says` is known. `equal_results` is whether the recorded runs ended equal: then recording hid
    the difference, or the runs differ only sometimes.
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


def locate_parting(runs: TrialRuns) -> Parting:
    """Record up to PAIRS pairs of runs until one pair differs, and return where its runs diverge."""
    for pair in range(PAIRS):
        (outcome, record), (other_outcome, other) = (_traced(runs, f"trace-{2 * pair + number}") for number in (1, 2))
        alike = not differences.find_differences(outcome, other_outcome).files
        parting = _compared(record, other, alike=alike)
        if parting.index is not None or not parting.count or not alike:
            break
    if not parting.count and runs.observer_failure:
        parting = parting._replace(says=runs.observer_failure)
    said = {kind: tuple(dict.fromkeys(each[0] for each in lines_of(record, kind))) for kind in ("version", "note")}
    return parting._replace(versions=said["version"], notes=said["note"])


def _traced(runs: TrialRuns, name: str) -> tuple[Outcome, Path]:
    """Run the program with recording; the file of the record is missing if nothing was recorded."""
    record = (runs.folder / f"{name}.jsonl").resolve()
    return runs.run(name, task={"observer": "operations", "file": str(record)}, more=UNCOMPILED), record


def lines_of(record: Path, kind: str) -> Iterator[list[Any]]:
    """The lines of one kind in a record, as lists: first the compared values, and last the details."""
    for line in _raw_lines(record, kind):
        yield [*json.loads(line[0])[1:], json.loads(line[1])]


def _raw_lines(record: Path, kind: str) -> Iterator[tuple[str, str]]:
    """Each line of one kind, as two texts: the compared values, and the details, which are not compared."""
    if not record.is_file():
        return
    with record.open(encoding="utf-8") as file:
        for line in file:
            what, _, about = line.partition("\t")
            # If the program was killed, its last line may be incomplete.
            if what.startswith(f'["{kind}"') and about.endswith("\n"):
                yield what, about


def _compared(record: Path, other: Path, *, alike: bool) -> Parting:
    """Compare two records, and return the first operation that differs."""
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
    says = explain_operations(one, another, index)
    return Parting(says, count, alike, *place, tuple(forward) if forward else None)


def explain_operations(a: Operation | None, b: Operation | None, index: int) -> str:
    """Explain why two operations with the same index differ; one of them is None if its run has ended before."""
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
    """Where two runs diverge, as lines of text."""
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
