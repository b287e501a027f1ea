"""Rules about origins: the code, the lock file and the commit that a result was made by are known.

A file of the repository is known if the one here has its digest, or if the stated commit has it so. In the second case
other code made the result than the one here: it is stale, which is no fault of the result.
"""

import functools
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import code_digest
from toolnoise.provenance.audit.evidence import Evidence, Found, each
from toolnoise.provenance.record import repository
from toolnoise.provenance.record.hashing import sha256
from toolnoise.provenance.record.statements import CODE, COMMIT, LOCK, PACKAGE, RESOURCE, Artifact, Statement
from toolnoise.provenance.record.tree import open_plain
from toolnoise.steps import STEPS

# How a file stands that a result was made by. Denied: it is here, and the commit that is given out for it has another.
CURRENT, CHANGED, UNKNOWN, DENIED = "current", "changed", "unknown", "denied"
# The folders whose files are the repository's, wherever a study ran.
REPOSITORY = {("workflow",), ("notebooks",), ("resources",), ("requirements",)}
# Under which names a lock file has what a job observes; TensorFlow for CPUs is TensorFlow without its GPU kernels.
PINNED_AS = {"tensorflow": ("tensorflow", "tensorflow-cpu")}


class Stale(NamedTuple):
    """An artifact that other code made than the one here, and the files that have changed since."""

    artifact: str
    changed: tuple[str, ...]


@each
def code_is_known(evidence: Evidence, statement: Statement) -> Found:
    """Every module, resource and lock file that a result was made by is the one here, or the stated commit has it."""
    name, standings = statement.outputs[0].name, _standings(evidence, statement)
    for one, standing in standings:
        if standing == UNKNOWN:
            yield name, f"was made by a {one.name} that is neither here nor in its commit"
        elif standing == DENIED:
            yield name, f"was made by another {one.name} than its commit has, and states no difference from it"
    if not any(one.kind == CODE for one, _ in standings):
        yield name, "was made by no code"


@each
def code_is_whole(evidence: Evidence, statement: Statement) -> Found:
    """Every module and resource that a verb's job is made by is stated."""
    job, standings = evidence.job(statement), _standings(evidence, statement)
    if not job or job.verb not in STEPS or job.parameters != statement.parameters:
        return
    # Of other code than this nothing here knows what it imported.
    if all(standing == CURRENT for _, standing in standings):
        verb = STEPS[job.verb]
        wanted = _in_repository(verb.modules(job.parameters), verb.files(job.parameters))
        missing = wanted - {one.name for one, _ in standings}
        if missing:
            yield statement.outputs[0].name, f"does not state that it was made by {', '.join(sorted(missing)[:3])}"


@each
def commit_is_known(_evidence: Evidence, statement: Statement) -> Found:
    """The stated commit is in this repository, and a result without one was not made here."""
    commit, name = _commit(statement), statement.outputs[0].name
    if repository.commit() is None:
        return
    if commit is None:
        yield name, "states no commit"
    elif repository.committed(commit) is None:
        yield name, f"was made by the commit {commit}, which is not in this repository"
    elif not isinstance(statement.changes, str | None) or not re.fullmatch(r"|[0-9a-f]{64}", statement.changes or ""):
        yield name, "says of the difference from its commit what is no digest"


@each
def lock_is_kept(_evidence: Evidence, statement: Statement) -> Found:
    """Every job ran in an environment that a lock file describes, with the versions that it pins."""
    name, locks = statement.outputs[0].name, [one for one in statement.dependencies if one.kind == LOCK]
    if len(locks) != 1 or locks[0].name not in repository.LOCKS:
        yield name, f"was made in an environment that is as none of {', '.join(repository.LOCKS)}"
        return
    pins = _pins(locks[0].name, locks[0].sha256, _commit(statement))
    for package, version in statement.observed.get("versions", {}).items():
        pinned = {pins[known] for known in PINNED_AS.get(package, (package,)) if known in pins}
        matters = pinned or (pins and package in repository.DECISIVE)
        if matters and repository.public(version) not in pinned:
            yield name, f"was made with {package} {version}; {locks[0].name} pins {', '.join(pinned) or 'none'}"


def stale(evidence: Evidence) -> Iterator[Stale]:
    """Every first output of a statement that other code made than the one here, with what has changed."""
    for stated in evidence.tree.statements:
        made_by = stated.statement
        changed = [one.name for one, standing in _standings(evidence, made_by) if standing == CHANGED]
        changed += [one.uri for one in made_by.dependencies if one.kind == PACKAGE and not _is_installed(one.uri)]
        if changed:
            yield Stale(made_by.outputs[0].name, tuple(changed))


def _standings(evidence: Evidence, statement: Statement) -> list[tuple[Artifact, str]]:
    """What the result was made by in the repository, and how each such file stands."""
    made_by = tuple(one for one in statement.dependencies if one.kind in (CODE, RESOURCE, LOCK))
    clean = statement.changes is None
    return list(zip(made_by, _judged(made_by, _commit(statement), clean, evidence.tree.root), strict=True))


@functools.cache
def _in_repository(modules: tuple[str, ...], files: tuple[str, ...]) -> frozenset[str]:
    """What modules and files a job is made by, but for those of the folder that a study runs in."""
    return frozenset(name for name in code_digest.sources(*modules, files=files) if (code_digest.ROOT / name).exists())


# Runs of one model are made by the same code: it is judged once.
@functools.cache
def _judged(made_by: tuple[Artifact, ...], commit: str | None, clean: bool, root: Path) -> tuple[str, ...]:
    then = repository.files_of(commit, [one.name for one in made_by]) if commit else {}
    found = []
    for one in made_by:
        if one.sha256 != _here(one.name, root):
            found.append(CHANGED if then.get(one.name) == one.sha256 else UNKNOWN)
        else:
            found.append(DENIED if clean and then.get(one.name, one.sha256) != one.sha256 else CURRENT)
    return tuple(found)


@functools.cache
def _here(name: str, root: Path) -> str | None:
    """The digest of the file of that name in the repository, or else where the study ran, which has results/<study>.

    Where the study ran may be another checkout of the repository: its code is not the code here.
    """
    path = Path(name)
    if path.is_absolute() or ".." in path.parts or not name.isprintable():
        return None
    own = path.parts[:1] in REPOSITORY
    for folder in (code_digest.ROOT,) if own else (code_digest.ROOT, root.resolve().parent.parent):
        try:
            with open_plain(folder / path) as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError:
            continue
    return None


def _commit(statement: Statement) -> str | None:
    return next((one.sha256 for one in statement.dependencies if one.kind == COMMIT), None)


@functools.cache
def _pins(name: str, digest: str, commit: str | None) -> dict[str, str]:
    """What a lock file pins; nothing if it is not known, which is a finding of its own."""
    path = code_digest.ROOT / name
    if path.exists() and sha256(path) == digest:
        return repository.pins(path.read_text("utf-8"))
    then = repository.show(commit, name) if commit else None
    return repository.pins(then.decode()) if then and hashlib.sha256(then).hexdigest() == digest else {}


def _is_installed(uri: str) -> bool:
    named = re.fullmatch(r"pkg:pypi/([A-Za-z0-9._-]+)@(.+)", uri)
    return bool(named) and repository.versions(named[1]).get(named[1]) == named[2]


def notes() -> Iterator[str]:
    """What cannot be known here of any result."""
    if repository.commit() is None:
        yield "this program is in no repository of its own: commits, and code that has changed since, are not known"
