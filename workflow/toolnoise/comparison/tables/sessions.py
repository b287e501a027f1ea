"""Runs of one session (a machine, a day, a launch) share its speed: of times, they are no draws of their own."""

from collections.abc import Mapping, Sequence

from toolnoise.base.errors import BadInput
from toolnoise.base.times import is_time
from toolnoise.comparison.tables.arguments import NONE

SHARED = "Runs of one session (a machine, a day, a launch) share its speed"
OWN_SESSIONS = f"--session {NONE} if each run is a session of its own"


def require_own_sessions(metric: str, session: str | None) -> None:
    """Refuse what a rule for single runs cannot judge: times of runs that may share a session, or a column of these."""
    if session not in (None, NONE):
        allowed = f"{NONE}, if each run is a session of its own; compare averages runs over a column"
        raise BadInput("command line", "--session", f"found {session}", allowed)
    if session is None and is_time(metric):
        what = f"found {metric}, a time or speed, and no sessions. {SHARED}"
        raise BadInput("command line", "--metric", what, OWN_SESSIONS)


def that_may_be_sessions(of_runs: Sequence[Mapping[str, str]]) -> list[str]:
    """The columns that tell a session of each run: one, or several that disagree; a constant one only if alone."""
    names = dict.fromkeys(name for cells in of_runs for name in cells)
    held = {name: [cells.get(name, "") for cells in of_runs] for name in names}
    filled = {name: cells for name, cells in held.items() if all(cells)}
    told: dict[tuple[int, ...], str] = {}
    for name, cells in filled.items():
        if len(set(cells)) > 1:
            first: dict[str, int] = {}
            told.setdefault(tuple(first.setdefault(cell, place) for place, cell in enumerate(cells)), name)
    return list(told.values()) or list(filled)[:1]


def said_of(columns: Sequence[str]) -> list[str]:
    """Which column says the sessions of times, or why none does."""
    if len(columns) > 1:
        return [f"{' and '.join(columns)} may each say the sessions of times and speeds: --session says which does."]
    return [f"Of times and speeds, sessions by {column}." for column in columns]
