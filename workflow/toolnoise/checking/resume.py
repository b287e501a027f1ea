"""Test whether a program that is stopped and resumed ends like a run that nothing stopped.

One run is stopped in the middle by SIGTERM, which a program may catch to save, and another run at another place by
SIGKILL, which no program can catch. If a run ends differently, its state at a save is compared with that after
resuming. Two more processes save and stop at the next step of their loop, and one resumes to the same step. Each writes
its state there (injected/state.py). Differences between the two that saved are noise, such as times. All other states
that differ after resuming are forgotten: generators, optimisers, averages, the position in the data, arrays, numbers.
"""

import ast
import functools
import json
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import code_digest
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import align_columns, span_text
from toolnoise.base.times import is_time
from toolnoise.checking import differences
from toolnoise.checking import injected as kinds
from toolnoise.checking.differences import Difference
from toolnoise.checking.launch import Saves, Stop, file_stamps
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.program_text import code_of
from toolnoise.checking.trial_runs import TrialRuns

# Shares of the time of an uninterrupted run.
MIDDLE, ANYWHERE = 0.5, 0.38
# The factor on ANYWHERE if a program is stopped after it has printed a pattern.
SOON = 0.1
# The uninterrupted run whose printed output is compared with that of stopped runs.
KEPT = "control-2"
TIMES = re.compile(r"\d+(:\d\d)+([.,]\d+)?|[\d.]+ ?(ms|us|µs|s|it/s|s/it)(/\w+)?\b")
NUMBER = r"[-+]?\d+\.\d*(?:e[-+]?\d+)?|nan"
DIGITS = re.compile(rf"{NUMBER}|\d+")
PAIR = re.compile(rf"([A-Za-z_]\w*)['\"]?\s*[:=]\s*(['\"]?)(?:{NUMBER})\2")
DRAWN_LATER, UNDRAWN = "drawn later", "undrawn"
# Kinds of forgotten state in words, the likeliest cause first.
KINDS = {
    kinds.GENERATOR: "the state of the generator",
    kinds.OPTIMISER: "the optimiser",
    kinds.SCHEDULER: "the scheduler of the learning rate",
    kinds.SCALER: "the scaler of the loss",
    kinds.AVERAGES: "the average of the weights",
    kinds.SAMPLER: "the sampler",
    kinds.POSITION: "the position of",
    kinds.WEIGHTS: "the weights",
    kinds.ARRAY: "the array",
    DRAWN_LATER: "the state of the generator",
    kinds.NUMBER: "the number",
    kinds.ITEMS: "the number of items of",
    kinds.OTHER: "the object",
    UNDRAWN: "the state of the generator",
}
# How to save and restore the state of a generator, by its class.
GENERATORS = {
    "random": "save random.getstate(), and restore it by random.setstate()",
    "random.Random": "save {name}.getstate(), and restore it by {name}.setstate()",
    "numpy.random": "save np.random.get_state(), and restore it by np.random.set_state()",
    "numpy.Generator": "save {name}.bit_generator.state, and assign it",
    "numpy.RandomState": "save {name}.get_state(), and restore it by {name}.set_state()",
    "torch": "save torch.get_rng_state(), and restore it by torch.set_rng_state()",
    "torch.cuda": "save torch.cuda.get_rng_state_all(), and restore it by torch.cuda.set_rng_state_all()",
    "torch.Generator": "save {name}.get_state(), and restore it by {name}.set_state()",
    "keras.SeedGenerator": "save {name}.state, and assign it",
}
GLOBAL = {"random": "of Python's random", "numpy.random": "of NumPy", "torch": "of PyTorch", "torch.cuda": "of CUDA"}
OBSERVED_RUNS = 3
MOST_SAVES = 2  # the save after which the program stops: by then, all states have changed

_Seen = dict[str, Any] | None


class Resume(NamedTuple):
    """How to resume a program: the words of the resume command, and the printed pattern at which to stop, if any."""

    words: list[str]
    stop_at: re.Pattern | None = None


class Interruption(NamedTuple):
    """One stop: its signal, its moment in words, and the difference at the end after resuming.

    `difference` is None if the program ended before it could be stopped. `seconds` is the time of the resumed run.
    `kept` is whether the program had left a checkpoint in a known place. `late` is whether it then saved nothing more:
    perhaps nothing was left to train. `anew` is whether it then printed again what it had printed before; None if its
    output does not show this.
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
        """Whether the program resumed from a checkpoint, as far as known."""
        return self.kept and not self.late and not self.anew


class Omission(NamedTuple):
    """A state that is forgotten: its name, the line that makes it or draws from it, the remedy, and its values.

    `drawn` is the line that first draws from it; `saved` is the line that saves without it.
    """

    what: str
    file: str
    line: int
    code: str
    remedy: str
    at_save: str = ""
    resumed: str = ""
    drawn: str = ""
    saved: str = ""


class Resumed(NamedTuple):
    """All stops, and the forgotten states if a stop changes the end, or why they are not known."""

    interruptions: list[Interruption]
    omissions: Sequence[Omission] = ()
    unknown: str = ""

    @property
    def passed(self) -> bool:
        """Whether the program resumed from a checkpoint at least once, and always ended the same."""
        tried = [each for each in self.interruptions if each.difference]
        return any(each.counts for each in tried) and not any(each.difference.files for each in tried)


def check(runs: TrialRuns, how: Resume, control: Outcome) -> Resumed:
    """Stop a program, resume it, and compare its end with that of a run that nothing stopped."""
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
    return Resumed(resumed.interruptions, *forgotten_objects(runs, how.words, pattern))


def _interrupted(runs: TrialRuns, how: Resume, stop: Stop, seconds: float, control: Outcome) -> Interruption:
    by = signal.Signals(stop.signal).name
    name, one = f"stopped-{by}", Interruption(by, _at(stop, seconds))
    if runs.execute(name, stop=stop) is None:
        return one
    places = runs.checkpoints(name)
    left, printed = file_stamps(places), runs.printed(name)
    difference = differences.find_differences(control, runs.run(name, words=how.words, goes_on=True))
    whole, resumed = runs.printed(KEPT), runs.printed(name).removeprefix(printed)
    return one._replace(
        difference=difference,
        seconds=runs.seconds[-1],
        kept=bool(left),
        late=bool(left) and left == file_stamps(places),
        anew=printed_again(whole, printed, resumed),
    )


def _at(stop: Stop, seconds: float) -> str:
    if stop.saves:
        return "its second save" + (f" and {100 * stop.after:.0f} % of the time to another" if stop.after else "")
    if stop.pattern is None:
        return f"{100 * stop.after / seconds:.0f} % of its time"
    return f"'{stop.pattern.pattern}'" + (f" and {stop.after:.2g} s" if stop.after else "")


def printed_again(whole: str, before: str, resumed: str) -> bool | None:
    """Whether a resumed run printed a series again from its beginning; None if the stop interrupted no series.

    A series consists of lines that differ only in their numbers, such as a line per epoch. It is interrupted if some of
    its lines, but not all, were printed before the stop.
    """
    logs = [list(map(_last_state, log.split("\n"))) for log in (whole, before, resumed)]
    lengths, lengths_before = (
        Counter(DIGITS.sub("#", text) for text in log if DIGITS.search(text)) for log in logs[:2]
    )
    cut = [text for text in logs[0] if 0 < lengths_before[shape := DIGITS.sub("#", text)] < lengths[shape]]
    return Counter(cut) <= Counter(logs[2]) if cut else None


def _last_state(line: str) -> str:
    """The final text of a line, such as the end of a progress bar, without parts that look like times."""
    kept = PAIR.sub(lambda match: "" if is_time(match[1]) else match[0], line.strip().rpartition("\r")[2])
    return TIMES.sub("", kept)


# Forgotten states


def forgotten_objects(runs: TrialRuns, words: Sequence[str], stop_at: str | None) -> tuple[list[Omission], str]:
    """The states that a program forgets, the likeliest cause first; and the reason if nothing is known."""
    most = f", at most about {span_text(OBSERVED_RUNS * max(runs.seconds))}" if runs.seconds else ""
    print(f"it is observed to see what it forgets: {OBSERVED_RUNS} more runs, until a save{most}", file=sys.stderr)
    try:
        saved, again, went_on = _observed(runs, words, stop_at)
    except BadInput as error:
        return [], f"the program fails when it is observed ({error})"
    if not saved or not again:
        return [], runs.observer_failure or "no file was seen that it writes within a loop"
    if not went_on or not went_on["states"]:
        return [], f"after resuming, it did not reach {_place(*saved['line'])} again"
    if omissions := compare_states(saved, again, went_on):
        return omissions, ""
    if not saved["is_whole"]:
        return [], f"it has more than {kinds.MOST_VALUES:,} values, or they take too long to read"
    return [], "at the first step after the save, everything that its variables lead to is equal"


def _observed(runs: TrialRuns, words: Sequence[str], stop_at: str | None) -> tuple[_Seen, _Seen, _Seen]:
    """The states of two processes that save, and of one that resumes; None without a save in a loop."""
    for saves, pattern in dict.fromkeys([(MOST_SAVES, stop_at), (MOST_SAVES, None), (1, None)]):
        task = {"resumes": False, "saves": saves, "stop_at": pattern}
        first, second = (f"saved-{saves}{'-at' if pattern else ''}-{number}" for number in (1, 2))
        if saved := _written(runs, first, task):
            again = _written(runs, second, task)
            resumes = {"resumes": True, "saved": str(_state(runs, second))}
            return saved, again, _written(runs, second, resumes, words) if again else None
    return None, None, None


def _written(runs: TrialRuns, name: str, task: Mapping[str, Any], words: Sequence[str] | None = None) -> _Seen:
    """Run an observed process until it writes its state and ends; return the state. `words` is the resume command."""
    state = _state(runs, f"{name}-resumed" if words else name)
    state.parent.mkdir(parents=True, exist_ok=True)
    known = {
        "observer": "state",
        "state": str(state),
        "places": [str(place.absolute()) for place in runs.checkpoints(name)],
        "anywhere": not runs.wanted.checkpoints,
        "left_out": [str((runs.folder / "outcomes").absolute()), *map(os.path.abspath, runs.wanted.files)],
        "log": str((runs.folder / "logs" / f"{name}.log").absolute()),
    }
    try:
        runs.execute(name, words=words, task={**known, **task}, goes_on=words is not None)
    except BadInput:
        # The observer ends the process early, so the program that started it may fail: that does no harm.
        if not state.exists():
            raise
    return json.loads(state.read_text()) if state.exists() else None


def _state(runs: TrialRuns, name: str) -> Path:
    return (runs.folder / "states" / f"{name}.json").absolute()


def compare_states(saved: Mapping[str, Any], again: Mapping[str, Any], went_on: Mapping[str, Any]) -> list[Omission]:
    """The forgotten states, grouped by the object that has them."""
    # The states at the first arrival and at the same position in the loops: the one with fewer differences counts.
    differing = [(_differing(saved, again, state), state) for state in went_on["states"].values()]
    paths, resumed = min(differing, key=lambda each: len(each[0]))
    drawn = went_on["drawn"]
    owners: dict[tuple[str, str], list[str]] = {}
    for path in paths:
        kind, _, _, owner = saved["leaves"][path]
        counter = [name for name in saved["counters"] if re.match(rf"(len\()?{re.escape(name)}($|[.\[)])", path)]
        if counter:
            kind, owner = kinds.POSITION, counter[0]
        if kind == kinds.GENERATOR:
            kind = UNDRAWN if path not in drawn else DRAWN_LATER if drawn[path][2] else kinds.GENERATOR
        if kind in (kinds.ARRAY, kinds.NUMBER, kinds.ITEMS, kinds.OTHER):
            owner = path.removeprefix("len(").partition("[")[0].rstrip(")")
        owners.setdefault((kind, owner), []).append(path)
    moved = {name for name, value in saved["place"].items() if resumed["place"].get(name) != value}
    order = [*([kinds.POSITION] if moved else []), *KINDS]
    ranked = sorted(owners, key=lambda each: order.index(each[0]))
    return [_omission(*each, owners[each], saved, resumed, drawn) for each in ranked]


def _differing(saved: Mapping[str, Any], again: Mapping[str, Any], resumed: Mapping[str, Any]) -> list[str]:
    """The paths of forgotten values: equal in the two processes that saved, and different after resuming."""
    found = []
    for path, (kind, digest, *_) in saved["leaves"].items():
        other, same = resumed["leaves"].get(path), again["leaves"].get(path)
        if other is None or same is None or same[1] != digest or other[1] == digest:
            continue
        # A number that no loop changes may only record where the training began.
        if kind == kinds.NUMBER and path.isidentifier() and path not in saved["changed"]:
            continue
        found.append(path)
    return found


def _omission(
    kind: str,
    owner: str,
    paths: Sequence[str],
    saved: Mapping[str, Any],
    resumed: Mapping[str, Any],
    drawn: Mapping[str, Any],
) -> Omission:
    leaf, other = saved["leaves"][paths[0]], resumed["leaves"][paths[0]]
    is_generator = kind in (kinds.GENERATOR, DRAWN_LATER, UNDRAWN)
    what = f"{KINDS[kind]} {GLOBAL.get(owner, owner)}"
    if len(paths) > 1:
        what += f" ({len(paths)} values, such as {paths[0]})"
    remedy = f"save {owner}, and restore it"
    if is_generator and leaf[2] in GENERATORS:
        remedy = GENERATORS[leaf[2]].format(name=owner)
    if kind == kinds.POSITION:
        remedy = f"save {owner}, and go on behind it"
    draws = drawn[owner][:2] if owner in drawn else None
    made = next(filter(None, (_made(name, saved) for name in (owner, *saved["names"].get(owner, ())))), None)
    place = made or draws or saved["line"]
    values = ("", "") if is_generator else (leaf[2], other[2])
    lines = (_place(*each) if each else "" for each in (draws, saved["saver"]))
    return Omission(what, _short(place[0]), place[1], code_of(*place), remedy, *values, *lines)


def _made(owner: str, saved: Mapping[str, Any]) -> tuple[str, int] | None:
    """The first assignment of a variable or attribute: that of the last name in its path that is assigned anywhere."""
    names = [] if owner in GLOBAL else re.findall(r"[A-Za-z_]\w*", owner)
    for number, name in reversed(list(enumerate(names))):
        kind = ast.Attribute if number else ast.Name
        file, first, last = saved["scopes"].get(name, ("", 0, 0)) if not number else ("", 0, 0)
        nodes = [
            # Prefer nodes of the name's own kind (attribute or variable), then a variable within its own function.
            (not isinstance(node, kind), not (place == file and first <= node.lineno <= last), node, place)
            for place in saved["files"]
            for node in ast.walk(_tree(place))
            if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)
            if name == getattr(node, "id", getattr(node, "attr", ""))
        ]
        if nodes:
            is_global = not (number or file)
            at = min(nodes, key=lambda each: (*each[:2], each[2].col_offset * is_global, each[2].lineno))
            return at[3], at[2].lineno
    return None


@functools.cache
def _tree(file: str) -> ast.AST:
    with suppress(OSError, *code_digest.UNREADABLE):
        return code_digest.parse_python(Path(file).read_text("utf-8", errors="replace"))
    return ast.Module([], [])


def _short(file: str) -> str:
    """The name of a file, relative to the current folder if it is below it."""
    path = Path(file)
    return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else str(path)


def _place(file: str, line: int) -> str:
    return f"{_short(file)}:{line}: {code_of(file, line)}"


# Text


def as_text(resumed: Resumed, noise: int | None) -> list[str]:
    """The verdict as lines of text."""
    rows = [("stopped at", "by", "went on for", "at the end", "of a new seed's effect")]
    for each in resumed.interruptions:
        ran = "" if each.seconds is None else span_text(each.seconds)
        share = differences.of_noise(each.difference, noise) if each.difference else ""
        rows.append((each.at, each.signal, ran, _end(each), share))
    lines = ["A run that is stopped and goes on:", *align_columns(rows)]
    for each in resumed.interruptions:
        if each.difference and each.difference.files:
            lines += [f"After {each.signal}:", *(f"  {part}" for part in differences.parts_text(each.difference))]
    omitted = _forgotten_as_text(resumed.omissions, resumed.unknown)
    return [*lines, "", *omitted] if omitted else lines


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


def _forgotten_as_text(omissions: Sequence[Omission], why_unknown: str) -> list[str]:
    if not omissions:
        return [f"What it forgets was not observed: {why_unknown}."] if why_unknown else []
    lines = ["Other after resuming than at the save, at the first step of the loop:"]
    for lost in omissions:
        lines += [f"  {lost.file}:{lost.line}: {lost.code}"]
        values = f" is {lost.resumed}, not {lost.at_save}" if lost.at_save else ""
        lines += [f"    {lost.what}{values}: {lost.remedy}"]
        lines += [f"    it is drawn from in {lost.drawn}"] if lost.drawn else []
    return [*lines, *([f"It is saved in {omissions[0].saved}"] if omissions[0].saved else [])]
