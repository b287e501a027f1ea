"""Runs that are recorded, and the place at which two of them part.

A long run is recorded by a digest for each thousand operations. Two more runs then record singly those thousand among
which the first two parted.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.checking import differences, injection
from toolnoise.checking.diagnosis import code_of
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.trace import explanation, traces
from toolnoise.checking.trace.traces import Trace, TracedEvent
from toolnoise.checking.trial_runs import TrialRuns

PAIRS = 4  # of runs, until one shows a single operation
EQUAL = 2  # pairs that are equal, until it is believed
# The name under which the program imports the recorder, where it is, and the variables that it reads.
INJECTED, RECORDER = "toolnoise_recorder", Path(__file__).with_name("recorder")
FILE, WINDOW = "TOOLNOISE_TRACE", "TOOLNOISE_TRACE_WINDOW"
NOTHING = "nothing was recorded: the program is not run by Python, or by one that ignores PYTHONPATH (-I, -E, -S)"
# So that each operation runs on its own.
SINGLY = {"TORCH_COMPILE_DISABLE": "1", "TORCHDYNAMO_DISABLE": "1"}


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
    parting, trace = _searched(runs)
    return parting._replace(versions=tuple(dict.fromkeys(trace.versions)), notes=tuple(dict.fromkeys(trace.notes)))


def _searched(runs: TrialRuns) -> tuple[Parting, Trace]:
    """Where two runs part, and the record of one."""
    folder = runs.folder / "recorder"
    injection.inject(RECORDER, INJECTED, folder)
    window, equal = range(0), 0
    for number in range(PAIRS):
        (left, one), (left_b, other) = (_run(runs, folder, f"trace-{number * 2 + which}", window) for which in (1, 2))
        alike = not differences.between(left, left_b).files
        if not one.blocks or not other.blocks:
            return Parting(NOTHING, 0, alike), one
        block = traces.parting(one, other)
        if block is None:
            equal += 1
            if equal == EQUAL or not alike:
                return _equal(one, alike), one
            continue
        if pair := traces.first(one, other, block):
            return _found(pair, one, alike), one
        window = block
    says = f"they part among operations {window.start + 1:,} to {window.stop:,}, in each pair of runs at another one"
    return Parting(says, one.count, equal_results=False), one


def variables(folder: Path, record: Path, window: range = range(0)) -> dict[str, str]:
    """The variables with which a program is recorded."""
    path = os.pathsep.join(filter(None, [str(folder.resolve()), os.environ.get("PYTHONPATH")]))
    asked = {FILE: str(record.resolve()), WINDOW: f"{window.start}:{window.stop}"}
    return {"PYTHONPATH": path, **SINGLY, **asked}


def _run(runs: TrialRuns, folder: Path, name: str, window: range) -> tuple[Outcome, Trace]:
    record = folder / f"{name}.jsonl"
    left = runs.run(name, more=variables(folder, record, window))
    return left, traces.read(record)


def _equal(one: Trace, alike: bool) -> Parting:
    says = f"all {one.count:,} recorded operations are equal" if one.count else "no operation was recorded"
    return Parting(says, one.count, alike)


def _found(pair: tuple[TracedEvent | None, TracedEvent | None], one: Trace, alike: bool) -> Parting:
    event = pair[0] or pair[1]
    forward = event.about.get("forward")
    return Parting(
        explanation.explain(*pair),
        one.count,
        alike,
        event.index,
        event.name,
        event.file,
        event.line,
        code_of(event.file, event.line),
        tuple(forward) if forward else None,
    )


def as_json(parting: Parting) -> dict[str, Any]:
    """Where two runs part, for programs."""
    return parting._asdict()


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
