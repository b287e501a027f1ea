"""Runs of one session (a machine, a day, a launch) share its speed: of times, they are no draws of their own."""

from toolnoise.base.errors import BadInput
from toolnoise.base.times import is_time
from toolnoise.comparison.tables.arguments import NONE

SESSIONS_MISSING = "runs of one session (a machine, a day, a launch) share its speed, and no column says the sessions"
OWN_SESSIONS = f"--session {NONE} if each run is a session of its own"


def require_own_sessions(metric: str, session: str | None) -> None:
    """Refuse what a rule for single runs cannot judge: times of runs that may share a session, or a column of these."""
    if session not in (None, NONE):
        allowed = f"{NONE}, if each run is a session of its own; compare averages runs over a column"
        raise BadInput("command line", "--session", f"found {session}", allowed)
    if session is None and is_time(metric):
        what = f"found {metric}, a time or speed; {SESSIONS_MISSING}"
        raise BadInput("command line", "--metric", what, OWN_SESSIONS)
