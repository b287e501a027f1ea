"""Results made again from their statements, in a scratch folder, and compared bit for bit with the stated digests.

The folder has the stated inputs under their stated names, each verified. The statement's command runs there, with the
code that the statement names. The new statement shows differences of machine and programs. Files with times are
compared with the files here, without their times.
"""

import functools
import hashlib
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from toolnoise.base import environment, files, program
from toolnoise.base.errors import BadInput, as_given
from toolnoise.base.files import sha256
from toolnoise.base.printing import counted, make_printable
from toolnoise.base.spec import Spec
from toolnoise.datasets import fetching
from toolnoise.engines import serving
from toolnoise.measures import two_runs
from toolnoise.provenance import diff, repository, statements, tree
from toolnoise.provenance.statements import CODE, FOLDER, LOCK, PACKAGE, RESOURCE, SOURCE, Artifact, Statement
from toolnoise.provenance.tree import Tree
from toolnoise.study import environments

REPRODUCED, DIFFERS, LACKING, CANNOT = "reproduced", "differs", "not tried", "cannot be replayed"
WANTED = "a run, or any file under results that has a statement"
# The first kinds of job in a sample, so that a small sample covers each stage; other kinds follow.
NOISY = " with noise"
FIRST = (f"train{NOISY}", "render", "measure", "predict", "train", "prepare", "collect")
# The folder of the repository that the package lies in.
WORKFLOW = str(PurePosixPath(program.NAME).parent)


class Job(NamedTuple):
    """A finished job of a study, with its statement."""

    tree: Tree
    statement: Statement

    @property
    def called(self) -> str:
        """A short name of the job."""
        return f"{self.statement.verb} {make_printable(self.statement.name)}"

    @property
    def kind(self) -> str:
        """The kind of the job, for samples."""
        try:
            noisy = "impl" in self.statement.parameters["spec"]["variant"]["varying"]
        except (LookupError, TypeError):
            noisy = False
        return self.statement.verb + (NOISY if noisy else "")


class Rebuilt(NamedTuple):
    """The outcome of a rebuild: the verdict, and lines that explain it."""

    job: Job
    verdict: str
    lines: tuple[str, ...]


class Refused(Exception):  # noqa: N818 (it is no error of this program)
    """Why a job was not made again, and the verdict unless it is `LACKING`."""


def jobs_of(paths: Iterable[str | Path]) -> list[Job]:
    """The jobs that made these files, or everything in these folders."""
    jobs, load = dict[tuple[Path, str], Job](), functools.cache(tree.load_results)
    for path in paths:
        place = Path(path).absolute()
        root = tree.study_of(place / FOLDER)
        if root is None and not place.is_dir():
            raise BadInput(path, "", "lies in no study with statements", WANTED)
        studies = load(root or place).trees
        asked = f"{place.relative_to(root).as_posix()}/" if root and root != place else ""
        found = []
        for study in studies:
            for statement in study.statements:
                # A statement, one of its outputs, or a folder with one of these.
                made = (study.inside(output.name) for output in statement.outputs)
                if any(f"{name}/".startswith(asked) for name in (statement.path, *made)):
                    found.append(Job(study, statement))
        if not found:
            unreadable = (error for study in studies for error in study.unreadable.values())
            raise next(unreadable, BadInput(path, "", "has no statement", WANTED))
        jobs |= {(job.tree.root, job.statement.name): job for job in found}
    return list(jobs.values())


def sample_jobs(jobs: Iterable[Job], count: int, seed: int) -> list[Job]:
    """Draw `count` of the jobs that can be repeated: kind by kind in turn, and at random within a kind."""
    kinds: dict[str, list[Job]] = {kind: [] for kind in FIRST}
    for job in sorted(jobs, key=lambda job: (str(job.tree.root), job.statement.name)):
        if not job.statement.unrepeatable:
            kinds.setdefault(job.kind, []).append(job)
    for kind, members in kinds.items():
        draw = random.Random(f"{seed} {kind}")  # noqa: S311 (no secret is drawn)
        members.sort(key=lambda _: draw.random())
    turns = itertools.chain.from_iterable(itertools.zip_longest(*kinds.values()))
    return [job for job in turns if job][:count]


def made_again(jobs: list[Job]) -> Iterator[Rebuilt]:
    """Make the outputs of each job again, in a scratch folder that is deleted afterwards."""
    for number, job in enumerate(jobs, 1):
        took = (job.statement.finished - job.statement.started).total_seconds()
        print(f"{number} of {len(jobs)}: {job.called} (took {took:.0f} s)", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="toolnoise-rebuild-") as scratch:
            try:
                outcome = _compared(job, *_performed(job, Path(scratch).resolve()))
            except (Refused, BadInput) as error:
                why, verdict = (*error.args, LACKING)[:2]
                outcome = Rebuilt(job, verdict, (why,))
        yield outcome


def report_outcomes(outcomes: Iterable[Rebuilt]) -> int:
    """Print each outcome as it comes, then their counts; return the exit code: 1 if any differs or was not tried."""
    verdicts: Counter[str] = Counter()
    for outcome in outcomes:
        verdicts[outcome.verdict] += 1
        first, *others = outcome.lines
        print(f"{outcome.verdict}: {outcome.job.called}: {make_printable(first)}")
        print("".join(f"    {make_printable(line)}\n" for line in others), end="", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()))
    return 1 if verdicts[DIFFERS] or verdicts[LACKING] else 0


# Performing
# ----------


def _performed(job: Job, scratch: Path) -> tuple[Path, str]:
    """Perform a job in a new folder with its verified inputs; returns the folder, and a name for the code."""
    statement, user = job.statement, Path(as_given(job.tree.root)).absolute().parent.parent
    if why := statement.unrepeatable or _why_not_here(statement):
        raise Refused(why, CANNOT)
    if statement.command[:1] != (statement.verb,):
        raise Refused(f"its statement has no command; `toolnoise rebuild` at its commit, {statement.commit}, can do it")
    named = [one.name for one in (*statement.outputs, *statement.dependencies) if one.kind != SOURCE]
    for name in (*named, *(word for word in statement.command if word.startswith("/") or ".." in word.split("/"))):
        if not files.is_below(name):
            raise Refused(f"{name!r} lies outside of the folder that the job ran in")
    outside = {source: Path(os.path.normpath(source.name)) for source in statement.made_of(SOURCE)}
    climbing = max((path.parts.count("..") for path in outside.values()), default=0)
    folder = scratch.joinpath("work", *["work"] * climbing)
    folder.mkdir(parents=True)
    for needed in statement.inputs:
        inside = job.tree.inside(needed.name)
        there = job.tree.root / inside if inside else user / needed.name
        _require(needed, there)
        _link(folder / needed.name, there)
    for source, path in outside.items():
        _require(source, user / path, lambda path: fetching.verified_record({"path": str(path)})["sha256"])
        _link(folder / path, user / path)
    for needed in statement.made_of(PACKAGE):
        package = re.fullmatch(r"pkg:pypi/([A-Za-z0-9._-]+)@.+", needed.uri)
        if not package or not repository.package_versions(package[1]):
            raise Refused(f"no installed package has {needed.name} ({needed.uri})")
        _require(needed, repository.installed_file(package[1], needed.name))
    _link(folder / environments.FOLDER, Path.cwd() / environments.FOLDER)
    lay_out_own(statement, user, folder)
    code, called = package_of(statement, scratch / "code")
    _run(list(statement.command), folder, _variables(statement, code))
    return folder, called


def _why_not_here(statement: Statement) -> str:
    """Why a job cannot be repeated on this machine, or on any; empty if it can."""
    if statement.parameters.get("spec") is None:
        return ""
    try:
        spec = Spec.read(statement.parameters["spec"])
        if spec.varies("impl") and spec.hardware.impl_noise == "native":
            return f"the implementation noise of {spec.hardware.name} is native, so it cannot be replayed"
        absent = serving.why_not(spec.hardware.json)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        what = f"its parameters are not those of a {statement.verb} job ({type(error).__name__}: {error})"
        raise BadInput(statement.name, "", what) from None
    return f"this machine cannot run {spec.hardware.name}: {absent}" if absent else ""


def _require(needed: Artifact, path: Path, digest_of: Callable[[Path], str] = sha256) -> None:
    with files.readable(path, "what the job was made from"):
        digest = digest_of(path)
    if digest != needed.sha256:
        raise Refused(f"an input has changed: {needed.name} is {digest[:12]} and was {needed.sha256[:12]}")


def _link(place: Path, source: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.exists() and not place.exists():
        place.symlink_to(source)


def _run(words: list[str], folder: Path, variables: dict[str, str]) -> None:
    """Perform a command in a folder; its standard output, such as the progress of a training, is shown."""
    with tempfile.TemporaryFile() as log:
        command = program.python_command("toolnoise.cli", *words)
        done = subprocess.run(command, cwd=folder, env=variables, stdout=sys.__stderr__.fileno(), stderr=log)
        log.seek(0)
        last = (log.read().decode("utf-8", "replace").strip().splitlines() or [""])[-1].removeprefix("toolnoise: ")
    if done.returncode:
        raise Refused(f"it fails now: exit code {done.returncode}, {last}", DIFFERS)


def _variables(statement: Statement, code: Path) -> dict[str, str]:
    """The variables for a process that imports `code`: those of this process, and the frameworks' as the job had them.

    As in the workflow's jobs, `python` in the command of a training program is the Python of this environment.
    """

    def recorded(variables: Any) -> dict[str, str]:
        found = variables.items() if isinstance(variables, dict) else ()
        named = {name: text for name, text in found if environment.FRAMEWORK.fullmatch(name)}
        return {name: str(text) for name, text in named.items() if name not in environment.VISIBLE}

    programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    path = os.pathsep.join(filter(None, (str(code), os.environ.get("PYTHONPATH"))))
    kept = {name: text for name, text in os.environ.items() if name not in recorded(os.environ.copy())}
    return kept | recorded(statement.observed.get("variables")) | {"PATH": programs, "PYTHONPATH": path}


# The code: file by file, from here or from the stated commit
# -----------------------------------------------------------


def package_of(statement: Statement, scratch: Path) -> tuple[Path, str]:
    """The folder to import the package from, and a name for it: the present code if it is as recorded, else a copy."""
    recorded, commit = [one for one in statement.made_of(CODE, RESOURCE) if not _is_own(one)], statement.commit or ""
    here = [file for file in recorded if _is(program.path_of(file.name), file)]
    if here == recorded:
        return program.PACKAGE.parent, "the code here"
    if repository.time_of_commit(commit):
        repository.extract_commit(commit, scratch)
    for file in here:
        # A file with uncommitted changes when the job ran may have been committed since.
        (scratch / file.name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(program.path_of(file.name), scratch / file.name)
    if missing := [file.name for file in recorded if not _is(scratch / file.name, file)]:
        raise _missing(", ".join(missing))
    return scratch / WORKFLOW, f"the code of commit {commit[:12]}"


def lay_out_own(statement: Statement, user: Path, folder: Path) -> None:
    """Put the user's own modules, as recorded, where a job that runs in `folder` imports them from.

    A module in the repository was recorded by its path there, any other by its path in the user's folder. If it is not
    found in the user's folder, because results were moved, it is put at every end of that path.
    """
    for file in filter(_is_own, statement.dependencies):
        parts = PurePosixPath(file.name).parts
        ends = [PurePosixPath(*parts[start:]) for start in range(len(parts))]
        known = [end for end in ends if _is(user / end, file)][:1]
        here = user / known[0] if known else program.path_of(file.name)
        in_commit = repository.files_of(statement.commit, [file.name]).get(file.name, b"")
        source = here.read_bytes() if _is(here, file) else in_commit
        if hashlib.sha256(source).hexdigest() != file.sha256:
            raise _missing(file.name)
        for end in known or ends:
            (folder / end).parent.mkdir(parents=True, exist_ok=True)
            (folder / end).write_bytes(source)


def _missing(names: str) -> BadInput:
    return BadInput("code", "", f"neither here nor at its commit: {names}")


def _is_own(file: Artifact) -> bool:
    return file.kind == CODE and not file.name.startswith(f"{WORKFLOW}/")


def _is(path: Path, file: Artifact) -> bool:
    return path.is_file() and sha256(path) == file.sha256


# Comparing
# ---------


def _compared(job: Job, folder: Path, code: str) -> Rebuilt:
    """The outcome of a job that was repeated in a folder."""
    outputs = job.statement.outputs
    remarks = {output.name: _remark(job, output, folder / output.name) for output in outputs}
    lines = [f"{name}: {remark}" for name, remark in remarks.items() if remark]
    now = statements.read_statement(folder / statements.path_for(job.statement.name))
    changed = list(diff.changes_of_values(_circumstances(job.statement), _circumstances(now)))
    lines += [f"its command is for other {change.key}" for change in changed if change.key.startswith("parameters")]
    if lines:
        record = next((job.tree.inside(output.name) for output in outputs if output.role == "record"), None)
        if record in job.tree.files:
            lines.append(two_runs.where_parted(job.tree.root / record, folder / job.tree.named(record)))
        told = [f"then and now: {change.key}: {change.told(' -> ')}" for change in changed]
        told = told or ["then and now: no recorded difference"]
        return Rebuilt(job, DIFFERS, (*lines, *told, f"made by {code}"))
    timed = sum(sha256(folder / output.name) != output.sha256 for output in outputs)
    equal = f"{counted(len(outputs), 'file')} bit-equal" + (f", {timed} of them except times" if timed else "")
    absent = [output.name for output in outputs if job.tree.inside(output.name) not in job.tree.files]
    notes = [f"{name}: is not here; the rebuilt file is as stated" for name in absent]
    return Rebuilt(job, REPRODUCED, (f"{equal}, by {code}", *notes))


def _remark(job: Job, output: Artifact, again: Path) -> str:
    """How a rebuilt output, or the file here, differs from the stated one; empty if both are equal except for times."""
    if not again.is_file():
        return "was not made"
    as_stated, inside = sha256(again) == output.sha256, job.tree.inside(output.name)
    if inside not in job.tree.files:
        return "" if as_stated else "the rebuilt file differs from the stated one, which is not here for a comparison"
    here = job.tree.root / inside
    first = diff.compare_files(here, again)
    if sha256(here) != output.sha256:
        rebuilt = "rebuilt as stated, but" if as_stated else "not rebuilt as stated, and"
        return f"{rebuilt} the file here, which is not as stated, differs {first}"
    return "" if first in ("", diff.TIMES) else f"differs {first}"


def _circumstances(statement: Statement) -> dict[str, Any]:
    """The machine, the programs, the lock file and the parameters of a job."""
    lock = next((one.name for one in statement.made_of(LOCK)), None)
    about = {"programs": statement.versions, "parameters": statement.parameters, "lock": lock}
    return {**statement.observed, **about}
