"""What a program forgets when it goes on from its checkpoint: its state at a save held against that after resuming.

Two more processes save and stop at the next step of their loop, and one goes on to the same step. Each writes its state
there (injected/state.py). What differs between the two that saved is noise, such as times. What else differs after
resuming is forgotten: generators, optimisers, averages, the place in the data, arrays and numbers.
"""

import ast
import functools
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import code_digest
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import span
from toolnoise.checking import injected as kinds
from toolnoise.checking.diagnosis import code_of
from toolnoise.checking.trial_runs import TrialRuns

DRAWN_LATER, UNDRAWN = "drawn later", "undrawn"
# What is forgotten, the likeliest cause first, as a person calls it.
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
# How the state of a generator is asked for and given back, by its class.
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
RUNS = 3
MOST_SAVES = 2  # the save after which it stops: by then, all states have moved


_Seen = dict[str, Any] | None


class Omission(NamedTuple):
    """A state that is forgotten: what it is, the line that makes it or draws from it, what to do, and its values.

    `drawn` and `saved` are the lines that draw from it first, and that save without it.
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


def forgotten(runs: TrialRuns, words: Sequence[str], stop_at: str | None) -> tuple[list[Omission], str]:
    """All that a program forgets, the likeliest cause first; and why nothing is known, if so."""
    most = f", at most about {span(RUNS * max(runs.seconds))}" if runs.seconds else ""
    print(f"it is observed to see what it forgets: {RUNS} more runs, until a save{most}", file=sys.stderr)
    try:
        saved, again, went_on = _observed(runs, words, stop_at)
    except BadInput as error:
        return [], f"the program fails when it is observed ({error})"
    if not saved or not again:
        return [], "no file was seen that it writes within a loop"
    if not went_on or not went_on["states"]:
        return [], f"after resuming, it did not reach {_place(*saved['line'])} again"
    if omissions := compared(saved, again, went_on):
        return omissions, ""
    if not saved["is_whole"]:
        return [], f"it has more than {kinds.MOST_VALUES:,} values, or they take too long to read"
    return [], "at the first step after the save, everything that its variables lead to is equal"


def _observed(runs: TrialRuns, words: Sequence[str], stop_at: str | None) -> tuple[_Seen, _Seen, _Seen]:
    """What two processes that save write, and one that resumes; None without a save in a loop."""
    for saves, pattern in dict.fromkeys([(MOST_SAVES, stop_at), (MOST_SAVES, None), (1, None)]):
        task = {"resumes": False, "saves": saves, "stop_at": pattern}
        first, second = (f"saved-{saves}{'-at' if pattern else ''}-{number}" for number in (1, 2))
        if saved := _written(runs, first, task):
            again = _written(runs, second, task)
            resumes = {"resumes": True, "saved": str(_state(runs, second))}
            return saved, again, _written(runs, second, resumes, words) if again else None
    return None, None, None


def _written(runs: TrialRuns, name: str, task: Mapping[str, Any], words: Sequence[str] | None = None) -> _Seen:
    """The state that an observed process writes, which ends there; the command that resumes has words of its own."""
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
        # It ends before its time: who has started it may fail, and that is no matter.
        if not state.exists():
            raise
    return json.loads(state.read_text()) if state.exists() else None


def _state(runs: TrialRuns, name: str) -> Path:
    return (runs.folder / "states" / f"{name}.json").absolute()


def compared(saved: Mapping[str, Any], again: Mapping[str, Any], went_on: Mapping[str, Any]) -> list[Omission]:
    """What differs after resuming, by the object that has it."""
    # Who trains up to the same place again has not skipped it: then the first time counts.
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
    """The paths of what is forgotten: other values after resuming, which two processes that saved have in common."""
    found = []
    for path, (kind, digest, *_) in saved["leaves"].items():
        other, same = resumed["leaves"].get(path), again["leaves"].get(path)
        if other is None or same is None or same[1] != digest or other[1] == digest:
            continue
        # A number that no loop changes says where the training began.
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
    """Where a variable or an attribute is assigned first: the last name of its path that is assigned anywhere."""
    names = [] if owner in GLOBAL else re.findall(r"[A-Za-z_]\w*", owner)
    for number, name in reversed(list(enumerate(names))):
        kind = ast.Attribute if number else ast.Name
        file, first, last = saved["scopes"].get(name, ("", 0, 0)) if not number else ("", 0, 0)
        nodes = [
            # An attribute rather than a variable of its name; a variable rather of its own function, or of a module.
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
    """A file as a person would write it."""
    path = Path(file)
    return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else str(path)


def _place(file: str, line: int) -> str:
    return f"{_short(file)}:{line}: {code_of(file, line)}"


def as_text(omissions: Sequence[Omission], why_unknown: str) -> list[str]:
    """What is forgotten, for people."""
    if not omissions:
        return [f"What it forgets was not observed: {why_unknown}."] if why_unknown else []
    lines = ["Other after resuming than at the save, at the first step of the loop:"]
    for lost in omissions:
        lines += [f"  {lost.file}:{lost.line}: {lost.code}"]
        values = f" is {lost.resumed}, not {lost.at_save}" if lost.at_save else ""
        lines += [f"    {lost.what}{values}: {lost.remedy}"]
        lines += [f"    it is drawn from in {lost.drawn}"] if lost.drawn else []
    return [*lines, *([f"It is saved in {omissions[0].saved}"] if omissions[0].saved else [])]
