"""The rule against replay: an older root of a study, which was signed in its time, must not pass for a later one.

A signature has no date, and nothing in a results folder shows that a newer one exists. So whoever audits says what is
known from elsewhere: a day on which the study was not yet finished, or a commit that its code must contain.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime

from toolnoise.base.errors import BadInput
from toolnoise.record import repository
from toolnoise.record.statements import COMMIT
from toolnoise.study import layout
from toolnoise.verify.audit.evidence import Evidence, Found, at

DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")
WANTED = "a date such as 2026-01-31 or 2026-01-31T12:00+01:00 (UTC without an offset), or a commit of this repository"


def not_before(asked: str) -> Callable[[Evidence], Found]:
    """The rule for a date or time, which is UTC unless it has an offset, or for a commit, tag or branch from here."""
    oldest = _time(asked) if DATE.fullmatch(asked) else repository.named(asked)
    if oldest is None:
        raise BadInput("command line", "--not-before", f"found {asked!r}", WANTED)

    def root_is_not_older(evidence: Evidence) -> Found:
        """The root was made at the required time or later, by the required commit or one that descends from it."""
        root = evidence.tree.top
        if root is None:
            yield layout.PAGE.format(study=evidence.tree.name), "has no statement that names the others"
        elif isinstance(oldest, datetime):
            if root.statement.finished < oldest:
                yield at(root), f"is of {root.statement.finished.isoformat()}Z; allowed: {oldest.isoformat()}Z or later"
        else:
            made_by = [one.sha256 for one in root.statement.dependencies if one.kind == COMMIT]
            if not made_by or not all(repository.descends(one, oldest) for one in made_by):
                found = f"commit {', '.join(made_by)}" if made_by else "no commit"
                yield at(root), f"was made by {found}; allowed: {oldest}, or a commit that descends from it"

    return root_is_not_older


def _time(asked: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(asked)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None
