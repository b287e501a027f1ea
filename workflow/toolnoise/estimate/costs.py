"""The cost of a study, before anything is submitted: jobs, hours on each tooling, money and disk space.

Hours and the sizes of weights come from earlier measurements (see `speed`), prices from the study, the rest from
prepared data. Missing values are reported as unknown, counted, and left out of the sums.
"""

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import files, program
from toolnoise.base.arrays import npz_names
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import align_columns, size_text, span_text
from toolnoise.base.spec import Spec
from toolnoise.datasets import prepared
from toolnoise.engines.serving import why_not
from toolnoise.epoch_plan import count_cycles, steps_per_epoch
from toolnoise.estimate import speed
from toolnoise.estimate.speed import Pace
from toolnoise.formulas.likeliest import unit_dtype
from toolnoise.study import layout, remedies, runs
from toolnoise.study.cells import MODES, Cell, Profile
from toolnoise.study.entries import cores_of_tooling, records_steps
from toolnoise.study.expected import EXPECTED
from toolnoise.study.study import Study, is_deterministic

UNITS = {"cpu": "core-hours", "gpu": "GPU-hours", "tpu": "TPU-hours"}


class Workload(NamedTuple):
    """Runs that take the same time: one model on one data set and tooling, deterministic or not; or all profiles.

    Seconds are None without a measurement; `seconds_left` includes the jobs that dump predictions.
    """

    hardware: str
    model: str
    dataset: str
    deterministic: bool
    runs: int
    left: int
    seconds_a_run: float | None
    seconds_left: float | None
    measured: str


class Tooling(NamedTuple):
    """Work left on one tooling: the number of runs, the number of unknown time, and hours and cost of the others."""

    hardware: str
    unit: str
    left: int
    unknown: int
    hours: float
    cost: float | None


class Disk(NamedTuple):
    """Bytes of the whole study by kind, and the parts that are unknown."""

    weights: int
    predictions: int
    data: int
    unknown: list[str]


class StudyCost(NamedTuple):
    """The whole estimate; `jobs` counts the jobs of the whole study."""

    jobs: dict[str, int]
    tasks: list[Workload]
    hardware: list[Tooling]
    disk: Disk


def estimate(study: Study) -> StudyCost:
    """Estimate a study from the results in this folder."""
    paces = {cells: speed.find_pace(_spec(study, cells[0])) for cells in study.alike}
    tasks = [_task(study, cells, pace) for cells, pace in paces.items()]
    measured_on = dict.fromkeys(network.hardware for network in study.networks)
    tasks += [_profiles(study, hardware, mode) for hardware in measured_on for mode in MODES]
    names = dict.fromkeys(task.hardware for task in tasks)
    toolings = [_tooling(study, name, [task for task in tasks if task.hardware == name]) for name in names]
    return StudyCost(_jobs(study), tasks, toolings, _disk(study, paces))


def measure(study: Study, file: str) -> None:
    """Time the untimed cells that this machine can run; print the cells that it cannot time.

    `file` is the study's file. Each cell is timed by its rule, which prepares its data if necessary.
    """
    wanted = []
    for first, *_ in study.alike:
        reason = why_not({"name": first.hardware, **study.tooling(first.hardware)})
        if study.is_program(first):
            reason = "its first run shows its time"
        if reason:
            print(f"not timed: {'/'.join(first)}: {reason}", file=sys.stderr, flush=True)
        elif not speed.find_pace(_spec(study, first)):
            wanted.append(study.path(layout.SPEED, first))
    if wanted:
        options = [
            "--snakefile",
            str(program.path_of_snakefile()),
            "--configfile",
            file,
            "--cores",
            "1",
            "--rerun-incomplete",
        ]
        command = program.python_command("snakemake", *wanted, *options, "--keep-going", "--show-failed-logs")
        # One job at a time and no template, so that nothing else slows the timed steps.
        subprocess.run(command, stdout=sys.stderr, env={**os.environ, "TOOLNOISE_WARM": "0"}, check=False)


def _spec(study: Study, cell: Cell) -> Spec:
    """The spec of any run of a cell."""
    return study.spec(cell, study.seeds[cell][0])


def _task(study: Study, cells: tuple[Cell, ...], pace: Pace | None) -> Workload:
    first, left, seconds = cells[0], 0, 0.0
    a_run = pace.run(_spec(study, first).recipe) if pace else None
    for cell in cells:
        paths = zip(study.seeds[cell], study.runs(layout.RECORD, cell), strict=True)
        unfinished = sum(not _has_record(study.spec(cell, seed), path) for seed, path in paths)
        left += unfinished
        if pace:
            seconds += unfinished * a_run
            dumps = _dumps(study, cell)
            seconds += sum(pace.predictions(passes) for path, passes in dumps if unfinished or not path.exists())
    return Workload(
        *(first.hardware, first.model, first.dataset, is_deterministic(first)),
        runs=sum(len(study.seeds[cell]) for cell in cells),
        left=left,
        seconds_a_run=a_run,
        seconds_left=seconds if pace else None,
        measured=pace.source if pace else "nothing",
    )


def _dumps(study: Study, cell: Cell) -> Iterator[tuple[Path, int]]:
    """The dumps that are made on the tooling of a cell, each with its number of passes over the test set."""
    seeds = len(study.seeds[cell])
    yield Path(study.path(layout.LOGITS, cell)), seeds
    if cell in study.layers:
        # For each run a pass over at most the test set; if the layers do not fit in memory, more passes.
        yield Path(study.path(layout.GRAMS, cell)), seeds
    if names := study.remedies_of(cell):
        recipe = study.config["recipes"][study.recipe_of[cell.task]]
        yield Path(study.path(layout.REMEDIED, cell)), seeds * remedies.count_passes(names, count_cycles(recipe))
    # Runs trained on another tooling and predicted on this one.
    for pair in study.exchanged:
        trained, here = pair.cells
        if here == cell:
            yield Path(study.path(layout.EXCHANGED, pair)), len(study.seeds[trained])


def _profiles(study: Study, hardware: str, mode: str) -> Workload:
    """The measurements of the cost of determinism on a tooling in a mode, all networks together."""
    profiles = [profile for profile in study.profiles if (profile.hardware, profile.mode) == (hardware, mode)]
    networks = dict.fromkeys(profile.model for profile in profiles)
    each = {model: speed.profiling_seconds(study.profile_spec(Profile(model, hardware, mode, 1))) for model in networks}
    records = [(profile, study.path(layout.PROFILE_RECORD, profile)) for profile in profiles]
    left = [profile for profile, path in records if not _has_record(study.profile_spec(profile), path)]
    known = [seconds for seconds in each.values() if seconds is not None]
    whole = len(known) == len(each)
    return Workload(
        *(hardware, f"{len(networks)} networks", "-", mode == "deterministic"),
        runs=len(profiles),
        left=len(left),
        seconds_a_run=sum(known) / len(known) if whole else None,
        seconds_left=sum(each[profile.model] for profile in left) if whole else None,
        measured=f"profiles of {len(known)}" if known else "nothing",
    )


def _has_record(spec: Spec, path: str) -> bool:
    """Whether the record of a job exists and has this spec, not that of an earlier version of the job."""
    try:
        return files.read_json(path)["spec"] == spec.as_json()
    except (BadInput, KeyError, TypeError):
        return False


def _tooling(study: Study, name: str, tasks: list[Workload]) -> Tooling:
    entry, seconds = study.tooling(name), 0.0
    for task in tasks:
        # Clusters count the cores of a CPU run, and one device otherwise. The steps of a profile have no data set.
        on_cpu = entry["accelerator"] == "cpu"
        devices = cores_of_tooling(entry, study.config["datasets"].get(task.dataset, {})) if on_cpu else 1
        seconds += devices * (task.seconds_left or 0.0)
    price = study.config["prices"].get(name)
    return Tooling(
        name,
        UNITS[entry["accelerator"]],
        left=sum(task.left for task in tasks),
        unknown=sum(task.left for task in tasks if task.seconds_left is None),
        hours=seconds / 3600,
        cost=None if price is None else price * seconds / 3600,
    )


def _jobs(study: Study) -> dict[str, int]:
    """The number of jobs, in groups for people."""

    def jobs(*verbs: str) -> int:
        return sum(len(list(EXPECTED[verb].places(study))) for verb in verbs)

    measures = [verb for verb, kind in EXPECTED.items() if verb.startswith("measure") and kind.needed]
    return {
        "data sets": jobs("prepare", "gather-labels"),
        "trainings": jobs("train", "run-program"),
        "predictions": jobs("predict", "dump-outcomes", "remedy", "predict-elsewhere"),
        "layers": jobs("dump-layers", "dump-continuations"),
        "profiles": jobs("profile"),
        "checks and measures": jobs("check-control", "check-program", *measures),
        "figures and tables": len(study.figures),
    }


def _disk(study: Study, paces: dict[tuple[Cell, ...], Pace | None]) -> Disk:
    """The size of all weights that are kept, each as large as a measured network's, of predictions and of data."""
    weights = predictions = stored = 0
    unknown = []
    known = ((cells[0].task, pace.weight_bytes) for cells, pace in paces.items() if pace)
    each = {task: size_of_one for task, size_of_one in known if size_of_one}
    for name in study.datasets:
        path = Path(study.path(layout.DATA, dataset=name))
        cells = [cell for cell in study.cells if cell.dataset == name]
        # Outcomes of training programs, such as values, may have no classes.
        data = prepared.load(path) if path.exists() and "classes" in npz_names(path) else None
        for cell in cells:
            recipe = _spec(study, cell).recipe
            copies = count_cycles(recipe)
            if data and records_steps(recipe):
                copies += len(runs.recording_steps(recipe["epochs"] * steps_per_epoch(recipe, len(data.train))))
            weights += len(study.seeds[cell]) * copies * each.get(cell.task, 0)
        tasks = dict.fromkeys(cell.task for cell in cells)
        unknown += [f"weights of {model} on {name}" for model, _ in tasks if (model, name) not in each]
        stored += path.stat().st_size if path.exists() else 0
        if data is None:
            unknown.append(f"predictions of {name}" if path.exists() else f"data and predictions of {name}")
            continue
        dumped = sum(len(study.seeds[cell]) * (1 + len(study.remedies_of(cell))) for cell in cells)
        dumped += sum(len(study.seeds[pair.cells[0]]) for pair in study.exchanged if pair.dataset == name)
        dtype, of_unit = unit_dtype(data.test.units > 1, len(data.classes))
        predictions += dumped * len(data.test.labels) * math.prod(of_unit) * dtype.itemsize
    return Disk(weights, predictions, stored, unknown)


# In words


def as_json(cost: StudyCost) -> dict[str, Any]:
    """The estimate as plain values; unknown values are null."""
    tasks, hardware = ([one._asdict() for one in part] for part in (cost.tasks, cost.hardware))
    return {"jobs": cost.jobs, "tasks": tasks, "hardware": hardware, "disk_bytes": cost.disk._asdict()}


def as_text(cost: StudyCost, file: str) -> str:
    """The estimate as text; `file` is the study's file. A finished study needs only disk space."""
    if not any(task.left or task.seconds_left for task in cost.tasks):
        made = sum(task.runs for task in cost.tasks)
        return f"nothing left: all {made} runs and profiles are here\n{_disk_text(cost.disk)}"
    rows = [("hardware", "model", "data set", "deterministic", "runs", "left", "a run", "all left", "measured from")]
    for task in cost.tasks:
        times = map(_duration, (task.seconds_a_run, task.seconds_left))
        deterministic = "yes" if task.deterministic else "no"
        counts = str(task.runs), str(task.left)
        rows.append((task.hardware, task.model, task.dataset, deterministic, *counts, *times, task.measured))
    lines = [", ".join(f"{kind}: {count}" for kind, count in cost.jobs.items()), "", *align_columns(rows), ""]
    lines += [*map(_tooling_text, cost.hardware), _disk_text(cost.disk)]
    if any(tooling.unknown for tooling in cost.hardware):
        here = f"toolnoise estimate --measure --study {file}"
        lines.append(f"to time the unknown runs: `snakemake speed`, a short job on each tooling, or here `{here}`")
    return "\n".join(lines)


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    # 0 means that nothing is left; `span` writes at least 1 s.
    return span_text(seconds) if seconds else "0 s"


def _tooling_text(tooling: Tooling) -> str:
    left = f"{tooling.hardware}: {tooling.left} runs left"
    if tooling.unknown == tooling.left > 0:
        return f"{left}, {tooling.unit} and cost unknown"
    least = "at least " if tooling.unknown else ""
    beside = f", and {tooling.unknown} runs whose time is unknown" if tooling.unknown else ""
    cost = "price unknown" if tooling.cost is None else f"cost {least}{tooling.cost:,.2f}"
    return f"{left}, {least}{tooling.hours:,.2f} {tooling.unit}{beside}; {cost}"


def _disk_text(disk: Disk) -> str:
    *kinds, missing = disk._asdict().items()
    parts = ", ".join(f"{kind} {size_text(count)}" for kind, count in kinds)
    least, unknown = ("at least ", f"; unknown: {'; '.join(missing[1])}") if missing[1] else ("", "")
    return f"disk: {least}{size_text(sum(count for _, count in kinds))} ({parts}){unknown}"
