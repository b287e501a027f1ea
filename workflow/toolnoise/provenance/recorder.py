"""The recorder around every job: it knows what goes in, lets the job be performed, and states what came out.

The statement is written last, when all outputs are in their places: a job that is broken off leaves none, and Snakemake
removes what it left. Only then does its checkpoint go, so that until the end a job can go on from it.
"""

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolnoise import streams
from toolnoise.base import code_digest, files, program, scratch
from toolnoise.base.errors import BadInput
from toolnoise.base.files import sha256
from toolnoise.base.job import Files, JobFunction
from toolnoise.base.spec import Spec
from toolnoise.engines import environment, serving
from toolnoise.provenance import envelope, repository, statements
from toolnoise.provenance.statements import Artifact, Statement, path_for
from toolnoise.study import figure_files, job_code
from toolnoise.study import programs as training_programs

ENVIRONMENT = ("numpy", "scipy", "pandas", "matplotlib", "seaborn", "papermill", "nbconvert", "ipykernel", "pillow")


def look_up() -> None:
    """Look up what each job's statement says of this installation, for the jobs that will be forked from this process.

    That is versions, and the digests of the package's sources. Whoever forks makes sure that neither changes meanwhile.
    """
    programs()
    repository.versions(*ENVIRONMENT, *repository.DECISIVE)
    for path in program.PACKAGE.rglob("*.py"):
        code_digest.read(path)


def run(verb: str, parameters: dict[str, Any], named: Files, aside: Files, process: str) -> None:
    """Perform a job and state what it did; `named` are its files by argument, `process` is how its process started."""
    spec = Spec.read(parameters["spec"]) if "spec" in parameters else None
    if spec and (absent := serving.why_not(spec.hardware.json)):
        raise BadInput(f"hardware {spec.hardware.name}", "", absent, "`toolnoise doctor` lists what can run")
    first, *_ = written = [path for path, _ in job_code.function_of(verb).written(named)]
    # A full disk or a folder in the way is found before the work.
    for path in (*written, path_for(first)):
        files.require_writable(path)
    with scratch.claim(Path(first)):
        perform(verb, parameters, named, aside, process)
        if "checkpoint" in aside:
            files.discard(aside["checkpoint"])
            if training_programs.is_program(spec.model.json):
                # The program has a folder for its own, which the job has checked.
                shutil.rmtree(Path(aside["checkpoint"]).with_suffix(""), ignore_errors=True)


def perform(verb: str, parameters: dict[str, Any], named: Files, aside: Files, process: str) -> None:
    """Perform a job whose outputs nobody else makes, and state it."""
    job, started = job_code.function_of(verb), _now()
    read = list(_read(job, verb, named))
    before = {path: _stat(path) for path, _ in read}
    inputs = [_artifact(path, role, statements.INPUT) for path, role in read]
    kept = _kept(aside)
    observed = job_code.perform(verb, parameters, named | aside)
    changed = [path for path, stat in before.items() if _stat(path) != stat]
    if changed:
        raise BadInput(changed[0], "", "changed while it was read", "a file that nobody writes to meanwhile")
    outputs = [_artifact(path, role) for path, role in job.written(named)]
    made_by = job_code.digests_of_sources(verb, parameters)
    outside = getattr(job.function, "from_outside", None)
    sources = _sources(outside(parameters, outputs[0].name) if outside else ())
    dependencies = [*inputs, *sources, *_code(made_by)]
    stated = parameters | ({"keys": streams.keys(Spec.read(parameters["spec"]))} if "spec" in parameters else {})
    _write(verb, outputs, dependencies, stated, observed or machine(), started, process, _resumed(named, kept))


def _read(job: JobFunction, verb: str, named: Files) -> Iterator[tuple[str, str]]:
    """The files that a job reads, with their roles; those of a notebook have their kinds in theirs."""
    if verb == "render":
        for kind, paths in figure_files.by_kind(named["metrics"]).items():
            yield from ((path, f"read {kind}") for path in paths)
    else:
        yield from job.read(named)


def _kept(aside: Files) -> str:
    """The digest of the checkpoint that a job finds, if there is one."""
    path = Path(aside.get("checkpoint") or "")
    return sha256(path) if path.is_file() else ""


def _resumed(named: Files, kept: str) -> dict[str, Any] | None:
    """What a run resumed from, if it did: it may have refused the checkpoint that it found."""
    after = files.read_json(named["record"]).get("resumed_after") if kept else None
    return {"after_epochs": after, "checkpoint_sha256": kept} if after else None


def write_study(path: str, config: dict[str, Any], configuration: str) -> None:
    """Write a resolved study, unless it is there as it is, and state which configuration it comes from."""
    repository.refresh()
    # One that cannot be read is written again.
    with contextlib.suppress(BadInput):
        if path_for(path).exists() and files.read_json(path) == config:
            return
    started = _now()
    files.write_json(path, config)
    dependencies = [
        _artifact(configuration, "configuration", statements.SOURCE),
        *_code(code_digest.sources("toolnoise.study.config", files=program.registries())),
    ]
    _write("configure", [_artifact(path, "out")], dependencies, {}, machine(), started)


def machine() -> dict[str, Any]:
    """What there is to say of a job that no framework took part in."""
    matter = {name: os.environ[name] for name in environment.NUMERICAL if name in os.environ}
    return {**environment.machine(), "versions": repository.versions(*ENVIRONMENT), "variables": matter}


def programs() -> dict[str, str]:
    """The versions of what makes a job run."""
    return repository.versions("toolnoise", "snakemake") | {"python": sys.version.split()[0]}


def _write(
    verb: str,
    outputs: list[Artifact],
    dependencies: list[Artifact],
    parameters: dict[str, Any],
    observed: dict[str, Any],
    started: datetime,
    process: str = "",
    resumed: dict[str, Any] | None = None,
) -> None:
    commit = repository.commit() or repository.packed()
    statement = Statement(
        verb,
        tuple(outputs),
        (*dependencies, *_repository(parameters)),
        # As JSON has it: tuples are lists.
        json.loads(json.dumps(parameters)),
        json.loads(json.dumps(observed)),
        started,
        _now(),
        programs(),
        commit.changes if commit else None,
        process,
        resumed,
        chain=_chain(path_for(outputs[0].name)) if verb == "write-page" else None,
    )
    files.write_json(path_for(outputs[0].name), statement.as_json())


def _chain(own: Path) -> dict[str, str]:
    """The digest of every other statement of the study, by name: what the root vouches for."""
    folder = next((place for place in own.parents if place.name == statements.FOLDER), None)
    digests = {}
    for path in sorted(folder.rglob(f"*{statements.SUFFIX}")) if folder else ():
        # One that cannot be read is a finding of the audit.
        with contextlib.suppress(BadInput, OSError), files.open_plain(path) as file:
            digests[path.as_posix()] = envelope.unpack(file.readall(), path).sha256()
    digests.pop(own.as_posix(), None)
    return digests


def _sources(records: Iterable[dict[str, Any]]) -> Iterator[Artifact]:
    """What a job was made from that no job made: files from outside, or one of an installed package."""
    for record in records:
        package = record.get("package")
        if package:
            (version,) = repository.versions(package).values()
            path = repository.installed_file(package, record["path"])
            uri = f"pkg:pypi/{package}@{version}"
            yield Artifact(record["path"], sha256(path), path.stat().st_size, kind=statements.PACKAGE, uri=uri)
        else:
            uri = record.get("url") or record.get("page") or ""
            yield Artifact(
                _relative(record["path"]), record["sha256"], record["bytes"], kind=statements.SOURCE, uri=uri
            )


def _code(made_by: dict[str, str]) -> Iterator[Artifact]:
    for name, digest in sorted(made_by.items()):
        yield Artifact(name, digest, kind=statements.CODE if name.endswith(".py") else statements.RESOURCE)


def _repository(parameters: dict[str, Any]) -> Iterator[Artifact]:
    lock, commit = repository.lock(parameters), repository.commit() or repository.packed()
    if lock:
        yield Artifact(lock, sha256(program.path_of(lock)), kind=statements.LOCK)
    if commit and commit.sha:
        yield Artifact("repository", commit.sha, kind=statements.COMMIT)


def _artifact(path: str, role: str, kind: str = "") -> Artifact:
    with files.readable(path, "a file"):
        return Artifact(_relative(path), sha256(path), Path(path).stat().st_size, role, kind)


def _relative(path: str) -> str:
    """A path as seen from here, if it lies below."""
    return os.path.relpath(path) if Path(path).is_absolute() and Path(path).is_relative_to(Path.cwd()) else str(path)


def _stat(path: str) -> tuple[int, int]:
    with files.readable(path, "a file"):
        status = Path(path).stat()
        return status.st_size, status.st_mtime_ns


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
