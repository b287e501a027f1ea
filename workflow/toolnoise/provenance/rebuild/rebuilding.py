"""Rebuilds of artifacts from their statements, in a scratch folder, compared bit for bit with the stated digests.

A job's outcome follows from its parameters, its input files and its code (toolnoise.steps). So a rebuild verifies the
inputs and places them under the names in the statement, finds the recorded code, and performs the job in a process of
its own in that folder. The job gets the contents of the statement and nothing else. Inputs that a slim copy leaves out
are rebuilt first. Files with times are compared without their times, with the stated files.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from toolnoise import streams
from toolnoise.base import environment, files
from toolnoise.base.errors import BadInput, as_given
from toolnoise.base.files import sha256
from toolnoise.base.printing import escaped
from toolnoise.base.spec import Spec
from toolnoise.datasets import fetching, sources
from toolnoise.engines import serving
from toolnoise.measures import two_runs
from toolnoise.provenance import recorder, repository
from toolnoise.provenance.diff import changes
from toolnoise.provenance.rebuild import checkout, replay
from toolnoise.provenance.rebuild.checkout import Lacking
from toolnoise.provenance.rebuild.sampling import Made
from toolnoise.provenance.statements import LOCK, PACKAGE, SOURCE, Artifact, Statement
from toolnoise.provenance.tree import SHOW_AUDIT
from toolnoise.steps import STEPS, Step
from toolnoise.study import environments
from toolnoise.study.cells import Training
from toolnoise.study.runs import read as read_run

REPRODUCED, DIFFERS, LACKING, CANNOT = "reproduced", "differs", "not tried", "cannot be replayed"
# Options without influence on the outcome, with their values for a rebuild.
ASIDE = {"checkpoint": ".checkpoint.npz", "threads": 1}
SHOWED = "it shows the statements of its time"
UNREPEATABLE = {SHOW_AUDIT: SHOWED} | {verb: step.unrepeatable for verb, step in STEPS.items() if step.unrepeatable}


class Rebuilt(NamedTuple):
    """The outcome of a rebuild: the verdict, its explanation, and the folder of the rebuilt files."""

    made: Made
    verdict: str
    lines: tuple[str, ...]
    folder: Path | None = None


def rebuild(jobs: list[Made], keep: bool) -> Iterator[Rebuilt]:
    """Rebuild the outputs of each job; the scratch folder is deleted afterwards unless `keep`."""
    for number, made in enumerate(jobs, 1):
        took = (made.statement.finished - made.statement.started).total_seconds()
        print(f"{number} of {len(jobs)}: {made.called} (took {took:.0f} s)", file=sys.stderr, flush=True)
        with ExitStack() as stack:
            if keep:
                scratch = Path(tempfile.mkdtemp(prefix="toolnoise-rebuild-"))
            else:
                scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolnoise-rebuild-")))
            outcome = _rebuilt(made, scratch.resolve())
            yield outcome._replace(folder=scratch if keep else None)


def report(outcomes: Iterable[Rebuilt]) -> int:
    """Print each outcome as it comes, then their counts; return the exit code: 1 if any differs or was not tried."""
    verdicts: Counter[str] = Counter()
    for outcome in outcomes:
        verdicts[outcome.verdict] += 1
        first, *others = outcome.lines
        print(f"{outcome.verdict}: {outcome.made.called}: {escaped(first)}")
        for line in others:
            print(f"    {escaped(line)}")
        if outcome.folder:
            print(f"    kept in {outcome.folder}")
        sys.stdout.flush()
    print(", ".join(f"{count} {verdict}" for verdict, count in verdicts.items()))
    return 1 if verdicts[DIFFERS] or verdicts[LACKING] else 0


def _rebuilt(made: Made, scratch: Path) -> Rebuilt:
    statement = made.statement
    try:
        if why := why_not(statement):
            return Rebuilt(made, CANNOT, (why,))
        given = _files(STEPS[statement.verb], statement)
        folder = _lay_out(made, scratch, {})
        code = checkout.package(statement, scratch / "code")
    except (Lacking, BadInput) as error:
        return Rebuilt(made, LACKING, (str(error),))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        why = f"its parameters are not those of a {statement.verb} job ({type(error).__name__}: {error})"
        return Rebuilt(made, LACKING, (why,))
    refused = _perform(statement, given, folder, scratch, code.folder)
    if refused:
        return Rebuilt(made, DIFFERS, (f"it fails now: {refused}", *_then_and_now(statement, scratch, code)))
    return _compared(made, folder, scratch, code)


def why_not(statement: Statement) -> str:
    """Why a job cannot be replayed on this machine, or on any; empty if it can."""
    # As the page's own job did in still earlier results.
    if any(output.role == "out-statements" for output in statement.outputs):
        return SHOWED
    if why := UNREPEATABLE.get(statement.verb):
        return why
    if statement.verb not in STEPS:
        raise Lacking(f"no such verb here: {statement.verb!r}")
    if statement.parameters.get("spec") is None:
        return ""
    spec = Spec.read(statement.parameters["spec"])
    if spec.varies("impl") and spec.hardware.impl_noise == "native":
        return f"the implementation noise of {spec.hardware.name} is native, so it cannot be replayed"
    if absent := serving.why_not(spec.hardware.json):
        return f"this machine cannot run {spec.hardware.name}: {absent}"
    if statement.parameters["keys"] != streams.keys(spec):
        raise Lacking("the recorded keys do not follow from the spec")
    return ""


# Placing a job's inputs


def _files(step: Step, statement: Statement) -> dict[str, Any]:
    """The files of a job by command-line option, from the roles of its inputs and outputs."""
    by_role: dict[str, list[str]] = {}
    for artifact in (*statement.inputs, *statement.outputs):
        _place(artifact.name)
        by_role.setdefault(artifact.role, []).append(artifact.name)
    given: dict[str, Any] = {name: ASIDE[name] for name in step.aside}
    for option in (*step.reads, *step.writes):
        if option == "read":
            given[option] = [
                [role.removeprefix("read "), *names] for role, names in by_role.items() if role.startswith("read ")
            ]
            continue
        names = by_role.get(option, [])
        may_lack = option in step.reads and step.reads[option].optional
        if (not names and not may_lack) or (len(names) > 1 and option not in step.several):
            raise Lacking(f"the statement has {len(names)} files for --{option}")
        given[option] = names if option in step.several else names[0]
    return given


def _lay_out(made: Made, scratch: Path, again: dict[str, Path]) -> Path:
    """Make a folder with every input and source, verified, under the name that the job uses.

    `again` has the folders of the jobs that were rebuilt because their outputs are left out here.
    """
    statement, user = made.statement, Path(as_given(made.tree.root)).absolute().parent.parent
    read = [Path(os.path.normpath(source["path"])) for source in _sources(statement)]
    climbing = max((path.parts.count("..") for path in read), default=0)
    folder = scratch.joinpath("work", *["work"] * climbing)
    folder.mkdir(parents=True)
    for needed in statement.inputs:
        inside = made.tree.inside(needed.name)
        if inside in made.tree.left_out:
            source = _made_again(made, needed, scratch, again)
        else:
            source = user / needed.name if inside is None else made.tree.root / inside
        _verify(needed, source)
        _link(folder / _place(needed.name), source)
    for needed in statement.made_of(SOURCE):
        _require(needed, fetching.verified({"path": str(user / needed.name)})["sha256"], "a source")
    for needed in statement.made_of(PACKAGE):
        _verify(needed, _installed(needed))
    for path in read:
        if not path.is_absolute():
            _link(folder / path, user / path)
    for name, source in checkout.own_modules(statement, user):
        place = folder / _place(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(source if isinstance(source, bytes) else source.read_bytes())
    return folder


def _made_again(made: Made, needed: Artifact, scratch: Path, again: dict[str, Path]) -> Path:
    """An input that is left out here, by the job that made it."""
    stated = made.tree.producer(needed.name)
    if stated is None:
        raise Lacking(f"no statement made the input {needed.name}")
    if stated.path not in again:
        maker, place = Made(made.tree, stated.path, stated.statement), scratch / f"input-{len(again)}"
        place.mkdir()
        # Before its own inputs are made: a circle ends in a missing file.
        again[stated.path] = place / "work"
        print(f"    first {maker.called}, which is left out here", file=sys.stderr, flush=True)
        if why := why_not(maker.statement):
            raise Lacking(f"the input {needed.name} cannot be made again: {why}")
        given = _files(STEPS[maker.statement.verb], maker.statement)
        again[stated.path] = folder = _lay_out(maker, place, again)
        code = checkout.package(maker.statement, place / "code")
        if refused := _perform(maker.statement, given, folder, place, code.folder):
            raise Lacking(f"the input {needed.name} cannot be made again: {refused}")
    return again[stated.path] / _place(needed.name)


def _sources(statement: Statement) -> list[dict[str, Any]]:
    return sources.sources(statement.parameters["entry"]) if "entry" in statement.parameters else []


def _place(name: str) -> PurePosixPath:
    """A name as a path below a folder; any other name is refused."""
    if not files.is_below(name):
        raise Lacking(f"{name!r} lies outside of the folder that the job ran in")
    return PurePosixPath(name)


def _link(place: Path, source: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        place.symlink_to(source)


def _verify(needed: Artifact, path: Path) -> None:
    with files.readable(path, "an input of the job"):
        _require(needed, sha256(path), "an input")


def _require(needed: Artifact, digest: str, what: str) -> None:
    if digest != needed.sha256:
        raise Lacking(f"{what} has changed: {needed.name} is {digest[:12]} and was {needed.sha256[:12]}")


def _installed(needed: Artifact) -> Path:
    package = re.fullmatch(r"pkg:pypi/([A-Za-z0-9._-]+)@.+", needed.uri)
    if not package or not repository.versions(package[1]):
        raise Lacking(f"no installed package has {needed.name} ({needed.uri})")
    _place(needed.name)
    return repository.installed_file(package[1], needed.name)


# Performing the job


def _perform(statement: Statement, given: dict[str, Any], folder: Path, scratch: Path, package: Path) -> str:
    """Perform the job in its folder; returns why it failed, or an empty text."""
    job, log = scratch / "job.json", scratch / "job.log"
    files.write_json(job, {"verb": statement.verb, "parameters": statement.parameters, "files": given})
    name = environments.of(statement.parameters)
    python = environments.program(name, "python") if name else sys.executable
    # The script is run by its path: an earlier version of the package may not contain it.
    command = [str(python), "-P", str(replay.__file__), str(job), str(scratch / "observed.json")]
    path = os.pathsep.join(filter(None, (str(package), os.environ.get("PYTHONPATH"))))
    with log.open("wb") as output:
        # A training prints its progress after every epoch.
        out = sys.stderr.fileno() if STEPS[statement.verb].place is Training else output
        variables = {**_variables(statement), "PYTHONPATH": path}
        done = subprocess.run(command, cwd=folder, env=variables, stdout=out, stderr=output)
    if done.returncode == 0:
        return ""
    lines = log.read_text("utf-8", "replace").strip().splitlines()
    return f"exit code {done.returncode}" + (f", {lines[-1].removeprefix('toolnoise: ')}" if lines else "")


def _variables(statement: Statement) -> dict[str, str]:
    """This process's environment variables, with the frameworks' variables as the job had them.

    As in the workflow's jobs, `python` in the command of a training program is the Python of this environment.
    """
    kept = {name: value for name, value in os.environ.items() if not environment.FRAMEWORK.fullmatch(name)}
    visible = {name: os.environ[name] for name in environment.VISIBLE if name in os.environ}
    programs = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)))
    return kept | {"PATH": programs} | _recorded(statement) | visible


def _recorded(statement: Statement) -> dict[str, str]:
    observed = statement.observed.get("variables")
    recorded = observed if isinstance(observed, dict) else {}
    return {
        name: value
        for name, value in recorded.items()
        if environment.FRAMEWORK.fullmatch(name) and isinstance(value, str) and "\0" not in value
    }


# Comparing the outputs


def _compared(made: Made, folder: Path, scratch: Path, code: checkout.Code) -> Rebuilt:
    differing, notes, equal, but_for_times = [], [], 0, 0
    for output in made.statement.outputs:
        same, remark = _output(made, output, folder / output.name)
        if not same:
            differing.append(f"{output.name}: {remark}")
            continue
        equal += 1
        but_for_times += remark == "times"
        notes += [f"{output.name}: {remark}"] if remark not in ("", "times") else []
    if differing:
        parted = _parted(made, folder)
        return Rebuilt(made, DIFFERS, (*differing, *parted, *notes, *_then_and_now(made.statement, scratch, code)))
    count = f"{equal} file{'s' if equal > 1 else ''}"
    verdict = f"{count} bit-equal" + (f", {but_for_times} of them except times" if but_for_times else "")
    return Rebuilt(made, REPRODUCED, (f"{verdict}, by {code.called}", *notes))


def _output(made: Made, output: Artifact, again: Path) -> tuple[bool, str]:
    """Whether a rebuilt output is as stated, and a remark."""
    if not again.is_file():
        return False, "was not made"
    inside = made.tree.inside(output.name)
    here = made.tree.root / inside if inside in made.tree.files else None
    digest = sha256(here) if here else None
    if sha256(again) == output.sha256:
        if digest == output.sha256:
            return True, ""
        if here is None:
            return True, "is not here; the rebuilt file is as stated"
        first = changes.compare(here, again).first
        return False, f"rebuilt as stated, but the file here differs {first}".rstrip()
    if here is None:
        return False, "the rebuilt file differs from the stated one, which is not here for a comparison"
    compared = changes.compare(here, again)
    stated = digest == output.sha256
    if compared.same:
        return stated, "times" if stated else "rebuilt except times, but the file here is not as stated"
    return False, f"differs {compared.first}" + ("" if stated else "; the file here is not as stated either")


def _parted(made: Made, folder: Path) -> list[str]:
    """Where a training that differs first departed from the one here."""
    if STEPS[made.statement.verb].place is not Training:
        return []
    record = next(output.name for output in made.statement.outputs if output.role == "record")
    try:
        parted = two_runs.parting(read_run(made.tree.root / str(made.tree.inside(record))), read_run(folder / record))
    except BadInput as error:
        return [f"the histories cannot be compared: {error}"]
    initial = {True: "equal", False: "different", None: "unknown"}[parted["initial_equal"]]
    epoch, tensors = parted["weights_differ_from_epoch"], parted["tensors_that_differ_then"]
    where = f"they differ from epoch {epoch} on, first in {tensors[0]}" if epoch else "no epoch's digests differ"
    return [f"from {initial} initial weights {where}"]


def _then_and_now(statement: Statement, scratch: Path, code: checkout.Code) -> list[str]:
    """The differences between the machine and programs then and now."""
    observed = scratch / "observed.json"
    now = files.read_json(observed) if observed.exists() else None
    now = now or {**recorder.this_machine(), "variables": _recorded(statement)}
    lock = next((needed.name for needed in statement.made_of(LOCK)), None)
    pairs = [
        ("", statement.observed, now),
        ("programs", statement.versions, recorder.programs()),
        ("lock", lock, repository.lock(statement.parameters.get("spec", {}).get("hardware", {}).get("engine", ""))),
    ]
    changed = [change for key, then, here in pairs for change in changes.changes(then, here, key)]
    lines = [f"then and now: {change.key}: {changes.both(change, ' -> ')}" for change in changed]
    return [*(lines or ["then and now: no recorded difference"]), f"made by {code.called}"]
