"""Results travel between clusters: exported as an archive, and imported where they fit the study, all of it or nothing.

What travels was made on a tooling, which other sites may not have: runs, dumps of predictions and of layers, profiles
and times of steps, each with its statement. Everything else can be made from them anywhere. Only the statements of the
prepared data are included, and the root's: with a signature on it, it vouches for the others elsewhere, too.

An archive may contain only what the study here expects, with the parameters that follow from it. Statements come first:
they bound the sizes of files, and the number of jobs bounds the statements. The data must be the data here, and so must
the code. Files are unpacked in a hidden folder beside the results. They move only when all are verified, and no file
replaces another.
"""

import base64
import hashlib
import os
import shutil
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, Protocol

from toolnoise.base import faults, files, scratch
from toolnoise.base.errors import BadInput
from toolnoise.base.files import sha256
from toolnoise.base.printing import escaped
from toolnoise.base.progress import progress
from toolnoise.provenance import archive, statements
from toolnoise.provenance.archive import BLOCK, Member
from toolnoise.provenance.signing import RequiredKey
from toolnoise.provenance.statements import CODE, FOLDER, RESOURCE, RESULTS, Artifact, Statement, path_for

# What to call the files of jobs, by verb: of those that dump what runs answer, and of all that travel.
DUMPS = {
    "predict": "dumps of predictions",
    "dump-outcomes": "dumps of outcomes",
    "remedy": "dumps of remedied predictions",
    "predict-elsewhere": "dumps of exchanged predictions",
    "dump-layers": "dumps of layers",
    "dump-continuations": "continuations",
}
TRAVELS = {
    "train": "runs",
    "run-program": "runs of programs",
    "adopt-run": "adopted runs",
    **DUMPS,
    "check-model": "model checks",
    "measure-speed": "times of steps",
    "profile": "profiles",
}
# Its statement travels, without its files.
STATED = "prepare"
# The root states the page; in earlier results, an audit on it.
ROOTS = ("index.html", "page/audit.js")
# A run's statement has about 15 kB. That of a dump has less for each of its runs, and the root for each job.
LARGEST_STATEMENT, A_JOB = 4 * 2**20, 2**11
SNAKEMAKE = ".snakemake"


class ExpectedJob(Protocol):
    """A job as the study expects it."""

    verb: str
    outputs: tuple[str, ...]
    parameters: dict[str, Any]
    needed: bool


class StudyHere(NamedTuple):
    """A study: its name, the folder of its results, and what is known of its jobs."""

    name: str
    root: Path
    jobs: Mapping[str, ExpectedJob]  # by the names of their statements
    keys: Callable[[Any], dict[str, Any]]  # of the draws that follow from a spec
    records: Callable[[ExpectedJob], Collection[str]]  # of the runs that a dump is of
    code: Callable[[str, dict[str, Any]], dict[str, str]]  # the digests of what makes a job, by verb and parameters

    def path(self, name: str) -> Path:
        """The place of a file of the study; names come from the study's jobs, never from an archive."""
        return self.root / PurePosixPath(name).relative_to(PurePosixPath(RESULTS, self.name))

    def difference(self, statement: Statement, job: ExpectedJob) -> str:
        """The part in which a statement differs from a job of the study; empty if none."""
        stated = dict(statement.parameters)
        keys = stated.pop("keys", None)
        if statement.verb != job.verb:
            return "verb"
        if stated != job.parameters or (keys is not None and keys != self.keys(stated.get("spec"))):
            return "spec"
        if sorted(output.name for output in statement.outputs) != sorted(job.outputs):
            return "list of outputs"
        records = {read.name for read in statement.inputs if read.name.endswith("/run.json")}
        return "list of runs" if job.verb in DUMPS and records != set(self.records(job)) else ""


class Counts(NamedTuple):
    """The number of jobs whose files were exported or imported, by verb, and the number of the others."""

    jobs: Counter[str]
    others: int

    def __str__(self) -> str:
        return ", ".join(f"{self.jobs[verb]} {name}" for verb, name in TRAVELS.items() if self.jobs[verb]) or "nothing"


# Export


def export(
    here: StudyHere, out: str | Path, hardware: Collection[str] | None = None, *, predictions: bool = True
) -> Counts:
    """Write the archive of a study, from all or some toolings; every byte is checked against its statement."""
    wanted = {name: job for name, job in here.jobs.items() if job.verb in TRAVELS}
    if not predictions:
        wanted = {name: job for name, job in wanted.items() if job.verb not in DUMPS}
    if hardware is not None:
        wanted = {name: job for name, job in wanted.items() if job.parameters["spec"]["hardware"]["name"] in hardware}
    contents, owed, read = {}, {}, set()
    for name, job in wanted.items():
        if content := _content(here, name, job):
            contents[name] = content
            statement = statements.parse(content, name)
            owed |= {output.name: output for output in statement.outputs}
            read |= {one.name for one in statement.inputs}
    if not owed:
        raise BadInput(here.root, "", "has nothing to export", "a study with finished runs")
    missing = sum(wanted[name].needed for name in wanted.keys() - contents)
    counts = Counts(Counter(wanted[name].verb for name in contents), missing)
    for name, job in here.jobs.items():
        if job.verb == STATED and not read.isdisjoint(job.outputs) and (content := _content(here, name, job)):
            contents[name] = content
    for first in ROOTS:
        path = here.path(root := path_for(f"{RESULTS}/{here.name}/{first}").as_posix())
        if path.exists() and statements.read(path).chain is not None:
            contents[root] = files.read_plain(path, statements.WANTED)
    with progress("exporting", sum(output.size for output in owed.values()), "B") as shown:
        archive.pack(out, _members(here, contents, owed, shown.update))
    return counts


def _content(here: StudyHere, name: str, job: ExpectedJob) -> bytes | None:
    """The bytes of a job's statement; None if there is none, or if it belongs to another form of the study."""
    path = here.path(name)
    if not os.path.lexists(path):
        return None
    content = files.read_plain(path, statements.WANTED)
    statement = statements.parse(content, path)
    if here.difference(statement, job):
        return None
    if any(output.size is None for output in statement.outputs):
        raise BadInput(path, "subject", "lacks sizes", statements.WANTED)
    return content


def _members(
    here: StudyHere, contents: dict[str, bytes], owed: dict[str, Artifact], done: Callable[[int], object]
) -> Iterator[Member]:
    # Statements first: from them the reader knows which files may follow, and their sizes.
    for name, content in sorted(contents.items()):
        yield Member(name, len(content), iter([content]))
    for name, output in sorted(owed.items()):
        yield Member(name, output.size, _unchanged(here.path(name), output, done))


def _unchanged(path: Path, stated: Artifact, done: Callable[[int], object]) -> Iterator[bytes]:
    """The bytes of a file in chunks, as its statement has them; `done` is called with each number of bytes read."""
    digest, left = hashlib.sha256(), stated.size
    with files.readable(path, "the file that its statement names"), files.open_plain(path) as file:
        while left and (chunk := file.read(min(left, BLOCK))):
            left -= len(chunk)
            digest.update(chunk)
            done(len(chunk))
            yield chunk
        more = file.read(1)
    if left or more or digest.hexdigest() != stated.sha256:
        raise BadInput(path, "", "differs from its statement", "unchanged results: see toolnoise audit")


# Import


def take(
    file: str | Path,
    here: StudyHere,
    *,
    other_code: bool = False,
    key: RequiredKey | None = None,
    age: Callable[[Statement], Sequence[str] | None] | None = None,
) -> Counts:
    """Verify an archive and add its files to the results of its study; returns what was not here before.

    The owner of `key` must have signed the root, which names all statements, and may not be too old for `age`.
    """
    snakemake = here.root.absolute().parent.parent / SNAKEMAKE
    if any((snakemake / "locks").glob("*")):
        found = "Snakemake is running here, or was killed"
        raise BadInput(snakemake.parent, "", found, "wait until it has ended; after a kill: snakemake --unlock")
    with faults.at(here.root, scratch.FOLDER), scratch.folder(here.root) as place:
        incoming = _Incoming(file, here, place)
        with closing(archive.members_of(file)) as members:
            following = incoming.read_statements(members)
            incoming.check_inputs()
            if not other_code:
                incoming.check_code()
            if key or age:
                incoming.check_root(key, age)
            incoming.read_files(following, members)
        incoming.check_records()
        placed = incoming.place(snakemake)
    return Counts(Counter(placed), len(incoming.coming) - len(placed))


class _Incoming:
    """An archive during its import; `coming` holds its statements and their digests by the names of their files."""

    def __init__(self, file: str | Path, here: StudyHere, scratch: Path) -> None:
        self.file, self.here, self.scratch = file, here, scratch
        self.coming: dict[str, Statement] = {}
        self.owed: dict[str, Artifact] = {}
        self.digests: dict[str, str] = {}
        self.root: Statement | None = None
        self._here: dict[str, str] = {}
        self._makers = {name: job for job in here.jobs.values() for name in job.outputs}

    def read_statements(self, members: Iterator[Member]) -> Member | None:
        """Read the statements; returns the member that follows them."""
        jobs, following = dict(self.here.jobs), None
        largest = max(LARGEST_STATEMENT, A_JOB * len(jobs))
        for member in members:
            if f"/{FOLDER}/" not in member.name:
                following = member
                break
            if member.size > largest:
                raise self._refusal(member.name, f"has {member.size} bytes", f"at most {largest}")
            content = b"".join(member.chunks)
            signed = statements.unpack(content, f"{self.file}: {member.name}")
            statement = statements.opened(signed, f"{self.file}: {member.name}")
            job = jobs.pop(member.name, None)
            if statement.chain is not None and self.root is None:
                # Its page shows what was there, and is made anew here.
                self.root = statement
                self._write("root", [content])
            elif job is None:
                asked = "statements, each once, of jobs of the study here (--study selects another form of it)"
                raise self._refusal(member.name, "is out of place", asked)
            else:
                self._expect(member.name, statement, job)
                self.digests[member.name] = signed.sha256()
                self._write(member.name, [content])
        if not self.coming:
            raise self._refusal("", "has no statement of a job of the study here", "--study selects another form of it")
        return following

    def _expect(self, name: str, statement: Statement, job: ExpectedJob) -> None:
        if differs := self.here.difference(statement, job):
            raise self._refusal(name, f"differs from the study here in its {differs}", "runs of one study")
        if any(output.size is None for output in statement.outputs):
            raise self._refusal(name, "lacks sizes", statements.WANTED)
        if job.verb == STATED:
            self._check_here(name, statement.outputs[0])
        elif job.verb in TRAVELS:
            self.coming[name] = statement
            self.owed |= {output.name: output for output in statement.outputs}
        else:
            raise self._refusal(name, "can be made anywhere from runs", "results that are made on a tooling")

    def check_inputs(self) -> None:
        """Check that the inputs of jobs are in the archive or here."""
        for name, statement in self.coming.items():
            for read in statement.inputs:
                if read.name not in self.owed:
                    self._check_here(name, read)
                elif self.owed[read.name].sha256 != read.sha256:
                    raise self._refusal(name, f"names a different {read.name}", "the one in the archive")

    def _check_here(self, name: str, wanted: Artifact) -> None:
        maker = self._makers.get(wanted.name)
        if maker is None or not self.here.path(wanted.name).exists():
            if maker and maker.verb == STATED:
                asked = f"prepare the data first: snakemake {wanted.name}"
                raise BadInput(self.here.path(wanted.name), "", "no such file", asked)
            raise self._refusal(name, f"was made from {escaped(wanted.name)}", "which must be here or in the archive")
        if (digest := self._digest(wanted.name)) != wanted.sha256:
            what = f"SHA-256 {digest[:12]}..., but {wanted.sha256[:12]}... in {name}"
            raise BadInput(self.here.path(wanted.name), "", what, "the same bytes here and there")

    def check_code(self) -> None:
        """Check that the code here made the results."""
        for name, statement in self.coming.items():
            present = self.here.code(statement.verb, statement.parameters)
            stated = {read.name: read.sha256 for read in statement.made_of(CODE, RESOURCE)}
            differs = [file for file in sorted(present.keys() | stated) if present.get(file) != stated.get(file)]
            if differs:
                wanted = f"commit {statement.commit}" if statement.commit else "the same code"
                found = f"was made by a {escaped(differs[0])} that differs from the one here"
                raise self._refusal(name, found, f"{wanted}, or --other-code")

    def check_root(self, key: RequiredKey | None, age: Callable[[Statement], Sequence[str] | None] | None) -> None:
        """Check that the root is signed and not too old, as required, and that it has the digest of each statement."""
        if self.root is None:
            raise self._refusal("", "has no root", "an archive of a study whose page was made")
        name = path_for(self.root.name).as_posix()
        if key and (why := key.refusal(self.scratch / "root", self.root)):
            raise self._refusal(name, why, "a root that is signed with the required key")
        if age and (older := age(self.root)):
            raise self._refusal(name, *older)
        for name in self.coming:
            if self.root.chain.get(name) != self.digests[name]:
                raise self._refusal(name, "is not as the root names it", "statements under the root")

    def read_files(self, member: Member | None, members: Iterator[Member]) -> None:
        """Unpack the files in the statements, each with exactly its stated size."""
        owed = dict(self.owed)
        for name, output in owed.items():
            if os.path.lexists(self.here.path(name)) and self._digest(name) != output.sha256:
                found = "is already here with different bytes"
                raise BadInput(self.here.path(name), "", found, "an equal file, or none")
            # It would be unpacked, and only then be refused.
            if name.endswith(".json") and output.size > files.LARGEST_TEXT:
                raise self._refusal(name, f"has {output.size} bytes", f"at most {files.LARGEST_TEXT}")
        size, free = sum(output.size for output in owed.values()), shutil.disk_usage(self.scratch).free
        if size > free:
            raise self._refusal("", f"holds {size} bytes", f"{free} are free for {self.here.root}")
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

    def check_records(self) -> None:
        """Check that what repeats the spec of a job repeats it rightly; the index of a dump is of no one run."""
        for statement in self.coming.values():
            aside = ("seed", "draw") if statement.verb in DUMPS else ()
            spec = {key: value for key, value in statement.parameters["spec"].items() if key not in aside}
            for output in statement.outputs:
                if output.name.endswith(".json"):
                    record = files.read_json(self.scratch / output.name)
                    if not isinstance(record, dict) or record.get("spec") != spec:
                        raise self._refusal(output.name, "differs from its statement in its spec", "the same spec")

    def place(self, snakemake: Path) -> list[str]:
        """Move all files to their places, or none; returns the verbs of jobs with files that were not here before."""
        placed, names = [], []
        for name, statement in self.coming.items():
            absent = [one.name for one in statement.outputs if not os.path.lexists(self.here.path(one.name))]
            # A statement alone is missing if an import was killed just before it came.
            if absent or not os.path.lexists(self.here.path(name)):
                placed.append(statement.verb)
                # The statement last, as in the recorder: a stated result is complete.
                names += [*absent, name]
                # First of all, so that an import that is killed meanwhile can be repeated.
                _forget(snakemake, [name, *(output.name for output in statement.outputs)])
        # One time for all, not older than the inputs here: Snakemake compares times, and would rerun jobs.
        known = [self.here.path(name) for name in self._here]
        stamp = max([time.time_ns(), *(path.stat().st_mtime_ns for path in known)])
        for name in names:
            os.utime(self.scratch / name, ns=(stamp, stamp))
        _move([(self.scratch / name, self.here.path(name)) for name in names], self.scratch / "before")
        return placed

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
        if name not in self._here:
            with files.readable(self.here.path(name), "a plain file"):
                self._here[name] = sha256(self.here.path(name))
        return self._here[name]

    def _refusal(self, name: str, found: str, wanted: str) -> BadInput:
        return BadInput(self.file, escaped(name), found, wanted)


def _move(moves: Sequence[tuple[Path, Path]], replaced: Path) -> None:
    """Move files to their places; after a failure, everything is as before."""
    replaced.mkdir()
    with ExitStack() as undo:
        for number, (source, target) in enumerate(moves):
            for folder in reversed([one for one in target.parents if not one.exists()]):
                undo.callback(lambda folder=folder: folder.exists() and folder.rmdir())
                files.make_folder(folder)
            if target.exists():
                # An old statement whose files are gone.
                _rename(target, replaced / str(number), undo)
            _rename(source, target, undo)
        for place in dict.fromkeys(target.parent for _, target in moves):
            files.sync_folder(place)
        undo.pop_all()


def _rename(source: Path, target: Path, undo: ExitStack) -> None:
    undo.callback(lambda: source.exists() or target.replace(source))
    source.replace(target)


def _forget(folder: Path, names: Iterable[str]) -> None:
    """Delete Snakemake's records of earlier files with these names; they would make it rerun their jobs."""
    for name in names:
        encoded = base64.urlsafe_b64encode(name.encode()).decode()
        # Snakemake's rule: a name too long for a file is a path, whose folders start with @.
        parts = [encoded[start : start + 254] for start in range(0, len(encoded), 254)]
        for record in ("metadata", "incomplete"):
            Path(folder, record, *(f"@{part}" for part in parts[:-1]), parts[-1]).unlink(missing_ok=True)
