"""Where a study stands: what is done, running, waiting, failed and missing, by cell, and how long is left.

Read from what jobs leave (results, logs) and from who is at work: this machine's processes and, where there is a
Slurm, its queue. Nothing is guessed from the age of a file: a job that has begun a log, has left no result and that
nobody works on has failed, whatever ended it.
"""

import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from toolnoise.base.errors import BadInput
from toolnoise.base.printing import aligned, span
from toolnoise.study import layout
from toolnoise.study.grid import Cell, Study
from toolnoise.timing import run_time
from toolnoise.training import runs

STATES = ("done", "running", "waiting", "failed", "missing")
LOCKS = Path(".snakemake/locks")
# What a training says when an epoch ends, and when it goes on from a checkpoint.
EPOCH = re.compile(r"^(?:goes on after )?epoch (\d+) of \d+", re.MULTILINE)
TAIL_BYTES = 4096
FAILURES_SHOWN = 20


class Job(NamedTuple):
    """One job: its rule, its wildcards in Snakemake's order, its result and its log."""

    rule: str
    wildcards: tuple[str, ...]
    result: str
    log: str

    @property
    def slurm_comment(self) -> str:
        """What Snakemake's executor for Slurm writes into the job's comment."""
        return f"rule_{self.rule}_wildcards_{'_'.join(self.wildcards)}"


class At(NamedTuple):
    """Where a job stands: one of STATES, the epochs behind it if it trains, and its log's last line if it failed."""

    state: str
    epoch: int = 0
    line: str = ""


class Workers(NamedTuple):
    """Who is at work in this folder: arguments of local processes, Slurm's states by comment, Snakemake itself."""

    arguments: set[str]
    queue: dict[str, str]
    snakemake: bool


class CellStatus(NamedTuple):
    """A cell: how many of its runs are in which state, its dump and its metrics, and seconds of training left."""

    cell: Cell
    runs: dict[str, int]
    predictions: str
    metrics: str
    seconds_left: float | None


class Status(NamedTuple):
    """Every cell, every failure as (job, last line of its log), and what the folder as a whole is at."""

    cells: list[CellStatus]
    failures: list[tuple[Job, str]]
    running: int
    snakemake: bool
    locked: bool
    page: bool


def status(study: Study) -> Status:
    """Look at a study in this folder."""
    workers = _workers()
    cells, running = [], 0
    failures = [(job, at.line) for job in _shared(study) if (at := _at(job, workers)).state == "failed"]
    for cell in study.cells:
        trainings = [(job, _train_at(study, cell, seed, job, workers)) for seed, job in _trainings(study, cell)]
        rest = {job.rule: (job, _at(job, workers)) for job in _afterwards(study, cell)}
        failures += [(job, at.line) for job, at in (*trainings, *rest.values()) if at.state == "failed"]
        counts = Counter(at.state for _, at in trainings)
        running += counts["running"]
        cells.append(
            CellStatus(
                cell,
                {state: counts[state] for state in STATES},
                rest["dump_predictions"][1].state,
                rest["measure_cell"][1].state,
                _seconds_left(study, cell, [at for _, at in trainings if at.state != "done"]),
            )
        )
    locked = LOCKS.is_dir() and any(LOCKS.iterdir())
    return Status(cells, failures, running, workers.snakemake, locked, Path(study.path(layout.REPORT)).exists())


def as_json(found: Status) -> dict[str, Any]:
    """The status as plain values; time that is unknown is null."""
    return {
        "cells": [{**cell._asdict(), "cell": cell.cell._asdict()} for cell in found.cells],
        "failures": [
            {"rule": job.rule, "result": job.result, "log": job.log, "line": line} for job, line in found.failures
        ],
        "running": found.running,
        "snakemake": found.snakemake,
        "locked": found.locked,
        "page": found.page,
    }


def told(study: Study, found: Status) -> str:
    """The status, for a person."""
    heading = ("model", "data set", "hardware", "variant", *STATES, "predictions", "metrics", "time left")
    rows = [
        (
            *one.cell,
            *(str(one.runs[state] or "-") for state in STATES),
            *(one.predictions, one.metrics),
            "unknown" if one.seconds_left is None else span(one.seconds_left) if one.seconds_left else "-",
        )
        for one in found.cells
    ]
    lines = [*aligned([heading, *rows]), ""]
    lines += [f"failed: {job.result}: {line} ({job.log})" for job, line in found.failures[:FAILURES_SHOWN]]
    if len(found.failures) > FAILURES_SHOWN:
        lines.append(f"failed: {len(found.failures) - FAILURES_SHOWN} jobs more")
    lines.append(_overall(found))
    if found.snakemake:
        lines.append("Snakemake is at work in this folder")
    elif found.locked:
        lines.append("the folder is locked, and no Snakemake works here: it does elsewhere, or was killed (--unlock)")
    if found.page:
        lines.append(f"the page: {study.path(layout.REPORT)}")
    return "\n".join(lines)


def _overall(found: Status) -> str:
    done = sum(one.runs["done"] for one in found.cells)
    total = sum(sum(one.runs.values()) for one in found.cells)
    known = sum(one.seconds_left or 0.0 for one in found.cells)
    unknown = sum(1 for one in found.cells if one.seconds_left is None)
    parts = [f"{done} of {total} runs are done"]
    if known:
        at_once = f" (about {span(known / found.running)} with {found.running} at a time)" if found.running else ""
        parts.append(f"{span(known)} of training left{at_once}")
    if unknown:
        parts.append(f"time unknown for {unknown} cells: no such run has finished, and none was timed")
    return "; ".join(parts)


def _trainings(study: Study, cell: Cell) -> Iterator[tuple[int, Job]]:
    for seed in study.seeds[cell]:
        names = {**cell._asdict(), "study": study.name, "seed": str(seed)}
        paths = layout.RECORD.format(**names), layout.TRAIN_LOG.format(**names)
        yield seed, Job("train_run", (study.name, *cell, str(seed)), *paths)


def _afterwards(study: Study, cell: Cell) -> Iterator[Job]:
    patterns = {
        "dump_predictions": (layout.LOGITS, layout.PREDICT_LOG),
        "measure_cell": (layout.CELL_METRICS, layout.MEASURE_LOG),
    }
    if study.remedies(cell):
        patterns["dump_remedies"] = layout.REMEDIED, layout.REMEDY_LOG
    if cell in study.layers:
        patterns["dump_layers"] = layout.GRAMS, layout.LAYERS_LOG
        patterns["measure_layers"] = layout.LAYER_METRICS, layout.MEASURE_LAYERS_LOG
    if cell in study.views:
        patterns["measure_remedies"] = layout.CELL_REMEDIES, layout.MEASURE_REMEDIES_LOG
    for rule, (result, log) in patterns.items():
        yield Job(rule, (study.name, *cell), study.path(result, cell), study.path(log, cell))
    if cell in study.controls:
        paths = study.path(layout.GATE, cell), study.path(layout.CONTROL_LOG, cell)
        yield Job("check_control", (study.name, *cell[:3]), *paths)


def _shared(study: Study) -> Iterator[Job]:
    """Jobs of no one cell."""
    for dataset in study.datasets:
        if study.sources(dataset):
            paths = (study.path(pattern, dataset=dataset) for pattern in (layout.SOURCES, layout.FETCH_LOG))
            yield Job("fetch_data", (study.name, dataset), *paths)
        paths = (study.path(pattern, dataset=dataset) for pattern in (layout.DATA, layout.PREPARE_LOG))
        yield Job("prepare_data", (study.name, dataset), *paths)
    for pair in study.pairs:
        paths = (study.path(pattern, pair) for pattern in (layout.PAIR_METRICS, layout.MEASURE_PAIR_LOG))
        yield Job("measure_pair", (study.name, *pair), *paths)
    for pair in study.exchanged:
        paths = (study.path(pattern, pair) for pattern in (layout.EXCHANGED, layout.EXCHANGE_LOG))
        yield Job("exchange_predictions", (study.name, *pair[:3], pair.variant, pair.other_hardware), *paths)
    for pair in study.frameworks:
        paths = (study.path(pattern, pair) for pattern in (layout.FRAMEWORK_METRICS, layout.MEASURE_FRAMEWORKS_LOG))
        yield Job("measure_frameworks", (study.name, *pair), *paths)
    for profile in study.profiles:
        paths = (study.path(pattern, profile) for pattern in (layout.PROFILE_RECORD, layout.PROFILE_LOG))
        yield Job("profile_step", (study.name, *map(str, profile)), *paths)
    for figure in study.figures:
        paths = (study.path(pattern, figure=figure.name) for pattern in (layout.NOTEBOOK, layout.RENDER_LOG))
        yield Job(f"render_{figure.notebook}", (study.name, figure.name), *paths)


def _train_at(study: Study, cell: Cell, seed: int, job: Job, workers: Workers) -> At:
    if not Path(job.result).exists():
        at = _at(job, workers)
        # What a checkpoint does not hold is trained again.
        kept = at.state == "running" or Path(study.path(layout.CHECKPOINT, cell, seed=str(seed))).exists()
        epochs = EPOCH.findall(_tail(job.log)) if kept and at.state != "missing" else []
        return at._replace(epoch=int(epochs[-1]) if epochs else 0)
    try:
        record = runs.read(job.result).record
    except BadInput as error:
        return At("failed", line=str(error))
    # The result of another recipe is there until it is made anew.
    return At("done" if record["spec"] == study.spec(cell, seed) else "missing")


def _at(job: Job, workers: Workers) -> At:
    if Path(job.result).exists():
        return At("done")
    if job.result in workers.arguments:
        return At("running")
    if job.slurm_comment in workers.queue:
        return At(workers.queue[job.slurm_comment])
    if Path(job.log).exists():
        lines = _tail(job.log).strip().splitlines()
        return At("failed", line=lines[-1].strip() if lines else "its log is empty")
    return At("missing")


def _tail(log: str) -> str:
    with Path(log).open("rb") as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
        return file.read().decode(errors="replace")


def _seconds_left(study: Study, cell: Cell, unfinished: list[At]) -> float | None:
    spec = study.spec(cell, study.seeds[cell][0])
    found = run_time.find(spec) if unfinished else None
    if unfinished and not found:
        return None
    epochs = spec["recipe"]["epochs"]
    return sum(found.run(epochs) - at.epoch * found.epoch for at in unfinished)


def _workers() -> Workers:
    arguments, snakemake, here = set(), False, str(Path.cwd())
    for process in psutil.process_iter(["cmdline", "cwd"]):
        # Others' processes hide where they work; they do not work on this study.
        if process.info["cwd"] == here and process.info["cmdline"] and process.pid != os.getpid():
            arguments |= set(process.info["cmdline"])
            snakemake |= any(Path(part).name == "snakemake" for part in process.info["cmdline"])
    return Workers(arguments, _queue(here), snakemake)


def _queue(here: str) -> dict[str, str]:
    """The state of this user's Slurm jobs that were submitted from this folder, by their comments."""
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
