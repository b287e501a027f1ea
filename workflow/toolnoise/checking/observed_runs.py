"""Runs of a program that is observed: what each place of its code got and gave, and runs in which some of it is fixed.

The observer (checking/injected) runs in each Python process that the program starts. Observing costs time, so no
observed run decides whether a program is reproducible.
"""

import json
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.checking import injection
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.trial_runs import TrialRuns

# Beside the places of a plan: the states of global generators at the start of each process.
START = "start"
PATIENCE, LONGER = 60.0, 5  # seconds, and the longest run so far: the longest time of an observed run
# Compiled functions would be read from the rewritten code.
UNCOMPILED = {"TORCH_COMPILE_DISABLE": "1", "TORCHDYNAMO_DISABLE": "1"}


class Event(NamedTuple):
    """One call: where it was made, when it ended and began, and digests of what went in and what came out.

    `before` has the digest of each global generator's state, `drawn` those that the call has changed, before and after.
    `owner_id` tells objects of one process apart, if it has threads. `shown` is the result, if it has a short text;
    `texts` are short texts among the arguments, and names of files. `marks` say that the arguments name the run's own
    folder, which counts as equal, or have a set, or a seed by its name.
    """

    process: str
    time: float
    began: float
    place: str
    turn: int
    thread: str
    name: str
    owner: int
    inputs: int
    out: int
    before: dict[str, int]
    drawn: dict[str, tuple[int, int]]
    owner_id: int
    shown: str
    texts: Sequence[str]
    marks: Sequence[str]

    def state(self, generator: str) -> int | None:
        """The state of a global generator before the call."""
        return self.drawn[generator][0] if generator in self.drawn else self.before.get(generator)


class Observed(NamedTuple):
    """What one run left: its outcome, its calls in the order of time, how often each process came to each
    place, and a digest of each one's command line.
    """

    outcome: Outcome
    events: list[Event]
    turns: dict[tuple[str, str], int]
    arguments: dict[str, int]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was observed: no process is run by Python, or by one that ignores PYTHONPATH."""
        return not self.events


class ObservedRuns:
    """Observed runs of one command, numbered in their order."""

    def __init__(self, runs: TrialRuns) -> None:
        self.runs, self._count = runs, 0
        # Why the last run that failed did.
        self.failure = ""
        self._folder = runs.folder / "observed"
        (self._folder / "values").mkdir(parents=True)

    def run(
        self,
        *varying: str,
        keep: Collection[str] = (),
        force: Collection[str] = (),
        generators: Collection[str] = (),
        constant: bool = False,
        by_turn: bool = False,
        in_turn: bool = False,
    ) -> Observed | None:
        """Observe one run; None if the program fails, as it may with values of another run.

        The results of the places of `keep` are kept for later runs, where those of `force` get them again, and so do
        global generators at the start: where the inputs are the same, or `by_turn`, whatever they are. `constant`: each
        place always gets the first result. `in_turn`: threads run one after another. A source that varies has another
        seed.
        """
        self._count += 1
        # Names of one length: they count as equal in what the program computes from its folders.
        name = f"observed-{self._count:02d}"
        folder = self._folder / name
        folder.mkdir()
        task = {
            "observer": "rewriting",
            "folder": str(folder.resolve()),
            "keep": sorted(keep),
            "force": sorted(force),
            "generators": sorted(generators),
            "constant": constant,
            "by_turn": by_turn,
            "in_turn": in_turn,
        }
        variables = {**injection.variables(self.runs.folder / "injected", name, task), **UNCOMPILED}
        limit = self.runs.limit
        # With a value of another run, a loop may never end.
        self.runs.limit = min(limit, PATIENCE + LONGER * max(self.runs.seconds, default=limit))
        try:
            outcome = self.runs.run(name, *varying, more=variables)
        except BadInput as error:
            self.failure = str(error)
            return None
        finally:
            self.runs.limit = limit
        return read_records(folder, outcome)


def read_records(folder: Path, outcome: Outcome) -> Observed:
    """The records of all processes of a run; a process that was killed has left no last line, or half of one."""
    observed = Observed(outcome, [], {}, {})
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text("utf-8", errors="replace").splitlines():
            try:
                kind, *parts = json.loads(line)
            except ValueError:
                break
            if kind == "event":
                observed.events.append(Event(path.stem, *parts))
            elif kind == "process":
                observed.arguments[path.stem] = parts[0]
            else:
                observed.turns.update({(path.stem, place): turns for place, turns in parts[0].items()})
    observed.events.sort(key=lambda event: event.time)
    return observed
