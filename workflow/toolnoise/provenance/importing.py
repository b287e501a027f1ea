"""Import: an archive of runs is verified against the study here and added to its results, all of it or nothing.

An archive may contain only what the study here expects. Names and specs are those of the study's own jobs. Statements
bound the sizes of files, and the number of jobs bounds the statements. The data must be the data here, and so must the
code. Files are unpacked in a hidden folder beside the results. They move only when all are verified, and no file
replaces another.
"""

import base64
import hashlib
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from toolnoise import steps
from toolnoise.base import faults, files, scratch
from toolnoise.base.errors import BadInput
from toolnoise.base.files import sha256
from toolnoise.base.printing import escaped
from toolnoise.base.progress import progress
from toolnoise.provenance import archive, envelope, sharing, statements, tree
from toolnoise.provenance.archive import Member
from toolnoise.provenance.audit.rules.root import TooOld
from toolnoise.provenance.sharing import Counts
from toolnoise.provenance.signing import AllowedSigners
from toolnoise.provenance.statements import CODE, RESOURCE, Artifact, Statement
from toolnoise.provenance.tree import RESULTS, ROOTS, is_root
from toolnoise.steps import Job
from toolnoise.study import grid as studies
from toolnoise.study import job_code, layout
from toolnoise.study.study import Study

SNAKEMAKE = Path(".snakemake")

AgeCheck = Callable[[Statement], TooOld | None]


class Coming(NamedTuple):
    """A job in the archive: as the study here expects it, as its statement describes it, and the statement's digest."""

    job: Job
    statement: Statement
    sha256: str


def take(
    file: str | Path,
    into: str | Path | None = None,
    study: str | Path | None = None,
    *,
    other_code: bool = False,
    signers: AllowedSigners | None = None,
    key: AllowedSigners | None = None,
    age: AgeCheck | None = None,
) -> Counts:
    """Verify an archive and add its files to the results of its study; returns what was not here before.

    The study is read from the file `study`, or from the study.json in the folder `into`. `signers` must have signed
    every statement, the owner of `key` the root, which names them and may not be too old for `age`.
    """
    if into is None:
        into = Path(RESULTS, studies.load(study).name if study else _study_named_in(file))
    into = Path(into)
    if not into.is_dir():
        raise BadInput(into, "", "no such folder", "the folder of the study's results, with its data prepared")
    folder = into.absolute().parent.parent
    if any((folder / SNAKEMAKE / "locks").glob("*")):
        found = "Snakemake is running here, or was killed"
        raise BadInput(folder, "", found, "wait until it has ended; after a kill: snakemake --unlock")
    here = studies.load(study or into / tree.STUDY_FILE)
    with _refused_write_errors(into), scratch.folder(into) as unpacked:
        incoming = _Incoming(file, here, into, unpacked)
        incoming.verify(other_code=other_code, signers=signers, key=key, age=age)
        placed = incoming.place(lambda names: _forget(folder / SNAKEMAKE, names))
    return Counts(Counter(job.verb for job in placed), len(incoming.coming) - len(placed))


class _Incoming:
    """An archive during its import; `coming` holds its jobs by the names of their statements."""

    def __init__(self, file: str | Path, study: Study, into: Path, scratch: Path) -> None:
        self.file, self.study, self.into, self.scratch = file, study, into, scratch
        self.coming: dict[str, Coming] = {}
        self.root: tuple[str, Statement] | None = None
        self._digests: dict[str, str] = {}

    def verify(
        self, *, other_code: bool, signers: AllowedSigners | None, key: AllowedSigners | None, age: AgeCheck | None
    ) -> None:
        """Unpack the archive in the scratch folder, and refuse it if anything does not match."""
        with closing(archive.read(self.file)) as members:
            member = self._past_signers(self._read_statements(members), members)
            for name, coming in self.coming.items():
                self._check_inputs(name, coming.statement)
                if not other_code:
                    self._check_code(name, coming)
            if signers:
                self._check_signatures(signers)
            if key or age:
                self._check_root(key, age)
            self._read_files(member, members)
        for name, job in self._records():
            record = files.read_json(self.scratch / name)
            if not isinstance(record, dict) or record.get("spec") != job.parameters["spec"]:
                raise self._refusal(name, "differs from its statement in its spec", "the same spec")

    def place(self, before: Callable[[list[str]], object]) -> list[Job]:
        """Move all files to their places, or none; returns the jobs with files that were not here before.

        `before` is called with the names of their outputs, so that an import that is killed meanwhile can be repeated.
        """
        placed, moves = [], []
        for name, coming in self.coming.items():
            new = [output.name for output in coming.statement.outputs if not os.path.lexists(self._target(output.name))]
            # A statement alone is missing if an import was killed just before it came.
            if new or not os.path.lexists(self._target(name)):
                placed.append(coming.job)
                # The statement last, as in the recorder: a stated result is complete.
                moves += [(self.scratch / path, self._target(path)) for path in (*new, name)]
        # One time for all, not older than the inputs here: Snakemake compares times, and would rerun jobs.
        known = [self._target(name) for name in self._digests]
        stamp = max([time.time_ns(), *(path.stat().st_mtime_ns for path in known)])
        for source, _ in moves:
            os.utime(source, ns=(stamp, stamp))
        before([name for job in placed for name, _ in job.outputs])
        _move(moves, self.scratch / "before")
        return placed

    def _read_statements(self, members: Iterator[Member]) -> Member | None:
        """Read the statements; returns the member that follows them."""
        jobs = {sharing.statement_name(job): job for job in steps.jobs(self.study)}
        roots = {statements.path_for(first.format(study=self.study.name)).as_posix() for first in ROOTS.values()}
        largest_root = max(sharing.LARGEST_STATEMENT, sharing.AN_INPUT * len(jobs))
        for member in members:
            job, may_be_root = jobs.pop(member.name, None), member.name in roots
            if job is None and not may_be_root:
                break
            roots.discard(member.name)
            largest = largest_root if may_be_root else sharing.largest_statement(job)
            if member.size > largest:
                raise self._refusal(member.name, f"has {member.size} bytes", f"at most {largest}")
            content = b"".join(member.chunks)
            signed = envelope.unpack(content, f"{self.file}: {member.name}")
            statement = statements.opened(signed, f"{self.file}: {member.name}")
            if is_root(statement):
                # Its page shows what was there, and is made anew here.
                self.root = member.name, statement
                self._write(member.name, [content])
                continue
            if differs := sharing.difference(statement, job) if job else "verb":
                raise self._refusal(member.name, f"differs from the study here in its {differs}", "runs of one study")
            if any(output.size is None for output in statement.outputs):
                raise self._refusal(member.name, "lacks sizes", statements.WANTED)
            if sharing.travels(job):
                self.coming[member.name] = Coming(job, statement, signed.sha256())
                self._write(member.name, [content])
            elif job.verb in sharing.STATED:
                self._check_here(member.name, statement.outputs[0])
            else:
                raise self._refusal(member.name, "can be made anywhere from runs", "results that are made on a tooling")
        else:
            # Nothing follows them.
            member = None
        if not self.coming or (member and f"/{statements.FOLDER}/" in member.name):
            asked = "statements, each once, of jobs of the study here (--study selects another form of it)"
            raise self._refusal(member.name if member else "", "is out of place", asked)
        return member

    def _past_signers(self, member: Member | None, members: Iterator[Member]) -> Member | None:
        """The member after the sender's list of allowed signers: who receives an archive has a list of his own."""
        if member is None or member.name != sharing.SIGNERS:
            return member
        if member.size > sharing.LARGEST_LIST:
            raise self._refusal(member.name, f"has {member.size} bytes", f"at most {sharing.LARGEST_LIST}")
        for _ in member.chunks:
            pass
        return next(members, None)

    def _check_inputs(self, name: str, statement: Statement) -> None:
        """Check that a job's inputs are in the archive or here."""
        outputs = {output.name: output for coming in self.coming.values() for output in coming.statement.outputs}
        for read in statement.inputs:
            if read.name not in outputs:
                self._check_here(name, read)
            elif outputs[read.name].sha256 != read.sha256:
                raise self._refusal(name, f"names a different {read.name}", "the one in the archive")

    def _check_here(self, name: str, wanted: Artifact) -> None:
        path = self._target(wanted.name)
        if not path.exists():
            data = [self.study.path(layout.DATA, dataset=dataset) for dataset in self.study.datasets]
            if wanted.name in data:
                raise BadInput(path, "", "no such file", f"prepare the data first: snakemake {wanted.name}")
            raise self._refusal(name, f"was made from {wanted.name}", "which must be here or in the archive")
        if self._digest(wanted.name) != wanted.sha256:
            what = f"SHA-256 {self._digest(wanted.name)[:12]}..., but {wanted.sha256[:12]}... in {name}"
            raise BadInput(path, "", what, "the same bytes here and there")

    def _check_code(self, name: str, coming: Coming) -> None:
        present = job_code.digests_of_sources(coming.job.verb, coming.job.parameters)
        stated = {read.name: read.sha256 for read in coming.statement.made_of(CODE, RESOURCE)}
        for file in sorted(present.keys() | stated.keys()):
            if present.get(file) != stated.get(file):
                commit = coming.statement.commit
                wanted = f"{f'commit {commit}' if commit else 'the same code'}, or --other-code"
                raise self._refusal(name, f"was made by a {escaped(file)} that differs from the one here", wanted)

    def _check_signatures(self, signers: AllowedSigners) -> None:
        verdicts = signers.check_all({self.scratch / name: coming.statement for name, coming in self.coming.items()})
        for name, verdict in zip(self.coming, verdicts.values(), strict=True):
            if verdict.why:
                raise self._refusal(name, verdict.why, "statements by allowed signers")

    def _check_root(self, key: AllowedSigners | None, age: AgeCheck | None) -> None:
        """Check that the root is signed and not too old, as required, and that it has the digest of each statement."""
        if self.root is None:
            raise self._refusal("", "has no root", "an archive of a study whose page was made")
        root_name, root = self.root
        if key and (why := key.check(self.scratch / root_name, root).why):
            raise self._refusal(root_name, why, "a root that is signed with the required key")
        if age and (older := age(root)):
            raise self._refusal(root_name, *older)
        for name in self.coming:
            if (root.chain or {}).get(name) != self.coming[name].sha256:
                raise self._refusal(name, "is not as the root names it", "statements under the root")

    def _read_files(self, member: Member | None, members: Iterator[Member]) -> None:
        """Unpack the files in the statements, each with exactly its stated size."""
        owed = {output.name: output for coming in self.coming.values() for output in coming.statement.outputs}
        for name, output in owed.items():
            if os.path.lexists(self._target(name)) and self._digest(name) != output.sha256:
                raise BadInput(self._target(name), "", "is already here with different bytes", "an equal file, or none")
        for name, _ in self._records():
            # It would be unpacked, and only then be refused.
            if (owed[name].size or 0) > files.LARGEST_TEXT:
                raise self._refusal(name, f"has {owed[name].size} bytes", f"at most {files.LARGEST_TEXT}")
        size, free = sum(output.size or 0 for output in owed.values()), shutil.disk_usage(self.scratch).free
        if size > free:
            raise self._refusal("", f"holds {size} bytes", f"{free} are free for {self.into}")
        with progress("importing", size, "B") as counter:
            while member:
                output = owed.pop(member.name, None)
                if output is None:
                    what = "is not named by a statement in the archive, or occurs twice"
                    raise self._refusal(member.name, what, archive.WANTED)
                if member.size != output.size:
                    raise self._refusal(member.name, f"has {member.size} bytes", f"{output.size} in its statement")
                if self._write(member.name, member.chunks, counter.update) != output.sha256:
                    raise self._refusal(member.name, "differs from its statement", "the SHA-256 in its statement")
                member = next(members, None)
        if owed:
            raise self._refusal(min(owed), "is missing", "every file that its statements name")

    def _records(self) -> Iterator[tuple[str, Job]]:
        """The records in the archive, with their jobs."""
        for coming in self.coming.values():
            yield from ((name, coming.job) for name, role in coming.job.outputs if role == "record")

    def _write(self, name: str, chunks: Iterable[bytes], done: Callable[[int], object] = lambda _: None) -> str:
        """Write a file of the scratch folder; returns its digest."""
        path, digest = self.scratch / name, hashlib.sha256()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for chunk in chunks:
                digest.update(chunk)
                done(file.write(chunk))
            file.flush()
            os.fsync(file.fileno())
        return digest.hexdigest()

    def _digest(self, name: str) -> str:
        if name not in self._digests:
            with files.readable(self._target(name), "a plain file"):
                self._digests[name] = sha256(self._target(name))
        return self._digests[name]

    def _target(self, name: str) -> Path:
        """The place of a file of the study; names come from the study's jobs, never from an archive."""
        return self.into / PurePosixPath(name).relative_to(PurePosixPath(RESULTS, self.study.name))

    def _refusal(self, name: str, found: str, wanted: str) -> BadInput:
        return BadInput(self.file, escaped(name), found, wanted)


def _study_named_in(file: str | Path) -> str:
    with closing(archive.read(file)) as members:
        first = next(members, None)
    study = archive.study_of(first.name) if first else None
    if study is None:
        raise BadInput(file, escaped(first.name) if first else "", "belongs to no study", archive.WANTED)
    return study


@contextmanager
def _refused_write_errors(into: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"cannot be written to ({faults.called(error)})"
        raise BadInput(into, "", what, "a folder with room, on one file system") from None


def _move(moves: list[tuple[Path, Path]], replaced: Path) -> None:
    """Move files to their places; after a failure, everything is as before."""
    replaced.mkdir()
    made: list[Path] = []
    moved: list[tuple[Path, Path, Path]] = []
    try:
        for number, (source, target) in enumerate(moves):
            absent = [folder for folder in target.parents if not folder.exists()]
            files.make_folder(target.parent)
            made += reversed(absent)
            before = replaced / str(number)
            moved.append((source, target, before))
            if target.exists():
                # An old statement whose files are gone.
                target.replace(before)
            source.replace(target)
        for place in dict.fromkeys(target.parent for _, target, _ in moved):
            files.sync_folder(place)
    except BaseException:
        for source, target, before in reversed(moved):
            if not source.exists():
                target.replace(source)
            if before.exists():
                before.replace(target)
        for folder in reversed(made):
            folder.rmdir()
        raise


def _forget(folder: Path, names: list[str]) -> None:
    """Delete Snakemake's records of earlier files with these names; they would make it rerun their jobs."""
    for name in names:
        encoded = base64.urlsafe_b64encode(name.encode()).decode()
        # Snakemake's rule: a name too long for a file is a path, whose folders start with @.
        parts = [encoded[start : start + 254] for start in range(0, len(encoded), 254)]
        for record in ("metadata", "incomplete"):
            Path(folder, record, *(f"@{part}" for part in parts[:-1]), parts[-1]).unlink(missing_ok=True)
