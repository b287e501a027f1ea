"""Where two runs of a program part: PyTorch's operations are recorded one by one, and the records are compared.

A long run is recorded by a digest for each thousand operations (injected/operations.py). Two more runs then record
singly those thousand among which the first two parted.
"""

import itertools
import json
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.checking import differences, injection
from toolnoise.checking.diagnosis import code_of
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.trial_runs import TrialRuns

PAIRS = 4  # of runs, until one shows a single operation
EQUAL = 2  # pairs that are equal, until it is believed
NOTHING = "nothing was recorded: the program is not run by Python, or by one that ignores PYTHONPATH (-I, -E, -S)"
# So that each operation runs on its own.
SINGLY = {"TORCH_COMPILE_DISABLE": "1", "TORCHDYNAMO_DISABLE": "1"}


class TracedEvent(NamedTuple):
    """One operation: its number from 0, what it is, the user's line, the digests of its results, and the rest."""

    index: int
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
    window, equal, trace, parting = range(0), 0, None, None
    for number in range(PAIRS):
        (left, trace), (left_b, other) = (run_traced(runs, f"trace-{2 * number + which}", window) for which in (1, 2))
        alike = not differences.between(left, left_b).files
        parting, block = _compared(trace, other, alike=alike)
        equal += block is None
        if block is not None:
            window = block
        elif parting.index is not None or not parting.count or equal == EQUAL or not alike:
            break
    return parting._replace(versions=tuple(dict.fromkeys(trace.versions)), notes=tuple(dict.fromkeys(trace.notes)))


def run_traced(runs: TrialRuns, name: str, window: range) -> tuple[Outcome, Trace]:
    """A run that is recorded, singly in a window of its operations."""
    record = runs.folder / f"{name}.jsonl"
    task = {"observer": "operations", "file": str(record.resolve()), "window": [window.start, window.stop]}
    left = runs.run(name, more={**injection.variables(runs.folder / "injected", name, task), **SINGLY})
    return left, read_trace(record)


def read_trace(path: Path) -> Trace:
    """Read a record; it has no end if the program left without telling Python, or no file if nothing was recorded."""
    trace = Trace([], {}, [], [])
    for line in path.read_text("utf-8").splitlines() if path.is_file() else []:
        try:
            kind, *parts = json.loads(line)
        except ValueError:
            # The end of a program that was killed.
            break
        if kind == "event":
            trace.events[parts[0]] = TracedEvent(*parts)
        elif kind == "block":
            trace.blocks.append((parts[0], parts[1]))
        else:
            (trace.versions if kind == "version" else trace.notes).append(parts[0])
    return trace


def _compared(one: Trace, other: Trace, *, alike: bool) -> tuple[Parting, range | None]:
    """Where two runs part, and the operations among which they do if those were not recorded singly."""
    if not one.blocks or not other.blocks:
        return Parting(NOTHING, 0, alike), None
    count, start = one.blocks[-1][0], 0
    for pair in itertools.zip_longest(one.blocks, other.blocks):
        if pair[0] != pair[1]:
            break
        start = pair[0][0]
    else:
        says = f"all {count:,} recorded operations are equal" if count else "no operation was recorded"
        return Parting(says, count, alike), None
    block = range(start, max(each[0] for each in pair if each))
    for index in block:
        a, b = one.events.get(index), other.events.get(index)
        if a is None and b is None:
            break
        if a is None or b is None or a.what != b.what or a.result != b.result:
            event, forward = a or b, (a or b).about.get("forward")
            place = (event.index, event.name, event.file, event.line, code_of(event.file, event.line))
            return Parting(explain(a, b), count, alike, *place, tuple(forward) if forward else None), None
    says = f"they part among operations {block.start + 1:,} to {block.stop:,}, in each pair of runs at another one"
    return Parting(says, count, equal_results=False), block


def explain(a: TracedEvent | None, b: TracedEvent | None) -> str:
    """What is known of two operations of one number that differ; None is one that a run has not made."""
    if a is None or b is None:
        return f"one run does it, and the other has ended after {(a or b).index:,} operations"
    if a.what != b.what:
        return f"the other run does {b.name} in {b.file}:{b.line} instead"
    inputs = list(zip(a.about.get("inputs", ()), b.about.get("inputs", ()), strict=False))
    for number, (digest, other) in enumerate(inputs, 1):
        if digest != other:
            which = f"its input {number} of {len(inputs)}" if len(inputs) > 1 else "its only input"
            return f"{which} differs, though what was recorded before agrees: NumPy or a thread may have written it"
    changed = next(((x, y) for x, y in zip(a.about["numbers"], b.about["numbers"], strict=False) if x != y), None)
    if changed:
        return f"its tensors were equal, and it was given {changed[0]} and {changed[1]}"
    if a.about["draw"]:
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
