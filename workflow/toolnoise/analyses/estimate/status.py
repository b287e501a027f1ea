"""The progress of a study: jobs done, running, waiting, failed and missing, by cell, and the time left.

It is read from what jobs leave (results, logs) and from the active workers: this machine's processes and, if there is
one, the Slurm queue. Nothing is guessed from the age of a file. A job with a log, without a result and without a
worker has failed, whatever ended it.
"""

import os
import re
import subprocess
from collections import ChainMap, Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from toolnoise import steps
from toolnoise.analyses.estimate import run_time
from toolnoise.base import log, session
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import aligned, span
from toolnoise.steps import STEPS, table
from toolnoise.study import layout
from toolnoise.study.cells import Cell, Place, Training
from toolnoise.study.study import Study
from toolnoise.training import runs

STATES = ("done", "running", "waiting", "failed", "missing")
# The lines that a training prints at the end of an epoch, and when it resumes from a checkpoint.
EPOCH = re.compile(r"^(?:goes on after )?epoch (\d+) of \d+", re.MULTILINE)
FAILURES_SHOWN = 20


# What makes the dump and the metrics of a cell, by the kind of its runs.
DUMPS, MEASURES = steps.writing(layout.LOGITS), steps.writing(table.STABILITY.pattern)


class Watched(NamedTuple):
    """One job: its rule, its wildcards in Snakemake's order, its last file and its log."""

    rule: str
    wildcards: tuple[str, ...]
    result: str
    log: str

    @property
    def slurm_comment(self) -> str:
        """The comment that Snakemake's Slurm executor gives the job."""
        return f"rule_{self.rule}_wildcards_{'_'.join(self.wildcards)}"


class At(NamedTuple):
    """The state of a job: one of STATES, the finished epochs of a training, and the log's last line after a failure."""

    state: str
    epoch: int = 0
    line: str = ""


class ActiveWorkers(NamedTuple):
    """Active in this folder: arguments of local processes, Slurm states by comment, and whether Snakemake runs."""

    arguments: set[str]
    queue: dict[str, str]
    snakemake: bool


class CellStatus(NamedTuple):
    """A cell: its runs by state, the states of its dump and its metrics, and the seconds of training left."""

    cell: Cell
    runs: dict[str, int]
    predictions: str
    metrics: str
    seconds_left: float | None


class Status(NamedTuple):
    """Every cell, every failure as (job, last line of its log), and the state of the folder."""

    cells: list[CellStatus]
    failures: list[tuple[Watched, str]]
    running: int
    snakemake: bool
    locked: bool
    page: bool


def require_here(file: str | Path, study: Study) -> None:
    """Refuse a study whose results lie in another folder, above its study.json or beside its file, and not here."""
    path, stored = Path(file).absolute(), Path(study.path(layout.STUDY))
    if (path.name, path.parent.parent.name) == (stored.name, stored.parts[0]):
        places = [path.parents[2]]
    else:
        is_here = stored.exists() or path.parent.resolve() == Path.cwd()
        places = [] if is_here else [place for place in path.parents if (place / stored).exists()]
    for place in places:
        if place.resolve() != Path.cwd():
            raise BadInput(file, "", "the results lie in another folder", f"type this in {place.resolve()}")


def status(study: Study) -> Status:
    """Find the status of a study in this folder."""
    workers = _workers()
    cells, running = [], 0
    trainings: dict[Cell, list[At]] = {cell: [] for cell in study.cells}
    by_verb: dict[str, dict[Place, At]] = {}
    failures = []
    # Those that a whole study does not need, too: somebody may have asked for one, and it may have failed.
    for verb in (verb for verb in STEPS if verb != steps.CONFIGURE):
        by_verb[verb] = {}
        for place, job in _jobs(study, verb):
            trains = STEPS[verb].where.place is Training
            at = _train_at(study, place, job, workers) if trains else _at(job, workers)
            if trains:
                trainings[place.cell].append(at)
            by_verb[verb][place] = at
            if at.state == "failed":
                failures.append((job, at.line))
    dumps, measures = (dict(ChainMap(*(by_verb[verb] for verb in verbs))) for verbs in (DUMPS, MEASURES))
    for cell, ats in trainings.items():
        counts = Counter(at.state for at in ats)
        running += counts["running"]
        cells.append(
            CellStatus(
                cell,
                {state: counts[state] for state in STATES},
                dumps[cell].state,
                measures[cell].state,
                _seconds_left(study, cell, [at for at in ats if at.state != "done"]),
            )
        )
    page = Path(study.path(layout.PAGE)).exists()
    return Status(cells, failures, running, workers.snakemake, session.is_locked(), page)


def as_json(now: Status) -> dict[str, Any]:
    """The status as plain values; unknown times are null."""
    return now._asdict() | {
        "cells": [{**cell._asdict(), "cell": cell.cell._asdict()} for cell in now.cells],
        "failures": [
            {"rule": job.rule, "result": job.result, "log": job.log, "line": line} for job, line in now.failures
        ],
    }


def as_text(study: Study, now: Status) -> str:
    """The status, for a person."""
    heading = ("model", "data set", "hardware", "variant", *STATES, "predictions", "metrics", "time left")
    rows = [
        (
            *cell.cell,
            *(str(cell.runs[state] or "-") for state in STATES),
            *(cell.predictions, cell.metrics),
            "unknown" if cell.seconds_left is None else span(cell.seconds_left) if cell.seconds_left else "-",
        )
        for cell in now.cells
    ]
    lines = [*aligned([heading, *rows]), ""]
    lines += [f"failed: {job.result}: {line} ({job.log})" for job, line in now.failures[:FAILURES_SHOWN]]
    if len(now.failures) > FAILURES_SHOWN:
        lines.append(f"failed: {len(now.failures) - FAILURES_SHOWN} more jobs")
    lines.append(_overall(now))
    if now.snakemake:
        lines.append("Snakemake is running in this folder")
    elif now.locked:
        lines.append("the folder is locked, but no Snakemake runs here: it runs elsewhere, or was killed (--unlock)")
    if now.page:
        lines.append(f"the page: {study.path(layout.PAGE)}")
    return "\n".join(lines)


def _overall(now: Status) -> str:
    done = sum(cell.runs["done"] for cell in now.cells)
    total = sum(sum(cell.runs.values()) for cell in now.cells)
    known = sum(cell.seconds_left or 0.0 for cell in now.cells)
    unknown = sum(1 for cell in now.cells if cell.seconds_left is None)
    parts = [f"{done} of {total} runs are done"]
    if now.failures:
        parts.append(f"{len(now.failures)} jobs have failed")
    if known:
        at_once = f" (about {span(known / now.running)} with {now.running} at a time)" if now.running else ""
        parts.append(f"{span(known)} of training left{at_once}")
    if unknown:
        parts.append(f"time unknown for {unknown} cells: no run like these has finished or was timed")
    return "; ".join(parts)


def _jobs(study: Study, verb: str) -> Iterator[tuple[Place, Watched]]:
    """The jobs of a step, each with its place."""
    step, pattern = STEPS[verb], STEPS[verb].log(verb)
    for place in step.where.all(study):
        wildcards = tuple(str(getattr(place, name)) for name in step.wildcards())
        rule = step.rule if "{" not in step.rule else steps.rule(verb, step.parameters(study, place))
        result = steps.result(verb, study, place)
        yield place, Watched(rule, (study.name, *wildcards), result, study.path(pattern, place))


def _train_at(study: Study, run: Training, job: Watched, workers: ActiveWorkers) -> At:
    if not Path(job.result).exists():
        at = _at(job, workers)
        # Epochs that are not in a checkpoint are trained again.
        kept = at.state == "running" or Path(study.path(layout.CHECKPOINT, run)).exists()
        epochs = EPOCH.findall(log.tail(job.log)) if kept and at.state != "missing" else []
        return at._replace(epoch=int(epochs[-1]) if epochs else 0)
    try:
        record = runs.read(job.result).record
    except BadInput as error:
        return At("failed", line=str(error))
    # The result of another recipe stays until it is made again.
    return At("done" if record["spec"] == study.spec(run.cell, run.seed).as_json() else "missing")


def _at(job: Watched, workers: ActiveWorkers) -> At:
    if Path(job.result).exists():
        return At("done")
    if job.result in workers.arguments:
        return At("running")
    if job.slurm_comment in workers.queue:
        return At(workers.queue[job.slurm_comment])
    if Path(job.log).exists():
        return At("failed", line=log.reason(log.tail(job.log)))
    return At("missing")


def _seconds_left(study: Study, cell: Cell, unfinished: list[At]) -> float | None:
    spec = study.spec(cell, study.seeds[cell][0])
    pace = run_time.find(spec) if unfinished else None
    if unfinished and not pace:
        return None
    return sum(pace.run(spec.recipe) - at.epoch * pace.epoch for at in unfinished)


def _workers() -> ActiveWorkers:
    arguments, snakemake, here = set(), False, str(Path.cwd())
    for process in psutil.process_iter(["cmdline", "cwd"]):
        # Other users' processes hide their folder; they do not work on this study.
        if process.info["cwd"] == here and process.info["cmdline"] and process.pid != os.getpid():
            arguments |= set(process.info["cmdline"])
            snakemake |= any(Path(part).name == "snakemake" for part in process.info["cmdline"])
    return ActiveWorkers(arguments, _queue(here), snakemake)


def _queue(here: str) -> dict[str, str]:
    """The states of this user's Slurm jobs that were submitted from this folder, by comment."""
    try:
        command = ["squeue", "--me", "--noheader", "--format=%T|%Z|%k"]
        asked = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return {}
    rows = [line.split("|", 2) for line in asked.stdout.splitlines()]
    return {
        comment: "waiting" if state in ("PENDING", "CONFIGURING", "REQUEUED") else "running"
        for state, folder, comment in (row for row in rows if len(row) == 3)
        if folder == here
    }
