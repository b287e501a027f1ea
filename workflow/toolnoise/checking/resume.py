"""Does a program that was stopped go on to the same end? It is stopped twice, and goes on by its own means.

It is stopped in the middle by SIGTERM, which a program may catch to save, and at a random place by SIGKILL, which none
can. If it ends differently, what it forgets is found by `forgotten_state`.
"""

import re
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from toolnoise.base.printing import aligned, span
from toolnoise.base.times import is_time
from toolnoise.checking import differences, forgotten_state
from toolnoise.checking.differences import Difference
from toolnoise.checking.forgotten_state import Omission
from toolnoise.checking.launch import Saves, Stop, stamps
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.trial_runs import TrialRuns

# Shares of the time of an uninterrupted run.
MIDDLE, ANYWHERE = 0.5, 0.38
# After what it has printed, the share of that share.
SOON = 0.1
# The run that is compared with those that were stopped.
KEPT = "control-2"
TIMES = re.compile(r"\d+(:\d\d)+([.,]\d+)?|[\d.]+ ?(ms|us|µs|s|it/s|s/it)(/\w+)?\b")
NUMBER = r"[-+]?\d+\.\d*(?:e[-+]?\d+)?|nan"
DIGITS = re.compile(rf"{NUMBER}|\d+")
PAIR = re.compile(rf"([A-Za-z_]\w*)['\"]?\s*[:=]\s*(['\"]?)(?:{NUMBER})\2")


class Resume(NamedTuple):
    """How a program goes on: the words of its command then; and what it has printed when it is stopped, if anything."""

    words: list[str]
    stop_at: re.Pattern | None = None


class Interruption(NamedTuple):
    """One stop: its signal, what was printed or how many seconds had passed, and what then differs at the end.

    `difference` is None if the program ended before it could be stopped; `seconds` is how long it went on, `kept` is
    whether it had left a checkpoint, where it is known to leave one. `late` is whether it then saved no more: perhaps
    nothing was left to train. `anew` is whether it then printed again what it had printed before; None if it prints
    nothing that shows it.
    """

    signal: str
    at: str
    difference: Difference | None = None
    seconds: float | None = None
    kept: bool = False
    late: bool = False
    anew: bool | None = False

    @property
    def counts(self) -> bool:
        """Whether it went on from a checkpoint, as far as it is known."""
        return self.kept and not self.late and not self.anew


class Resumed(NamedTuple):
    """All stops, and what is forgotten if one of them changes the end; or why that is not known."""

    interruptions: list[Interruption]
    omissions: Sequence[Omission] = ()
    unknown: str = ""

    @property
    def passed(self) -> bool:
        """Whether the program went on from a checkpoint at least once, and always came to the same end."""
        tried = [each for each in self.interruptions if each.difference]
        return any(each.counts for each in tried) and not any(each.difference.files for each in tried)


def check(runs: TrialRuns, how: Resume, control: Outcome) -> Resumed:
    """Stop a program, have it go on, and compare its end with that of a run that nothing stopped."""
    seconds = min(runs.seconds[:2])
    if how.stop_at:
        stops = [Stop(signal.SIGTERM, 0, how.stop_at), Stop(signal.SIGKILL, ANYWHERE * SOON * seconds, how.stop_at)]
    elif runs.wanted.checkpoints:
        places = [Path(name) for name in runs.wanted.checkpoints]
        stops = [Stop(signal.SIGTERM, 0, None, Saves(places)), Stop(signal.SIGKILL, ANYWHERE, None, Saves(places))]
    else:
        stops = [Stop(signal.SIGTERM, MIDDLE * seconds), Stop(signal.SIGKILL, ANYWHERE * seconds)]
    resumed = Resumed([_interrupted(runs, how, stop, seconds, control) for stop in stops])
    if not any(each.difference and each.difference.files for each in resumed.interruptions):
        return resumed
    pattern = how.stop_at.pattern if how.stop_at else None
    return Resumed(resumed.interruptions, *forgotten_state.forgotten(runs, how.words, pattern))


def _interrupted(runs: TrialRuns, how: Resume, stop: Stop, seconds: float, control: Outcome) -> Interruption:
    by = signal.Signals(stop.signal).name
    name, one = f"stopped-{by}", Interruption(by, _at(stop, seconds))
    if runs.execute(name, stop=stop) is None:
        return one
    places = runs.checkpoints(name)
    left, printed = stamps(places), runs.printed(name)
    difference = differences.between(control, runs.run(name, words=how.words, goes_on=True))
    whole, resumed = runs.printed(KEPT), runs.printed(name).removeprefix(printed)
    return one._replace(
        difference=difference,
        seconds=runs.seconds[-1],
        kept=bool(left),
        late=bool(left) and left == stamps(places),
        anew=printed_again(whole, printed, resumed),
    )


def _at(stop: Stop, seconds: float) -> str:
    if stop.saves:
        return "its second save" + (f" and {100 * stop.after:.0f} % of the time to another" if stop.after else "")
    if stop.pattern is None:
        return f"{100 * stop.after / seconds:.0f} % of its time"
    return f"'{stop.pattern.pattern}'" + (f" and {stop.after:.2g} s" if stop.after else "")


def printed_again(whole: str, before: str, resumed: str) -> bool | None:
    """Whether a run that went on printed a series again from its beginning; None if the stop fell into no series.

    A series is lines that are alike but for their numbers, such as one for each epoch. What is printed before training,
    or only after it, is none that a stop cuts.
    """
    logs = [list(map(_last_state, log.split("\n"))) for log in (whole, before, resumed)]
    lengths, lengths_before = (
        Counter(DIGITS.sub("#", text) for text in log if DIGITS.search(text)) for log in logs[:2]
    )
    cut = [text for text in logs[0] if 0 < lengths_before[shape := DIGITS.sub("#", text)] < lengths[shape]]
    return Counter(cut) <= Counter(logs[2]) if cut else None


def _last_state(line: str) -> str:
    """What stands of a line at last, such as the end of a progress bar, without what looks like a time."""
    kept = PAIR.sub(lambda match: "" if is_time(match[1]) else match[0], line.strip().rpartition("\r")[2])
    return TIMES.sub("", kept)


def as_text(resumed: Resumed, noise: int | None) -> list[str]:
    """The verdict for people."""
    rows = [("stopped at", "by", "went on for", "at the end", "of a new seed's effect")]
    for each in resumed.interruptions:
        ran = "" if each.seconds is None else span(each.seconds)
        share = differences.of_noise(each.difference, noise) if each.difference else ""
        rows.append((each.at, each.signal, ran, _end(each), share))
    lines = ["A run that is stopped and goes on:", *aligned(rows)]
    for each in resumed.interruptions:
        if each.difference and each.difference.files:
            lines += [f"After {each.signal}:", *(f"  {part}" for part in differences.parts(each.difference))]
    forgotten = forgotten_state.as_text(resumed.omissions, resumed.unknown)
    return [*lines, "", *forgotten] if forgotten else lines


def _end(stop: Interruption) -> str:
    if stop.difference is None:
        return "it had ended before"
    if stop.difference.files:
        return f"other {', '.join(stop.difference.files)}"
    if stop.late:
        return "equal, but it saved no more: perhaps it was stopped too late to tell"
    if stop.kept and stop.anew:
        return "equal, but it printed all from the start again: it seems to have started anew"
    if stop.kept and stop.anew is None:
        return "equal bit for bit, but nothing printed shows that it went on and did not start anew"
    return "equal bit for bit" if stop.kept else "equal, but without a checkpoint: it started anew"
