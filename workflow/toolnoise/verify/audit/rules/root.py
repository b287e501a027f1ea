"""Rules about signatures and the root: the statement of the page's audit, which has every other statement's digest.

It is made last, after everything. So one digest, or one signature, stands for all statements, and a change anywhere in
one of them is found. A job that it does not wait for (a report, a measured speed) may be performed again later: its new
statement is not under the root until that part is made again. The audit says so without a finding.
"""

from collections.abc import Iterator
from typing import NamedTuple

from toolnoise.record.statements import path_for
from toolnoise.steps import CONFIGURE, Job
from toolnoise.study import layout
from toolnoise.verify.audit.evidence import Evidence, Found


class Unnamed(NamedTuple):
    """A statement that is not as the root names it: the artifact to name, what differs, whether that is ordinary."""

    artifact: str
    what: str
    ordinary: bool


def statements_are_the_roots(evidence: Evidence) -> Found:
    """Each statement has the digest that the root, which is the statement of the page's audit, records for it."""
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
        yield layout.AUDITED.format(study=evidence.tree.name), "has no statement that names the others"
        return
    why = evidence.root_verdict.why if evidence.root_verdict else "its signature is not checked"
    if why:
        yield root.statement.name, why
    yield from ((unnamed.artifact, unnamed.what) for unnamed in _unnamed(evidence) if unnamed.ordinary)


def lines(evidence: Evidence) -> Iterator[str]:
    """The root's digest, and what it does not vouch for; that of a slim copy's list."""
    name, root = evidence.tree.name, evidence.tree.top
    if of_list := evidence.tree.list_stated:
        yield f"{name}: list {of_list.sha256} (the statement of what was left out; it names the root)"
    if root is None:
        yield f"{name}: no chain: there is no statement of a page that names the digests of the others"
        return
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
