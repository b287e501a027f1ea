"""Results travel between clusters: an archive is exported, and imported into the same study as a whole or not at all.

Only results that need a tooling travel, because other sites may not have it: runs, dumps of predictions and of layers,
profiles and times of steps, each with its statement. Everything else can be made from them anywhere. Two further kinds
of statement are included: those of the prepared data, and the root, which vouches for the others if it is signed.

An archive may contain only jobs that the study here expects, with the parameters that follow from the study. Its data
and its code must equal those here. Files are unpacked in a hidden folder beside the results. They move only when all
are verified, and no file replaces another.
"""

import base64
import dataclasses
import functools
import hashlib
import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from toolnoise.base import files, scratch
from toolnoise.base.errors import BadInput, naming_output
from toolnoise.base.files import sha256
from toolnoise.base.printing import make_printable
from toolnoise.base.progress import progress
from toolnoise.checks import audit_rules
from toolnoise.checks.expected_jobs import ExpectedJob, expected_jobs
from toolnoise.provenance import archive, audit, statements, tree
from toolnoise.provenance.archive import BLOCK, DUMPS, TRAVELS, Member
from toolnoise.provenance.statements import CODE, RESOURCE, RESULTS, Artifact, Statement, path_for
from toolnoise.provenance.tree import Tree
from toolnoise.study import job_code
from toolnoise.study.study import Study

# The statement of this job travels without the job's files.
STATED = "prepare"
SNAKEMAKE = ".snakemake"
# Reasons to refuse an archive: a file, what is wrong with it, and what is allowed.
Refusals = Iterator[tuple[str, str, str]]


class Counts(NamedTuple):
    """The number of jobs whose files were exported or imported, by verb, and the number of other jobs."""

    jobs: Counter[str]
    others: int

    def __str__(self) -> str:
        return ", ".join(f"{self.jobs[verb]} {name}" for verb, name in TRAVELS.items() if self.jobs[verb]) or "nothing"


def _jobs_of(study: Study) -> dict[str, ExpectedJob]:
    """The jobs of a study by the names of their statements."""
    return {path_for(job.outputs[0]).as_posix(): job for job in expected_jobs(study)}


# Export


def export_archive(
    study: Study, root: Path, out: str | Path, hardware: Collection[str] | None = None, *, predictions: bool = True
) -> Counts:
    """Write the archive of a study, from all or some toolings; every byte is checked against its statement."""
    found, jobs = tree.load_readable(root), _jobs_of(study)
    travels = TRAVELS.keys() if predictions else TRAVELS.keys() - DUMPS.keys()
    wanted = {
        name: job
        for name, job in jobs.items()
        if job.verb in travels and (hardware is None or job.parameters["spec"]["hardware"]["name"] in hardware)
    }
    # A job may belong to another form of the study.
    fitting = {name: one for name, one in found.by_name.items() if not any(audit_rules.unlike(jobs.get(name), one))}
    chosen = {name: one for name, one in fitting.items() if name in wanted}
    if not chosen:
        raise BadInput(root, "", "has nothing to export", "a study with finished runs")
    missing = sum(job.needed for name, job in wanted.items() if name not in chosen)
    counts = Counts(Counter(one.verb for one in chosen.values()), missing)
    owed = {output.name: output for one in chosen.values() for output in one.outputs}
    read = {needed.name for one in chosen.values() for needed in one.inputs}
    for name, one in fitting.items():
        if one.verb == STATED and one.name in read:
            chosen[name] = one
    if found.top:
        chosen[found.named(found.top.path)] = found.top
    with progress("exporting", sum(output.size for output in owed.values()), "B") as shown:
        archive.write_archive(out, _members(found, chosen, owed, shown.update))
    return counts


def _members(
    found: Tree, chosen: dict[str, Statement], owed: dict[str, Artifact], done: Callable[[int], object]
) -> Iterator[Member]:
    for name, statement in sorted(chosen.items()):
        content = files.read_plain(found.root / statement.path, statements.WANTED)
        yield Member(name, len(content), iter([content]))
    for name, output in sorted(owed.items()):
        yield Member(name, output.size, _unchanged(found.root / found.inside(name), output, done))


def _unchanged(path: Path, statement: Artifact, done: Callable[[int], object]) -> Iterator[bytes]:
    """The bytes of a file in chunks; they must match its statement. `done` is called with each number of bytes read."""
    digest, left = hashlib.sha256(), statement.size
    with files.readable(path, "the file that its statement names"), files.open_plain(path) as file:
        while left and (chunk := file.read(min(left, BLOCK))):
            left -= len(chunk)
            digest.update(chunk)
            done(len(chunk))
            yield chunk
        more = file.read(1)
    if left or more or digest.hexdigest() != statement.sha256:
        raise BadInput(path, "", "differs from its statement", "unchanged results: see toolnoise audit")


# Import


def import_archive(
    packed: str | Path,
    study: Study,
    root: Path,
    *,
    other_code: bool = False,
    why_unsigned: Callable[[Tree], str] | None = None,
) -> Counts:
    """Verify an archive and add its files to the results of its study; returns the counts of new and known jobs.

    `why_unsigned` returns why a root is not signed as required. A signed root must have the digest of each statement.
    """
    snakemake = root.absolute().parent.parent / SNAKEMAKE
    if any((snakemake / "locks").glob("*")):
        found = "Snakemake is running here, or was killed"
        raise BadInput(snakemake.parent, "", found, "wait until it has ended; after a kill: snakemake --unlock")
    with naming_output(root, scratch.FOLDER), archive.unpacked_study(Path(packed), root) as folder:
        incoming = _Incoming(study, root, tree.load_readable(folder))
        for name, found, wanted in incoming.refusals(other_code, why_unsigned):
            raise BadInput(packed, make_printable(name), found, wanted)
        placed = incoming.place(snakemake)
    return Counts(Counter(placed), len(incoming.coming) - len(placed))


class _Incoming:
    """An unpacked archive, and the study here that it should fit.

    `coming` are the statements of its jobs that travel, `owed` their outputs, by name. The statements of the data and
    of the page are not imported: the page shows the other site's results, and is made again here.
    """

    def __init__(self, study: Study, root: Path, found: Tree) -> None:
        self.name, self.root, self.found, self.jobs = study.name, root, found, _jobs_of(study)
        self.coming = {name: one for name, one in found.by_name.items() if one.verb in TRAVELS}
        self.owed = {output.name: output for one in self.coming.values() for output in one.outputs}
        self.digest_here = functools.cache(lambda name: sha256(self.place_of(name)))

    def place_of(self, name: str) -> Path:
        """The place here of a file of the study; names come from the study's jobs, never from an archive."""
        return self.root / PurePosixPath(name).relative_to(PurePosixPath(RESULTS, self.name))

    def refusals(self, other_code: bool, why_unsigned: Callable[[Tree], str] | None) -> Refusals:
        """All reasons to refuse the archive, the most informative first."""
        parts = [self._other_jobs()]
        parts += [self._not_under_root(why_unsigned)] if why_unsigned else []
        parts += [] if other_code else [self._other_code()]
        return itertools.chain(*parts, self._wrong_files(), self._wrong_inputs())

    def _other_jobs(self) -> Refusals:
        """Statements of jobs that the study here does not have, or that need no tooling."""
        for name, statement in self.found.by_name.items():
            if statement.chain is None:
                if statement.verb not in (STATED, *TRAVELS):
                    yield name, "is out of place", "statements of jobs that need a tooling"
                for what in audit_rules.unlike(self.jobs.get(name), statement):
                    yield name, what, "jobs of the study here (--study selects another form of it)"
        if not self.coming:
            yield "", "has no statement of a job of the study here", "--study selects another form of it"

    def _not_under_root(self, why_unsigned: Callable[[Tree], str]) -> Refusals:
        if why := why_unsigned(self.found):
            yield self.found.named("index.html"), why, "an archive of a study whose page was made and signed"
            return
        for name, statement in self.coming.items():
            if self.found.top.chain.get(name) != statement.sha256:
                yield name, "is not as the root names it", "statements under the root"

    def _other_code(self) -> Refusals:
        for name, statement in self.coming.items():
            present = job_code.digests_of_sources(statement.verb, statement.parameters)
            made_by = {read.name: read.sha256 for read in statement.made_of(CODE, RESOURCE)}
            for file in sorted(present.keys() | made_by):
                if present.get(file) != made_by.get(file):
                    found = f"was made by a {make_printable(file)} that differs from the one here"
                    yield name, found, f"commit {statement.commit or 'unknown'}, or --other-code"

    def _wrong_files(self) -> Refusals:
        """Files that differ from their statements or from the files here, and records that differ from statements."""
        # The archive must also have the files that it lists as left out.
        whole = dataclasses.replace(self.found, statements=tuple(self.coming.values()), left_out={})
        whole.hashed.update(audit.digests(whole))
        for check in (audit.unknown, audit.missing, audit.changed):
            yield from ((name, what, "files as their statements have them") for name, what in check(whole))
        for name, output in self.owed.items():
            if os.path.lexists(self.place_of(name)) and self.digest_here(name) != output.sha256:
                found = "is already here with different bytes"
                raise BadInput(self.place_of(name), "", found, "an equal file, or none")
        for statement in self.coming.values():
            for name in (output.name for output in statement.outputs if output.name.endswith(".json")):
                repeated = functools.partial(audit_rules.repeats, whole, name, statement)
                for _, what in audit.guarded(name, repeated):
                    yield name, what, "what its statement says"

    def _wrong_inputs(self) -> Refusals:
        """Jobs whose inputs are not equal to files here or in the archive."""
        outputs = {name for job in self.jobs.values() for name in job.outputs}
        for statement in self.found.by_name.values():
            of_data = statement.outputs if statement.verb == STATED else ()
            for read in (*of_data, *(statement.inputs if statement.verb in TRAVELS else ())):
                if read.name in self.owed:
                    if self.owed[read.name].sha256 != read.sha256:
                        yield statement.path, f"names a different {read.name}", "the one in the archive"
                elif read.name not in outputs:
                    yield statement.path, f"was made from {make_printable(read.name)}", "files of the study"
                elif not self.place_of(read.name).exists():
                    raise BadInput(
                        self.place_of(read.name), "", "no such file", f"make it first: snakemake {read.name}"
                    )
                elif (digest := self.digest_here(read.name)) != read.sha256:
                    what = f"SHA-256 {digest[:12]}..., but {read.sha256[:12]}... in {statement.path}"
                    raise BadInput(self.place_of(read.name), "", what, "the same bytes here and there")

    def place(self, snakemake: Path) -> list[str]:
        """Move all files to their places, or none; returns the verbs of jobs with files that were not here before."""
        placed, names = [], []
        for name, statement in self.coming.items():
            outputs = [one.name for one in statement.outputs]
            absent = [one for one in outputs if not os.path.lexists(self.place_of(one))]
            # Only a statement is missing if an import was killed just before placing it.
            if absent or not os.path.lexists(self.place_of(name)):
                placed.append(statement.verb)
                # The statement last, as in the recorder: a stated result is complete.
                names += [*absent, name]
                # Before files move, so that an import that is killed meanwhile can be repeated.
                _forget(snakemake, [name, *outputs])
        # One time for all, not older than the inputs here: Snakemake compares times, and would rerun jobs.
        read = {read.name for statement in self.coming.values() for read in statement.inputs} - self.owed.keys()
        stamp = max([time.time_ns(), *(self.place_of(name).stat().st_mtime_ns for name in read)])
        moves = [(self.found.root / self.found.inside(name), self.place_of(name)) for name in names]
        for source, _ in moves:
            with source.open("rb+") as file:
                os.fsync(file.fileno())
            os.utime(source, ns=(stamp, stamp))
        _move(moves, self.found.root / "replaced")
        return placed


def _move(moves: Sequence[tuple[Path, Path]], replaced: Path) -> None:
    """Move files to their places; after a failure, everything is as before."""
    replaced.mkdir()
    with ExitStack() as undo:
        for number, (source, target) in enumerate(moves):
            for folder in reversed([one for one in target.parents if not one.exists()]):
                undo.callback(lambda folder=folder: folder.exists() and folder.rmdir())
                files.make_folder(folder)
            if target.exists():
                # This is an old statement whose files are gone.
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
