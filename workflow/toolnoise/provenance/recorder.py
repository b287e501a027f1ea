"""The recorder around every job: it hashes the inputs, performs the job and writes a statement of the outputs.

The statement is written last, when all outputs are in their places: an interrupted job leaves no statement, and
Snakemake removes its outputs.
"""

import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import code_digest, environment, files, program, scratch
from toolnoise.base.errors import BadInput
from toolnoise.base.files import sha256
from toolnoise.provenance import repository, statements
from toolnoise.provenance.statements import Artifact, Statement, path_for

ENVIRONMENT = ("numpy", "scipy", "pandas", "matplotlib", "seaborn", "papermill", "nbconvert", "ipykernel", "pillow")
# The job whose statement has the digests of all others of its study: the root.
ROOT = "write-page"


class JobFile(NamedTuple):
    """A file that a job reads or writes, and its role."""

    path: str
    role: str
    timed: bool = False  # for a file that it writes: whether the file has times in it
    made_with: str | None = None  # for a file that it reads: the first output of the job that made it, if known


class Job(NamedTuple):
    """A job to record: its parameters, its files, and the function that performs it.

    `perform` returns the observed machine if a framework took part. `code` returns the digests of the code by file
    name, `outside` the files from outside that an output was made from, `resumed` the number of epochs after which a
    training resumed from its checkpoint.
    """

    verb: str
    parameters: Mapping[str, Any]
    command: tuple[str, ...]
    reads: tuple[JobFile, ...]
    writes: tuple[JobFile, ...]
    perform: Callable[[], Mapping[str, Any] | None]
    code: Callable[[], Mapping[str, str]]
    counted: Callable[[], str]
    outside: Callable[[str], Iterable[Mapping[str, Any]]] = lambda _output: ()
    resumed: Callable[[], int | None] = lambda: None
    checkpoint: str = ""
    engine: str = ""
    unrepeatable: str = ""


def look_up() -> None:
    """Cache what all statements need of this installation, for the jobs that will be forked from this process.

    These are versions and the package's sources. The caller makes sure that neither changes meanwhile.
    """
    program_versions()
    repository.package_versions(*ENVIRONMENT, *repository.DECISIVE)
    for path in program.PACKAGE.rglob("*.py"):
        code_digest.source_text(path)


def record_job(job: Job, process: str, done: Callable[[], object] = lambda: None) -> None:
    """Perform a job, which no other process may do meanwhile, and state it; `process` says how its process started.

    `done` is called after the statement is written: until then, a training can resume from its checkpoint.
    """
    first = job.writes[0].path
    # Detect a full disk or a folder in the way before the work.
    for path in (*(written.path for written in job.writes), path_for(first)):
        files.require_writable(path)
    with scratch.claim(Path(first)):
        _perform(job, process)
        done()


def _perform(job: Job, process: str) -> None:
    started = _now()
    before = {read.path: _stat(read.path) for read in job.reads}
    inputs = tuple(map(_input, job.reads))
    kept = sha256(job.checkpoint) if job.checkpoint and Path(job.checkpoint).is_file() else ""
    observed = job.perform()
    changed = [path for path, stat in before.items() if _stat(path) != stat]
    if changed:
        raise BadInput(changed[0], "", "changed while it was read", "a file that nobody writes to meanwhile")
    outputs = tuple(_artifact(one.path, one.role)._replace(timed=one.timed) for one in job.writes)
    made_from = (*inputs, *_sources(job.outside(outputs[0].name)), *_code(job.code()), *_repository(job.engine))
    # The job may have refused the checkpoint.
    after = job.resumed() if kept else None
    _write(
        job.verb,
        outputs,
        made_from,
        started,
        job.parameters,
        observed,
        process=process,
        resumed={"after_epochs": after, "checkpoint_sha256": kept} if after else None,
        chain=_chain(path_for(outputs[0].name)) if job.verb == ROOT else None,
        command=job.command,
        unrepeatable=job.unrepeatable,
        counted=job.counted(),
    )


def write_study(path: str, config: dict[str, Any], configuration: str) -> None:
    """Write a resolved study and a statement of its configuration, unless the file already has this study."""
    repository.refresh()
    # An unreadable study file is written again.
    with contextlib.suppress(BadInput):
        if path_for(path).exists() and files.read_json(path) == config:
            return
    started = _now()
    files.write_json(path, config)
    dependencies = (
        _artifact(configuration, "configuration", statements.SOURCE),
        *_code(code_digest.digests_of_files("toolnoise.study.config", files=program.names_of_registries())),
        *_repository(""),
    )
    why = "Snakemake writes the study from its configuration and its command line"
    _write("configure", (_artifact(path, "out"),), dependencies, started, unrepeatable=why)


def this_machine() -> dict[str, Any]:
    """The machine, versions and variables to record for a job without a framework."""
    matter = {name: os.environ[name] for name in environment.NUMERICAL if name in os.environ}
    return {
        **environment.describe_machine(),
        "versions": repository.package_versions(*ENVIRONMENT),
        "variables": matter,
    }


def program_versions() -> dict[str, str]:
    """The versions of toolnoise, Snakemake and Python."""
    return repository.package_versions("toolnoise", "snakemake") | {"python": sys.version.split()[0]}


def _write(
    verb: str,
    outputs: tuple[Artifact, ...],
    made_from: tuple[Artifact, ...],
    started: datetime,
    parameters: Mapping[str, Any] | None = None,
    observed: Mapping[str, Any] | None = None,
    **about: Any,
) -> None:
    commit = repository.head_commit() or repository.packed_commit()
    changes = commit.changes if commit else None
    told = dict(parameters or {}), dict(observed or this_machine()), started, _now(), program_versions(), changes
    files.write_json(path_for(outputs[0].name), Statement(verb, outputs, made_from, *told, **about).as_json())


def _chain(own: Path) -> dict[str, str]:
    """The digest of every other statement of the study, by name; the root vouches for them."""
    folder = next((place for place in own.parents if place.name == statements.FOLDER), None)
    digests = {}
    for path in sorted(folder.rglob(f"*{statements.SUFFIX}")) if folder else ():
        # The audit reports an unreadable statement.
        with contextlib.suppress(BadInput, OSError), files.open_plain(path) as file:
            digests[path.as_posix()] = statements.unpack_envelope(file.readall(), path).sha256()
    digests.pop(own.as_posix(), None)
    return digests


def _input(read: JobFile) -> Artifact:
    """An input, with the digest of the statement of the job that made it, if there is one."""
    stated = path_for(read.made_with) if read.made_with else None
    made_by = sha256(stated) if stated and stated.is_file() else ""
    return _artifact(read.path, read.role, statements.INPUT)._replace(statement=made_by)


def _sources(records: Iterable[Mapping[str, Any]]) -> Iterator[Artifact]:
    """The dependencies that no job made: files from outside, or of an installed package."""
    for record in records:
        package = record.get("package")
        if package:
            (version,) = repository.package_versions(package).values()
            path = repository.installed_file(package, record["path"])
            uri = f"pkg:pypi/{package}@{version}"
            yield Artifact(record["path"], sha256(path), path.stat().st_size, kind=statements.PACKAGE, uri=uri)
        else:
            name, uri = _relative(record["path"]), record.get("url") or record.get("page") or ""
            yield Artifact(name, record["sha256"], record["bytes"], kind=statements.SOURCE, uri=uri)


def _code(made_by: Mapping[str, str]) -> Iterator[Artifact]:
    for name, digest in sorted(made_by.items()):
        yield Artifact(name, digest, kind=statements.CODE if name.endswith(".py") else statements.RESOURCE)


def _repository(engine: str) -> Iterator[Artifact]:
    lock, commit = repository.lock_file(engine), repository.head_commit() or repository.packed_commit()
    if lock:
        yield Artifact(lock, sha256(program.path_of(lock)), kind=statements.LOCK)
    if commit and commit.sha:
        yield Artifact("repository", commit.sha, kind=statements.COMMIT)


def _artifact(path: str, role: str, kind: str = "") -> Artifact:
    with files.readable(path, "a file"):
        return Artifact(_relative(path), sha256(path), Path(path).stat().st_size, role, kind)


def _relative(path: str) -> str:
    """The path relative to the working directory, if it lies below it."""
    return os.path.relpath(path) if Path(path).is_absolute() and Path(path).is_relative_to(Path.cwd()) else str(path)


def _stat(path: str) -> tuple[int, int]:
    with files.readable(path, "a file"):
        status = Path(path).stat()
        return status.st_size, status.st_mtime_ns


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
