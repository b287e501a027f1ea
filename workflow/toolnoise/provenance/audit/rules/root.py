"""Rules about signatures and the root: the statement of the page, which has every other statement's digest.

It is made last, after everything. So one digest, or one signature, stands for all statements, and a change anywhere in
one of them is found. A job that it does not wait for (a report, a measured speed) may be performed again later: its new
statement is not under the root until the page is made again. The audit says so without a finding.

An older root, which was signed in its time, must not pass for a later one. A signature has no date, and nothing in a
results folder or an archive shows that a newer one exists. So whoever audits or imports says what is known from
elsewhere: a day on which the study was not yet finished, or a commit that its code must contain.
"""

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.provenance import history
from toolnoise.provenance.audit.evidence import Evidence, Found
from toolnoise.provenance.statements import COMMIT, Statement, path_for
from toolnoise.provenance.tree import STATEMENTS
from toolnoise.steps import CONFIGURE, Job
from toolnoise.study import layout

DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")
WANTED = "a date such as 2026-01-31 or 2026-01-31T12:00+01:00 (UTC without an offset), or a commit of this repository"


class Unnamed(NamedTuple):
    """A statement that is not as the root names it: the artifact to name, what differs, whether that is ordinary."""

    artifact: str
    what: str
    ordinary: bool


def statements_are_the_roots(evidence: Evidence) -> Found:
    """Each statement has the digest that the root, which is the statement of the page, records for it."""
    page, earlier = (pattern.format(study=evidence.tree.name) for pattern in (layout.PAGE, STATEMENTS))
    # The first pages had no root, and showed the statements.
    if evidence.tree.top is None and evidence.output(page) and not evidence.output(earlier):
        yield page, "has a statement that does not name the others, and no other does"
    yield from ((unnamed.artifact, unnamed.what) for unnamed in _unnamed(evidence) if not unnamed.ordinary)


def statements_are_signed(evidence: Evidence) -> Found:
    """Every statement has a signature by an allowed signer."""
    for stated in evidence.tree.all_stated:
        if why := evidence.signatures[stated.path].why:
            yield stated.statement.name, why


def root_is_signed(evidence: Evidence) -> Found:
    """The root is signed with the required key, and the digest that it records for each statement is right."""
    root = evidence.tree.top
    if root is None:
        yield layout.PAGE.format(study=evidence.tree.name), "has no statement that names the others"
        return
    why = evidence.root_verdict.why if evidence.root_verdict else "its signature is not checked"
    if why:
        yield root.statement.name, why
    yield from ((unnamed.artifact, unnamed.what) for unnamed in _unnamed(evidence) if unnamed.ordinary)


class TooOld(NamedTuple):
    """How old a root is, or which commit made it, and what is allowed."""

    age: str
    allowed: str


def age_check(asked: str) -> Callable[[Statement], TooOld | None]:
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


def lines(evidence: Evidence) -> Iterator[str]:
    """The digests of a slim copy's list and of the root, and what the root does not vouch for."""
    name, root = evidence.tree.name, evidence.tree.top
    if of_list := evidence.tree.list_stated:
        yield f"{name}: list {of_list.sha256} (the statement of what was left out; it names the root)"
    if root is None:
        yield f"{name}: no chain: there is no statement of a page that names the digests of the others"
    else:
        shown, named = evidence.tree.inside(root.statement.name), len(root.statement.chain or {})
        yield f"{name}: root {root.sha256} (the statement of {shown}; it names {named} others)"
    late = [unnamed.artifact for unnamed in _unnamed(evidence) if unnamed.ordinary]
    if late:
        more = " and more" if len(late) > 3 else ""
        yield f"{name}: not under the root: {len(late)} statements, such as that of {', '.join(late[:3])}{more}"


def _unnamed(evidence: Evidence) -> Iterator[Unnamed]:
    tree, root = evidence.tree, evidence.tree.top
    if root is None:
        return
    named = dict(root.statement.chain or {})
    for stated in tree.statements:
        digest = named.pop(tree.named(stated.path), None)
        if stated is root or digest == stated.sha256:
            continue
        what = f"its statement has the SHA-256 {stated.sha256}; the root names {digest or 'no such statement'}"
        # Both times: a change of one alone is a change of a statement that was under the root.
        later = digest is None or root.statement.finished < stated.statement.started <= stated.statement.finished
        yield Unnamed(stated.statement.name, what, later and not _comes_before(evidence.job(stated.statement)))
    jobs = {path_for(first).as_posix(): job for first, job in evidence.jobs.items()} if named else {}
    for name in named:
        if tree.inside(name) not in tree.unreadable:
            unneeded = name in jobs and not jobs[name].needed
            yield Unnamed(name, "is named by the root, and is not there", ordinary=unneeded)


def _comes_before(job: Job | None) -> bool:
    """Whether the root waits for the job. For the study itself it does not: a change may concern no job."""
    return job is not None and job.needed and job.verb != CONFIGURE
