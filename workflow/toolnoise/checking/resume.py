"""Does a program that was stopped go on to the same end? It is stopped twice, and goes on by its own means.

It is stopped in the middle by SIGTERM, which a program may catch to save, and at a random place by SIGKILL, which none
can.
"""

import random
import re
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.printing import aligned, span
from toolnoise.checking import differences, first_difference
from toolnoise.checking.differences import Difference
from toolnoise.checking.first_difference import Line, States
from toolnoise.checking.launch import Saves, Stop, stamps
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.program_checkpoints import Omission, omissions
from toolnoise.checking.program_text import SourceFile
from toolnoise.checking.trial_runs import TrialRuns

# Shares of the time of an uninterrupted run; the random one is the same in every check.
MIDDLE = 0.5
# After what it has printed, the share of that share.
SOON = 0.1
ANYWHERE = random.Random(1).uniform(0.3, 0.9)  # noqa: S311 (no secret)
# The run whose checkpoints are kept to be compared.
KEPT = "control-2"


class Resume(NamedTuple):
    """How a program goes on: the words of its command then; and what it has printed when it is stopped, if anything."""

    words: list[str]
    stop_at: re.Pattern | None = None


class Interruption(NamedTuple):
    """One stop: its signal, what was printed or how many seconds had passed, and what then differs at the end.

    `difference` is None if the program ended before it could be stopped; `seconds` is how long it went on, `kept` is
    whether it had left a checkpoint, where it is known to leave one. `late` is whether it then saved no more, though it
    was stopped at a save: perhaps nothing was left to train. `line` is the first that it then printed otherwise than
    the whole run, `states` is what differs in the first checkpoint that does.
    """

    signal: str
    at: str
    difference: Difference | None
    seconds: float | None
    kept: bool
    line: Line | None = None
    states: States | None = None
    late: bool = False


class Resumed(NamedTuple):
    """All stops, and what the text does not save."""

    interruptions: list[Interruption]
    omissions: list[Omission]

    @property
    def passed(self) -> bool:
        """Whether the program went on from a checkpoint at least once, and always came to the same end."""
        tried = [each for each in self.interruptions if each.difference]
        return any(each.kept and not each.late for each in tried) and not any(each.difference.files for each in tried)


def check(runs: TrialRuns, how: Resume, control: Outcome, text: Sequence[SourceFile]) -> Resumed:
    """Stop a program, have it go on, and compare its end with that of a run that nothing stopped."""
    seconds = min(runs.seconds[:2])
    if how.stop_at:
        stops = [Stop(signal.SIGTERM, 0, how.stop_at), Stop(signal.SIGKILL, ANYWHERE * SOON * seconds, how.stop_at)]
    elif runs.wanted.checkpoints:
        places = [Path(name) for name in runs.wanted.checkpoints]
        stops = [Stop(signal.SIGTERM, 0, None, Saves(places)), Stop(signal.SIGKILL, ANYWHERE, None, Saves(places))]
    else:
        stops = [Stop(signal.SIGTERM, MIDDLE * seconds), Stop(signal.SIGKILL, ANYWHERE * seconds)]
    interruptions = []
    for stop in stops:
        name = f"stopped-{signal.Signals(stop.signal).name}"
        at = _at(stop, seconds)
        difference, ran, kept, line, states, late = None, None, False, None, None, False
        if runs.stopped(name, stop):
            kept, printed, since = runs.has_checkpoint(name), runs.printed(name), time.time()
            left = stamps(stop.saves.places) if stop.saves else None
            difference, ran = differences.between(control, runs.resumed(name, how.words)), runs.seconds[-1]
            late = left is not None and left == stamps(stop.saves.places)
            if difference.files:
                line = first_difference.line(runs.printed(KEPT), runs.printed(name).removeprefix(printed))
                states = first_difference.states(runs.checkpoints(KEPT, name), since, how.words[0])
        by = signal.Signals(stop.signal).name
        interruptions.append(Interruption(by, at, difference, ran, kept, line, states, late))
    return Resumed(interruptions, omissions(text))


def _at(stop: Stop, seconds: float) -> str:
    if stop.saves:
        return "its second save" + (f" and {100 * stop.after:.0f} % of the time to another" if stop.after else "")
    if stop.pattern is None:
        return f"{100 * stop.after / seconds:.0f} % of its time"
    return f"'{stop.pattern.pattern}'" + (f" and {stop.after:.2g} s" if stop.after else "")


def as_text(resumed: Resumed, noise: int | None) -> list[str]:
    """The verdict for people."""
    rows = [("stopped at", "by", "went on for", "at the end", "of a new seed's effect")]
    for each in resumed.interruptions:
        ran = "" if each.seconds is None else span(each.seconds)
        rows.append((each.at, each.signal, ran, _end(each), _share(each, noise)))
    lines = ["A run that is stopped and goes on:", *aligned(rows)]
    for each in resumed.interruptions:
        if each.difference and each.difference.files:
            lines += [f"After {each.signal}:", *(f"  {part}" for part in differences.parts(each.difference))]
            lines += [f"  {part}" for part in first_difference.as_text(each.line, each.states)]
    if not resumed.passed and resumed.omissions:
        lines += ["", "Not kept in its checkpoint, as far as the text shows:"]
        for lost in resumed.omissions:
            lines += [f"  {lost.file}:{lost.line}: {lost.code}", f"    {lost.what}: {lost.remedy}"]
    return lines


def as_json(resumed: Resumed) -> dict[str, Any]:
    """The verdict for programs."""
    return {
        "passed": resumed.passed,
        "interruptions": [
            {**each._asdict(), **{part: value and value._asdict() for part, value in _parts(each)}}
            for each in resumed.interruptions
        ],
        "omissions": [lost._asdict() for lost in resumed.omissions],
    }


def _parts(stop: Interruption) -> Iterator[tuple[str, Difference | Line | States | None]]:
    return ((part, getattr(stop, part)) for part in ("difference", "line", "states"))


def _end(stop: Interruption) -> str:
    if stop.difference is None:
        return "it had ended before"
    if stop.difference.files:
        return f"other {', '.join(stop.difference.files)}"
    if stop.late:
        return "equal, but it saved no more: it was stopped too late to tell"
    return "equal bit for bit" if stop.kept else "equal, but without a checkpoint: it started anew"


def _share(stop: Interruption, noise: int | None) -> str:
    return differences.of_noise(stop.difference, noise) if stop.difference else ""
