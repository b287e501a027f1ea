"""Demands on the root: the statement of the page, which has every other statement's digest.

It is made last, after everything. So one digest, or one signature, stands for all statements. An older root, which was
signed in its time, must not pass for a later one. A signature has no date, and nothing in a results folder or an
archive shows that a newer one exists. So whoever audits or imports says what is known from elsewhere: a day on which
the study was not yet finished, or a commit that its code must contain.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.provenance import history
from toolnoise.provenance.audit import Evidence, Found
from toolnoise.provenance.signing import RequiredKey
from toolnoise.provenance.statements import COMMIT, Statement

DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")
WANTED = "a date such as 2026-01-31 or 2026-01-31T12:00+01:00 (UTC without an offset), or a commit of this repository"
WITHOUT = "there is no root: no statement names the others"


class TooOld(NamedTuple):
    """How old a root is, or which commit made it, and what is allowed."""

    age: str
    allowed: str


AgeCheck = Callable[[Statement], TooOld | None]


def signature(key: RequiredKey, evidence: Evidence) -> Found:
    """The root is signed with the required key."""
    tree, top = evidence.tree, evidence.tree.top
    if top is None:
        yield tree.named("index.html"), WITHOUT
    elif why := key.refusal(tree.root / top.path, top.statement):
        yield top.statement.name, why


def not_before(check: AgeCheck, evidence: Evidence) -> Found:
    """The root was made at the required time or later, by the required commit or one that descends from it."""
    top = evidence.tree.top
    if top is None:
        yield evidence.tree.named("index.html"), WITHOUT
    elif older := check(top.statement):
        yield top.statement.name, f"{older.age}; allowed: {older.allowed}"


def age_check(asked: str) -> AgeCheck:
    """The check of a root's age, for a date or time, UTC unless it has an offset, or a commit, tag or branch here."""
    oldest = _time(asked) if DATE.fullmatch(asked) else history.named(asked)
    if oldest is None:
        raise BadInput("command line", "--not-before", f"found {asked!r}", WANTED)

    def check(root: Statement) -> TooOld | None:
        if isinstance(oldest, datetime):
            too_old = TooOld(f"is of {root.finished.isoformat()}Z", f"{oldest.isoformat()}Z or later")
            return too_old if root.finished < oldest else None
        made_by = [commit.sha256 for commit in root.made_of(COMMIT)]
        if made_by and all(history.descends(commit, oldest) for commit in made_by):
            return None
        commits = f"commit {', '.join(made_by)}" if made_by else "no commit"
        return TooOld(f"was made by {commits}", f"{oldest}, or a commit that descends from it")

    return check


def _time(asked: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(asked)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
