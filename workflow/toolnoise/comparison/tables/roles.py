"""Which columns of a table say a run's arm, seed, name, step and state: as asked, or as their names make it plain.

A column of sessions is taken only if it is asked for, but for times and speeds (`began`).
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.comparison import known_names as known
from toolnoise.comparison import read_arms
from toolnoise.comparison.tables.arguments import NONE
from toolnoise.comparison.tables.frame import Frame, found, is_numeric, listed, plain, texts

# Of a date the day counts.
DAY = re.compile(r"(\d{4}-\d\d?-\d\d?|\d{4}/\d\d?/\d\d?|\d\d?[./]\d\d?[./]\d{2,4}|\d{8})([T ].*)?")
# Where a file says the arms of its runs: nowhere, for it is one; in a column or in names; there, or it is one.
Arms = Literal["in files", "needed", "or one"]


class Roles(NamedTuple):
    """The columns by what they say; None where no column does, or, of an arm, where files or names of runs do."""

    arm: str | None
    seed: str | None
    name: str | None
    run: str | None
    step: str | None
    state: str | None
    session: str | None
    unused: list[str]  # columns of texts that nothing of this says
    settings: list[str]  # and columns of few values, such as learning rates


def of(frame: Frame, metrics: list[str], by: str | None, seed: str | None, session: str | None, *, arms: Arms) -> Roles:
    """The roles of a table's columns; whether arms are in columns, must be there, or may not be there."""
    in_session = None if session in (None, NONE) else found(frame, session, "--session")
    free = [name for name in frame.names if name not in (*metrics, in_session) and frame.names.count(name) == 1]
    state = next((name for name in free if plain(name) in known.STATES and _states(frame, name)), None)
    others = [name for name in free if by is None or name != found(frame, by, "--by")]
    of_seed = None if seed == NONE and NONE not in frame.names else _seed(frame, others, seed)
    free = [name for name in free if name not in (state, of_seed)]
    steps = [name for order in known.STEPS for name in free if plain(name) == order and is_numeric(frame.column(name))]
    step = next((name for name in steps if _whole(frame, name, metrics)), next(iter(steps), None))
    free = [name for name in free if name not in steps]
    if arms == "in files":
        _require_one(frame, free)
    arm = None if arms == "in files" else _arm(frame, free, by, needed=arms == "needed", curves=bool(steps))
    free = [name for name in free if name != arm]
    named, run = (
        next((name for order in orders for name in free if plain(name) == order), None)
        for orders in (known.NAMES, known.RUNS)
    )
    unused = [name for name in free if name not in (named, run) and _is_told(frame, name)]
    others = [name for name in free if name not in (named, run) and plain(name) not in known.BESIDE]
    settings = [name for name in others if 1 < len(set(texts(frame.column(name)))) <= frame.lines / 2]
    return Roles(arm, of_seed, named, run, step, state, in_session, unused, settings)


def began(frame: Frame, taken: Sequence[str]) -> dict[str, list[str]]:
    """The cells of columns that have a session's name, of dates the days; not of those that say something else."""
    free = [name for name in frame.names if name not in taken and frame.names.count(name) == 1]
    cells = {name: texts(frame.column(name)) for name in free if plain(name) in known.SESSIONS}
    return {name: list(map(_day, held)) if plain(name) == "date" else held for name, held in cells.items()}


def _day(date: str) -> str:
    """The day of a date; empty if that is not plain: each run would be a session of its own by its time of day."""
    match = DAY.fullmatch(date)
    return match[1] if match else ""


def _is_told(frame: Frame, name: str) -> bool:
    """Whether a column tells what a line is of: by texts, or as data sets do."""
    return plain(name) in known.TASKS or not (
        is_numeric(frame.column(name)) or plain(name) in known.BESIDE.union(known.RUNS)
    )


def is_index(name: str) -> bool:
    """Whether a column has a table's own numbers of lines."""
    return not name or plain(name) in known.INDEX


def _states(frame: Frame, name: str) -> bool:
    """Whether a column has the states of runs, as loggers say them."""
    found = {text.lower() for text in texts(frame.column(name))}
    if unknown := found - known.FINISHED - known.UNFINISHED:
        if found & known.FAILED:
            allowed = f"states such as finished, done, failed and running, or the column {name} left out"
            raise BadInput(frame.path, name, f"found {', '.join(sorted(unknown))}, beside failed runs", allowed)
        return False
    return found != {""}


def _seed(frame: Frame, free: list[str], asked: str | None) -> str | None:
    if asked:
        return found(frame, asked, "--seed")
    likely = [name for name in free if plain(name.replace("/", ".").rpartition(".")[2]) in known.SEEDS]
    if len(likely) > 1:
        likely = [name for name in likely if len(set(texts(frame.column(name)))) > 1]
    columns = {tuple(texts(frame.column(name))): name for name in reversed(likely)}
    if len(columns) > 1:
        raise BadInput(frame.path, "--seed", "missing", f"the column of seeds: {listed(likely)}, or none")
    return next(iter(columns.values()), None)


def _whole(frame: Frame, name: str, metrics: list[str]) -> bool:
    """Whether each line with a number of a metric has a step."""
    filled = np.zeros(frame.lines, bool)
    for metric in metrics:
        filled |= np.array(texts(frame.column(metric))) != ""
    return not (filled & (np.array(texts(frame.column(name))) == "")).any()


def _arm(frame: Frame, free: list[str], asked: str | None, *, needed: bool, curves: bool) -> str | None:
    """The column of arms; where runs have several lines, their names repeat without being arms."""
    if asked:
        return found(frame, asked, "--by")
    cells = {name: texts(frame.column(name)) for name in free}
    several = {name: held for name, held in cells.items() if len(set(held) - {""}) > 1}
    likely = [name for name in several if plain(name) in known.ARMS]
    if not likely:
        beside = known.BESIDE.union(known.RUNS) if curves else known.BESIDE
        likely = [
            name
            for name, held in several.items()
            if not is_numeric(frame.column(name)) and plain(name) not in beside and _repeats(held)
        ]
        split = {name: read_arms.arms_in_names(held) for name, held in cells.items() if plain(name) in known.NAMES}
        in_names = [name for name, named in split.items() if named]
        if likely and in_names:
            likely += in_names
        elif in_names or not (likely or needed):
            return None
    if len({_partition(several[name]) for name in likely}) == 1:
        return likely[0]
    choices = likely or [name for name in several if plain(name) not in known.BESIDE] or free
    what = "missing" if likely else "missing, and no column is named like an arm"
    allowed = f"the column that names a run's arm: {listed(choices)}" if choices else "a file for each arm"
    raise BadInput(frame.path, "--by", what, allowed)


def _require_one(frame: Frame, free: list[str]) -> None:
    """Refuse a file of one arm that has several."""
    for name in free:
        held = set(texts(frame.column(name))) - {""}
        if plain(name) in known.SURELY_ARMS and len(held) > 1:
            what = f"found {listed(sorted(held))} in {name}, in the file of one arm"
            raise BadInput(frame.path, "--by", what, f"a file for each arm, or --by {name}")


def _repeats(held: list[str]) -> bool:
    """Whether each name but a blank one stands on several lines."""
    return all(count > 1 for name, count in Counter(held).items() if name)


def _partition(held: list[str]) -> tuple[int, ...]:
    """Which lines belong together."""
    first: dict[str, int] = {}
    return tuple(first.setdefault(name, place) for place, name in enumerate(held))
