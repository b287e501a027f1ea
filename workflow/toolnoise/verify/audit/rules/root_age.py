"""The rule against replay: an older root of a study, which was signed in its time, must not pass for a later one.

A signature has no date, and nothing in a results folder or an archive shows that a newer one exists. So whoever audits
or imports says what is known from elsewhere: a day on which the study was not yet finished, or a commit that its code
must contain.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.record import repository
from toolnoise.record.statements import COMMIT, Statement
from toolnoise.study import layout
from toolnoise.verify.audit.evidence import Evidence, Found

DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")
WANTED = "a date such as 2026-01-31 or 2026-01-31T12:00+01:00 (UTC without an offset), or a commit of this repository"


class TooOld(NamedTuple):
    """How old a root is, or which commit made it, and what is allowed."""

    age: str
    allowed: str


def age_check(asked: str) -> Callable[[Statement], TooOld | None]:
    """The check of a root's age, for a date or time, UTC unless it has an offset, or a commit, tag or branch here."""
    oldest = _time(asked) if DATE.fullmatch(asked) else repository.named(asked)
    if oldest is None:
        raise BadInput("command line", "--not-before", f"found {asked!r}", WANTED)

    def check(root: Statement) -> TooOld | None:
        if isinstance(oldest, datetime):
            too_old = TooOld(f"is of {root.finished.isoformat()}Z", f"{oldest.isoformat()}Z or later")
            return too_old if root.finished < oldest else None
        made_by = [commit.sha256 for commit in root.made_of(COMMIT)]
        if made_by and all(repository.descends(commit, oldest) for commit in made_by):
            return None
        commits = f"commit {', '.join(made_by)}" if made_by else "no commit"
        return TooOld(f"was made by {commits}", f"{oldest}, or a commit that descends from it")

    return check


def not_before(asked: str) -> Callable[[Evidence], Found]:
    """The rule for such a date or commit."""
    check = age_check(asked)

    def root_is_not_older(evidence: Evidence) -> Found:
        """The root was made at the required time or later, by the required commit or one that descends from it."""
        root = evidence.tree.top
        if root is None:
            yield layout.PAGE.format(study=evidence.tree.name), "has no statement that names the others"
        elif older := check(root.statement):
            yield root.statement.name, f"{older.age}; allowed: {older.allowed}"

    return root_is_not_older


def _time(asked: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(asked)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
