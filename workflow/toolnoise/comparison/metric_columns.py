"""Which columns say a run's arm, seed, session, step, name and state: as asked, or as their names make it plain."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.comparison import known_names as known
from toolnoise.comparison import read_arms
from toolnoise.comparison.metric_layouts import Frame, is_numeric
from toolnoise.comparison.metric_names import column_named, listed, plain

NONE = "none"  # in place of a column: there is none
# Of a date the day counts.
DAY = re.compile(r"(\d{4}-\d\d?-\d\d?|\d{4}/\d\d?/\d\d?|\d\d?[./]\d\d?[./]\d{2,4}|\d{8})([T ].*)?")
# Where a file says the arms of its runs: nowhere, for it is one; in a column or in names; there, or it is one.
Arms = Literal["in files", "needed", "or one"]


class Asked(NamedTuple):
    """What a user says of tables: `metrics`, columns of arms, seeds and sessions, which steps count, what is better.

    `lower` and `higher` are names of metrics; empty ones stand for all, None for none.
    """

    metrics: tuple[str, ...]
    by: str | None = None
    seed: str | None = None
    steps: str | None = None  # "last" or "best"
    lower: tuple[str, ...] | None = None
    higher: tuple[str, ...] | None = None
    paired: bool = False
    session: str | None = None


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


def roles_of(frame: Frame, metrics: list[str], asked: Asked, arms_are: Arms) -> Roles:
    """The roles of a table's columns."""
    by, seed, session = (
        None if name in (None, NONE) and NONE not in frame.names else column_named(frame.path, frame.names, name, of)
        for of, name in (("by", asked.by), ("seed", asked.seed), ("session", asked.session))
    )
    free = [name for name in frame.names if name not in (*metrics, session) and frame.names.count(name) == 1]
    state = next((name for name in free if plain(name) in known.STATES and _has_states(frame, name)), None)
    if asked.seed is None:
        seed = _known_seed(frame, [name for name in free if name != by])
    free = [name for name in free if name not in (state, seed)]
    steps = [name for order in known.STEPS for name in free if plain(name) == order and is_numeric(frame.column(name))]
    filled = [any(cells) for cells in zip(*(frame.texts(metric) for metric in metrics), strict=True)]
    whole = [name for name in steps if all(map(bool, np.array(frame.texts(name))[filled]))]
    free = [name for name in free if name not in steps]
    if arms_are == "in files":
        arm = None
        for name in free:
            held = set(frame.texts(name)) - {""}
            if plain(name) in known.SURELY_ARMS and len(held) > 1:
                what = f"found {listed(sorted(held))} in {name}, in the file of one arm"
                raise BadArgument("by", what, f"a file for each arm, or {name}", frame.path)
    else:
        arm = by or _known_arm(frame, free, needed=arms_are == "needed", curves=bool(steps))
    free = [name for name in free if name != arm]
    named, run = (
        next((name for order in orders for name in free if plain(name) == order), None)
        for orders in (known.NAMES, known.RUNS)
    )
    free = [name for name in free if name not in (named, run)]
    # What tells what a line is of: texts, and what data sets are called.
    aside = known.BESIDE.union(known.RUNS)
    unused = [
        name
        for name in free
        if plain(name) in known.TASKS or not (is_numeric(frame.column(name)) or plain(name) in aside)
    ]
    others = [name for name in free if plain(name) not in known.BESIDE]
    settings = [name for name in others if 1 < len(set(frame.texts(name))) <= frame.lines / 2]
    return Roles(arm, seed, named, run, next(iter([*whole, *steps]), None), state, session, unused, settings)


def _has_states(frame: Frame, name: str) -> bool:
    """Whether a column has the states of runs, as loggers say them."""
    found = {text.lower() for text in frame.texts(name)}
    if unknown := found - known.FINISHED - known.UNFINISHED:
        if found & known.FAILED:
            allowed = f"states such as finished, done, failed and running, or the column {name} left out"
            raise BadInput(frame.path, name, f"found {', '.join(sorted(unknown))}, beside failed runs", allowed)
        return False
    return found != {""}


def _known_seed(frame: Frame, free: list[str]) -> str | None:
    likely = [name for name in free if plain(name.replace("/", ".").rpartition(".")[2]) in known.SEEDS]
    if len(likely) > 1:
        likely = [name for name in likely if len(set(frame.texts(name))) > 1]
    columns = {tuple(frame.texts(name)): name for name in reversed(likely)}
    if len(columns) > 1:
        raise BadArgument("seed", "missing", f"the column of seeds: {listed(likely)}, or none", frame.path)
    return next(iter(columns.values()), None)


def _known_arm(frame: Frame, free: list[str], *, needed: bool, curves: bool) -> str | None:
    """The column of arms; where runs have several lines, their names repeat without being arms."""
    cells = {name: frame.texts(name) for name in free}
    several = {name: held for name, held in cells.items() if len(set(held) - {""}) > 1}
    likely = [name for name in several if plain(name) in known.ARMS]
    if not likely:
        beside = known.BESIDE.union(known.RUNS) if curves else known.BESIDE
        likely = [
            name
            for name, held in several.items()
            if not is_numeric(frame.column(name))
            and plain(name) not in beside
            and all(count > 1 for cell, count in Counter(held).items() if cell)
        ]
        split = {name: held for name, held in cells.items() if plain(name) in known.NAMES}
        in_names = [name for name, held in split.items() if read_arms.arms_in_names(held)]
        if likely and in_names:
            likely += in_names
        elif in_names or not (likely or needed):
            return None
    if len({tuple(pd.factorize(np.array(several[name], object))[0]) for name in likely}) == 1:
        return likely[0]
    choices = likely or [name for name in several if plain(name) not in known.BESIDE] or free
    what = "missing" if likely else "missing, and no column is named like an arm"
    allowed = f"the column that names a run's arm: {listed(choices)}" if choices else "a file for each arm"
    raise BadArgument("by", what, allowed, frame.path)


def began_columns(frame: Frame, taken: Sequence[str]) -> pd.DataFrame:
    """The cells of columns that have a session's name; of a date the day, or else nothing: it has the time of day."""
    free = [name for name in frame.names if name not in taken and frame.names.count(name) == 1]
    cells = {name: frame.texts(name) for name in free if plain(name) in known.SESSIONS}
    days = {name: list(map(DAY.fullmatch, held)) for name, held in cells.items() if plain(name) == "date"}
    cells |= {name: [day[1] if day else "" for day in held] for name, held in days.items()}
    return pd.DataFrame(cells, range(frame.lines), dtype=object)


def columns_of_sessions(began: pd.DataFrame) -> list[str]:
    """The columns that tell a session of each run: one, or several that disagree; a constant one only if alone."""
    filled = [name for name in began if (began[name] != "").all()]
    told = {tuple(pd.factorize(began[name])[0]): name for name in reversed(filled) if len(set(began[name])) > 1}
    return [name for name in filled if name in told.values()] or filled[:1]
