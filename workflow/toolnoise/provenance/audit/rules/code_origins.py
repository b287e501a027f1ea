"""Rules about origins: the code, the lock file and the commit behind each result are known.

A file of the repository is known if the present one has its digest, or if the one in the stated commit has. In the
second case other code made the result than the present one: the result is stale, which is not its fault. It is not
stale where the file does not count, or where the same counts of a present one, wherever that lies (`moves`).
"""

import functools
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import code_digest, program
from toolnoise.base.files import is_below, sha256
from toolnoise.provenance import history, repository
from toolnoise.provenance.audit import beside, moves
from toolnoise.provenance.audit.evidence import Evidence, Found, each
from toolnoise.provenance.statements import CODE, LOCK, PACKAGE, RESOURCE, UNKNOWN, Artifact, Statement
from toolnoise.study import environments, job_code

# Standings of a file that made a result, besides unknown. Denied: the file is here, but the stated commit has a
# different one.
CURRENT, CHANGED, DENIED = "current", "changed", "denied"
# The folders whose files are the repository's, wherever a study ran.
REPOSITORY = ("workflow", "notebooks", "resources", "requirements")
# Names in lock files of an observed package; tensorflow-cpu is TensorFlow without its GPU kernels.
PINNED_AS = {"tensorflow": ("tensorflow", "tensorflow-cpu")}


class Stale(NamedTuple):
    """An artifact that other code made than the present one, and the files that have changed since."""

    artifact: str
    changed: tuple[str, ...]


@each
def code_is_known(evidence: Evidence, statement: Statement) -> Found:
    """Every module, resource and lock file behind a result is the present one or is in the stated commit."""
    name, standings = statement.name, _standings(evidence, statement)
    for file, standing in standings:
        if standing == UNKNOWN:
            yield name, f"was made by a {file.name} that is neither here nor in its commit"
        elif standing == DENIED:
            yield name, f"was made by a {file.name} that differs from its commit, but states no difference"
    if not any(file.kind == CODE for file, _ in standings):
        yield name, "was made by no code"


@each
def code_is_whole(evidence: Evidence, statement: Statement) -> Found:
    """Every module and resource that a job uses is stated."""
    job, standings = evidence.job(statement), _standings(evidence, statement)
    if not job or job.verb not in job_code.JOBS or job.parameters != statement.parameters:
        return
    yield from _builder(statement, [file.name for file, _ in standings if file.kind == CODE])
    # The imports of other code than the present one are unknown here.
    if all(standing == CURRENT for _, standing in standings):
        stated = tuple(file.name for file, _ in standings if file.kind == CODE)
        modules = (*job_code.modules(job.verb, job.parameters), *_imported(stated, evidence.tree.root))
        wanted = _in_repository(tuple(filter(_is_packages, modules)), job_code.files(job.verb, job.parameters))
        missing = wanted - set(_names_here(statement, evidence.tree.root))
        if missing:
            yield statement.name, f"does not state that it was made by {', '.join(sorted(missing)[:3])}"


def _names_here(statement: Statement, root: Path) -> Iterator[str]:
    """The present names of the files that made a result, each also under its name of then."""
    commit = statement.commit
    for file in statement.dependencies:
        yield file.name
        if file.kind == CODE and commit and _here(file.name, root) != file.sha256:
            yield from moves.present(commit, file.name) or ()


@functools.cache
def _imported(stated: tuple[str, ...], root: Path) -> tuple[str, ...]:
    """What stated modules from beside the results import. They have the stated bytes, so they could be opened."""
    paths = (beside.path(root, name) for name in stated if not name.startswith(f"{program.NAME}/"))
    return tuple(sorted({name for path in paths if path and path.is_file() for name in code_digest.read(path)[1]}))


def _is_packages(module: str) -> bool:
    """Whether a name is that of a module of this package: others are not looked for by the name that a study has."""
    return module.partition(".")[0] == program.PACKAGE.name


def _builder(statement: Statement, stated: list[str]) -> Found:
    """The module of a network's builder is stated wherever the network took part, whether it lies here or not."""
    builder = statement.parameters.get("spec", {}).get("model", {}).get("builder")
    if builder is None:
        return
    module = builder.partition(":")[0]
    # A module of this package may have the name of one's own.
    package = module.partition(".")[0] == program.PACKAGE.name
    wanted = tuple(f"/{module.replace('.', '/')}{end}" for end in (".py", "/__init__.py"))
    if not any(f"/{name}".endswith(wanted) and name.startswith(f"{program.NAME}/") == package for name in stated):
        yield statement.name, f"does not state the module of its network's builder, {builder}"


@each
def commit_is_known(_evidence: Evidence, statement: Statement) -> Found:
    """Every result states a commit that is in this repository, and whether the code was as there."""
    commit, name, here = statement.commit, statement.name, repository.commit()
    if statement.changes == UNKNOWN:
        yield name, f"was made by {f'commit {commit}' if commit else 'an unknown commit'} with unknown changes"
    elif here is None:
        return
    elif here.why:
        yield name, f"cannot be checked, because git does not answer here ({here.why})"
    elif commit is None:
        yield name, "states no commit"
    elif history.committed(commit) is None:
        yield name, f"was made by commit {commit}, which is not in this repository"
    elif not isinstance(statement.changes, str | None) or not re.fullmatch(r"|[0-9a-f]{64}", statement.changes or ""):
        yield name, "states a difference from its commit that is not a digest"


@each
def lock_is_kept(_evidence: Evidence, statement: Statement) -> Found:
    """Every job ran in the environment of its tooling, which a lock file describes, with its pinned versions."""
    name, locks = statement.name, statement.made_of(LOCK)
    if len(locks) != 1 or locks[0].name not in repository.LOCKS:
        yield name, f"was made in an environment that matches none of {', '.join(repository.LOCKS)}"
        return
    declared = environments.of(statement.parameters)
    is_known = locks[0].name in map(environments.lock_of, environments.known())
    if locks[0].name != environments.lock_of(declared) if declared else is_known:
        yield name, f"was made in the environment of {locks[0].name}; declared: {declared or 'the workflow'}"
    pins = _pins(locks[0].name, locks[0].sha256, statement.commit)
    for package, version in statement.observed.get("versions", {}).items():
        pinned = {pins[known] for known in PINNED_AS.get(package, (package,)) if known in pins}
        matters = pinned or (pins and package in repository.DECISIVE)
        if matters and repository.public(version) not in pinned:
            yield name, f"was made with {package} {version}; {locks[0].name} pins {', '.join(pinned) or 'none'}"


def stale(evidence: Evidence) -> Iterator[Stale]:
    """The first output of every statement by other code than the present one, with the changed files."""
    for stated in evidence.tree.statements:
        made_by = stated.statement
        changed = changed_since(evidence, made_by)
        packages = (needed.uri for needed in made_by.made_of(PACKAGE))
        changed += [uri for uri in packages if not _is_installed(uri)]
        if changed:
            yield Stale(made_by.name, tuple(changed))


def changed_since(evidence: Evidence, statement: Statement) -> list[str]:
    """The files of the repository that made the result, as its commit has them, and that are different now."""
    return [file.name for file, standing in _standings(evidence, statement) if standing == CHANGED]


def _standings(evidence: Evidence, statement: Statement) -> list[tuple[Artifact, str]]:
    """The files of the repository that made the result, each with its standing."""
    made_by = statement.made_of(CODE, RESOURCE, LOCK)
    clean, job = statement.changes is None, evidence.job(statement)
    modules = job_code.modules(job.verb, job.parameters) if job and job.verb in job_code.JOBS else ()
    uncounted = code_digest.uncounted(*filter(_is_packages, modules))
    return list(zip(made_by, _judged(made_by, statement.commit, clean, evidence.tree.root, uncounted), strict=True))


@functools.cache
def _in_repository(modules: tuple[str, ...], files: tuple[str, ...]) -> frozenset[str]:
    """These files, and the modules of this package that a job uses: no import is looked for where the audit runs."""
    names, waiting = {}, list(modules)
    while waiting:
        path = code_digest.source_of(waiting.pop())
        if path and path.is_relative_to(program.PACKAGE) and path not in names:
            names[path] = code_digest.name_of(path)
            # A result may be older than what its messages need.
            if names[path] not in code_digest.UNCOUNTED:
                waiting += filter(_is_packages, code_digest.read(path).imported)
    return frozenset((*files, *(name for path, name in names.items() if not code_digest.is_docstring(path))))


# Runs of one model share their code, so it is judged once.
@functools.cache
def _judged(
    made_by: tuple[Artifact, ...], commit: str | None, clean: bool, root: Path, uncounted: frozenset[str]
) -> tuple[str, ...]:
    then = history.files_of(commit, [file.name for file in made_by]) if commit else {}

    def standing(file: Artifact) -> str:
        in_commit = then.get(file.name)
        if file.sha256 == _here(file.name, root):
            return DENIED if clean and in_commit not in (None, file.sha256) else CURRENT
        if in_commit != file.sha256:
            return UNKNOWN
        return CURRENT if file.name in uncounted or moves.present(commit, file.name) is not None else CHANGED

    return tuple(map(standing, made_by))


@functools.cache
def _here(name: str, root: Path) -> str | None:
    """The digest of the file with that name in the repository, or else in the folder where the study ran.

    That folder contains results/<study>. It may be another checkout, whose code is not the present one.
    """
    if not is_below(name) or not name.isprintable():
        return None
    digest = beside.source_digest(program.path_of(name))
    source = None if digest or name.partition("/")[0] in REPOSITORY else beside.path(root, name)
    return beside.source_digest(source) if source else digest


@functools.cache
def _pins(name: str, digest: str, commit: str | None) -> dict[str, str]:
    """The versions that a lock file pins; empty if the file is unknown, which is a finding of its own."""
    path = program.path_of(name)
    if path.exists() and sha256(path) == digest:
        return repository.pins(path.read_text("utf-8"))
    then = history.show(commit, name) if commit else None
    return repository.pins(then.decode()) if then and hashlib.sha256(then).hexdigest() == digest else {}


def _is_installed(uri: str) -> bool:
    named = re.fullmatch(r"pkg:pypi/([A-Za-z0-9._-]+)@(.+)", uri)
    return bool(named) and repository.versions(named[1]).get(named[1]) == named[2]


def notes() -> Iterator[str]:
    """What cannot be checked here for any result."""
    if repository.commit() is None:
        yield "this program is not in a repository of its own: commits and changed code cannot be checked"
