"""Results travel between clusters: exported as an archive, and imported where they fit the study, all of it or nothing.

What travels was made on a tooling, which other sites may not have: runs, dumps of predictions and of layers, profiles
and times of steps, each with its statement. Everything else can be made from them anywhere. Only the statements of the
prepared data are included, and the root's: with a signature on it, it vouches for the others elsewhere, too.

An archive may contain only what the study here expects, with the parameters that follow from it. The data must be the
data here, and so must the code. Files are unpacked in a hidden folder beside the results. They move only when all are
verified, and no file replaces another.
"""

import base64
import functools
import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from toolnoise.base import files, scratch
from toolnoise.base.errors import BadInput, naming_output
from toolnoise.base.files import sha256
from toolnoise.base.printing import escaped
from toolnoise.base.progress import progress
from toolnoise.provenance import archive, audit, statements, tree
from toolnoise.provenance.archive import BLOCK, DUMPS, TRAVELS, Member
from toolnoise.provenance.signing import Demand
from toolnoise.provenance.statements import CODE, FOLDER, RESOURCE, RESULTS, Artifact, Statement
from toolnoise.provenance.tree import Stated, Tree

# Its statement travels, without its files.
STATED = "prepare"
SNAKEMAKE = ".snakemake"


class StudyHere(NamedTuple):
    """A study: its name, the folder of its results, and what is known of its jobs (`ExpectedJob` in checks)."""

    name: str
    root: Path
    jobs: Mapping[str, Any]  # by the names of their statements
    records: Callable[[Any], Collection[str]]  # of the runs that a dump is of
    code: Callable[[str, dict[str, Any]], dict[str, str]]  # the digests of what makes a job, by verb and parameters

    def path(self, name: str) -> Path:
        """The place of a file of the study; names come from the study's jobs, never from an archive."""
        return self.root / PurePosixPath(name).relative_to(PurePosixPath(RESULTS, self.name))

    def difference(self, statement: Statement, job: Any) -> str:
        """The part in which a statement differs from a job of the study; empty if none."""
        if statement.verb != job.verb:
            return "verb"
        if statement.parameters != job.stated():
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
    found = _readable(here.root)
    travels = TRAVELS.keys() if predictions else TRAVELS.keys() - DUMPS.keys()
    wanted = {name: job for name, job in here.jobs.items() if job.verb in travels}
    if hardware is not None:
        wanted = {name: job for name, job in wanted.items() if job.parameters["spec"]["hardware"]["name"] in hardware}
    fitting = {}
    for name, one in _by_name(found).items():
        # A job may belong to another form of the study.
        if name in here.jobs and not here.difference(one.statement, here.jobs[name]):
            fitting[name] = one
    chosen = {name: one for name, one in fitting.items() if name in wanted}
    if not chosen:
        raise BadInput(here.root, "", "has nothing to export", "a study with finished runs")
    missing = sum(job.needed for name, job in wanted.items() if name not in chosen)
    counts = Counts(Counter(one.statement.verb for one in chosen.values()), missing)
    owed = {output.name: output for one in chosen.values() for output in one.statement.outputs}
    read = {needed.name for one in chosen.values() for needed in one.statement.inputs}
    data = {name: one for name, one in fitting.items() if one.statement.verb == STATED}
    chosen |= {name: one for name, one in data.items() if one.statement.name in read}
    if found.top:
        chosen[found.named(found.top.path)] = found.top
    with progress("exporting", sum(output.size for output in owed.values()), "B") as shown:
        archive.pack(out, _members(found, chosen, owed, shown.update))
    return counts


def _readable(root: Path) -> Tree:
    """The results in a folder, all of whose statements can be read."""
    found = tree.load_study(root)
    for error in found.unreadable.values():
        raise error
    return found


def _by_name(found: Tree) -> dict[str, Stated]:
    return {found.named(stated.path): stated for stated in found.statements}


def _members(
    found: Tree, chosen: dict[str, Stated], owed: dict[str, Artifact], done: Callable[[int], object]
) -> Iterator[Member]:
    for name, stated in sorted(chosen.items()):
        content = files.read_plain(found.root / stated.path, statements.WANTED)
        yield Member(name, len(content), iter([content]))
    for name, output in sorted(owed.items()):
        yield Member(name, output.size, _unchanged(found.root / found.inside(name), output, done))


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


def take(packed: str | Path, here: StudyHere, *, other_code: bool = False, demands: Sequence[Demand] = ()) -> Counts:
    """Verify an archive and add its files to the results of its study; returns what was not here before.

    If something is demanded of the root, it must have the digest of each statement.
    """
    snakemake = here.root.absolute().parent.parent / SNAKEMAKE
    if any((snakemake / "locks").glob("*")):
        found = "Snakemake is running here, or was killed"
        raise BadInput(snakemake.parent, "", found, "wait until it has ended; after a kill: snakemake --unlock")
    with naming_output(here.root, scratch.FOLDER), archive.unpacked(Path(packed), here.root) as folder:
        incoming = _Incoming(Path(packed), here, _readable(folder))
        if demands:
            incoming.check_root(demands)
        if not other_code:
            incoming.check_code()
        incoming.check_files()
        placed = incoming.place(snakemake)
    return Counts(Counter(placed), len(incoming.coming) - len(placed))


class _Incoming:
    """An unpacked archive; `coming` are the statements of its jobs that travel, `owed` their outputs, by name."""

    def __init__(self, packed: Path, here: StudyHere, found: Tree) -> None:
        self.packed, self.here, self.found = packed, here, found
        self.coming = {name: one for name, one in _by_name(found).items() if self._travels(name, one)}
        if not self.coming:
            raise self._refusal("", "has no statement of a job of the study here", "--study selects another form of it")
        self.owed = {output.name: output for one in self.coming.values() for output in one.statement.outputs}
        self._digest_here = functools.cache(lambda name: sha256(here.path(name)))
        self._makers = {name: job for job in here.jobs.values() for name in job.outputs}

    def _travels(self, name: str, stated: Stated) -> bool:
        """Whether a statement comes in, which must be one of the study here; those of the data and the root stay out.

        The page shows what was there, and is made anew here.
        """
        if stated.statement.chain is not None:
            return False
        job = self.here.jobs.get(name)
        if job is None or job.verb not in (STATED, *TRAVELS):
            asked = "statements of jobs of the study here that need a tooling (--study selects another form of it)"
            raise self._refusal(name, "is out of place", asked)
        if differs := self.here.difference(stated.statement, job):
            raise self._refusal(name, f"differs from the study here in its {differs}", "runs of one study")
        return job.verb in TRAVELS

    def check_root(self, demands: Sequence[Demand]) -> None:
        """Check that the root is as demanded, and that it has the digest of each statement."""
        top = self.found.top
        if top is None:
            raise self._refusal("", "has no root", "an archive of a study whose page was made")
        for demand in demands:
            if why := demand.why_not(self.found.root / top.path, top.statement):
                raise self._refusal(self.found.named(top.path), why, "")
        for name, stated in self.coming.items():
            if top.statement.chain.get(name) != stated.sha256:
                raise self._refusal(name, "is not as the root names it", "statements under the root")

    def check_code(self) -> None:
        """Check that the code here made the results."""
        for name, stated in self.coming.items():
            statement = stated.statement
            present = self.here.code(statement.verb, statement.parameters)
            made_by = {read.name: read.sha256 for read in statement.made_of(CODE, RESOURCE)}
            differs = [file for file in sorted(present.keys() | made_by) if present.get(file) != made_by.get(file)]
            if differs:
                found = f"was made by a {escaped(differs[0])} that differs from the one here"
                raise self._refusal(name, found, f"commit {statement.commit or 'unknown'}, or --other-code")

    def check_files(self) -> None:
        """Check that files are as stated, equal to those that are here, and made from what is here or comes in."""
        for path in self.found.files:
            if self.found.named(path) not in self.owed and not path.startswith(f"{FOLDER}/"):
                raise self._refusal(self.found.named(path), "is not named by a statement in the archive", "")
        hashed = audit.hashed(self.found)
        for name, output in self.owed.items():
            if hashed.get(self.found.inside(name)) != output.sha256:
                raise self._refusal(name, "is missing, or differs from its statement", "the SHA-256 in its statement")
            if os.path.lexists(self.here.path(name)) and self._digest_here(name) != output.sha256:
                found = "is already here with different bytes"
                raise BadInput(self.here.path(name), "", found, "an equal file, or none")
        for stated in self.found.statements:
            if stated.statement.verb == STATED:
                self._check_here(stated, stated.statement.outputs[0])
        for stated in self.coming.values():
            for read in stated.statement.inputs:
                if read.name not in self.owed:
                    self._check_here(stated, read)
                elif self.owed[read.name].sha256 != read.sha256:
                    raise self._refusal(stated.path, f"names a different {read.name}", "the one in the archive")
            self._check_records(stated.statement)

    def _check_here(self, stated: Stated, wanted: Artifact) -> None:
        maker = self._makers.get(wanted.name)
        if maker is None or not self.here.path(wanted.name).exists():
            if maker and maker.verb == STATED:
                asked = f"prepare the data first: snakemake {wanted.name}"
                raise BadInput(self.here.path(wanted.name), "", "no such file", asked)
            found = f"was made from {escaped(wanted.name)}"
            raise self._refusal(stated.path, found, "which must be here or in the archive")
        if (digest := self._digest_here(wanted.name)) != wanted.sha256:
            what = f"SHA-256 {digest[:12]}..., but {wanted.sha256[:12]}... in {stated.path}"
            raise BadInput(self.here.path(wanted.name), "", what, "the same bytes here and there")

    def _check_records(self, statement: Statement) -> None:
        """Check that what repeats the spec of a job repeats it rightly; the index of a dump is of no one run."""
        aside = ("seed", "draw") if statement.verb in DUMPS else ()
        spec = {key: value for key, value in statement.parameters["spec"].items() if key not in aside}
        for output in statement.outputs:
            if output.name.endswith(".json"):
                record = files.read_json(self.found.root / self.found.inside(output.name))
                if not isinstance(record, dict) or record.get("spec") != spec:
                    raise self._refusal(output.name, "differs from its statement in its spec", "the same spec")

    def place(self, snakemake: Path) -> list[str]:
        """Move all files to their places, or none; returns the verbs of jobs with files that were not here before."""
        placed, names = [], []
        for name, stated in self.coming.items():
            outputs = [one.name for one in stated.statement.outputs]
            absent = [one for one in outputs if not os.path.lexists(self.here.path(one))]
            # A statement alone is missing if an import was killed just before it came.
            if absent or not os.path.lexists(self.here.path(name)):
                placed.append(stated.statement.verb)
                # The statement last, as in the recorder: a stated result is complete.
                names += [*absent, name]
                # First of all, so that an import that is killed meanwhile can be repeated.
                _forget(snakemake, [name, *outputs])
        # One time for all, not older than the inputs here: Snakemake compares times, and would rerun jobs.
        read = {read.name for stated in self.coming.values() for read in stated.statement.inputs} - self.owed.keys()
        stamp = max([time.time_ns(), *(self.here.path(name).stat().st_mtime_ns for name in read)])
        moves = [(self.found.root / self.found.inside(name), self.here.path(name)) for name in names]
        for source, _ in moves:
            with source.open("rb+") as file:
                os.fsync(file.fileno())
            os.utime(source, ns=(stamp, stamp))
        _move(moves, self.found.root / "replaced")
        return placed

    def _refusal(self, name: str, found: str, wanted: str) -> BadInput:
        return BadInput(self.packed, escaped(name), found, wanted)


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
