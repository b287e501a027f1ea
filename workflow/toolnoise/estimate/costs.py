"""The cost of a study, before anything is submitted: jobs, hours on each tooling, money and disk space.

Hours come from earlier measurements (see `run_time`), prices from the study, sizes from the networks and the prepared
data. Values that nobody measured or stated are reported as unknown, counted, and left out of the sums.
"""

import functools
import importlib.util
import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise import engines
from toolnoise.base import files, program
from toolnoise.base.arrays import npz_names
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import aligned, size, span
from toolnoise.base.spec import Spec
from toolnoise.datasets import prepared
from toolnoise.engines.keras_engine import KerasEngine
from toolnoise.engines.serving import why_not
from toolnoise.epoch_plan import cycles, steps_per_epoch
from toolnoise.estimate import official, run_time
from toolnoise.estimate.run_time import Pace
from toolnoise.formulas.likeliest import unit_dtype
from toolnoise.study import config, layout, remedies, runs
from toolnoise.study.cells import MODES, Cell, Profile
from toolnoise.study.entries import cores, records_steps
from toolnoise.study.expected import EXPECTED
from toolnoise.study.study import Study, is_deterministic
from toolnoise.training import network

# Weights and logits are float32.
NUMBER_BYTES = 4
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


class Dump(NamedTuple):
    """A dump of a cell: the pattern of its path, the forward passes that it takes, the stacks of logits that it has."""

    pattern: str
    passes: int
    stacks: int


class Tooling(NamedTuple):
    """Work left on one tooling: runs, how many of these have an unknown time, hours of the others, cost."""

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
    paces = {cells[0]: run_time.find(_spec(study, cells[0])) for cells in study.alike}
    tasks = [_task(study, cells, paces[cells[0]]) for cells in study.alike]
    measured_on = dict.fromkeys(network.hardware for network in study.networks)
    tasks += [_profiles(study, hardware, mode) for hardware in measured_on for mode in MODES]
    names = dict.fromkeys(task.hardware for task in tasks)
    toolings = [_tooling(study, name, [task for task in tasks if task.hardware == name]) for name in names]
    return StudyCost(_jobs(study), tasks, toolings, _disk(study, paces))


def measure(study: Study, file: str) -> None:
    """Time the cells that nobody has timed and this machine can run, each in its own process; print those left out.

    `file` is the study's file.
    """
    for first, *_ in study.alike:
        if study.is_program(first):
            print(f"not timed: {'/'.join(first)}: its first run shows its time", file=sys.stderr, flush=True)
            continue
        reason = why_not({"name": first.hardware, **study.tooling(first.hardware)})
        if not reason and not run_time.find(_spec(study, first)):
            print(f"timing {'/'.join(first)}", file=sys.stderr, flush=True)
            reason = _measure_one(study, file, first)
        if reason:
            print(f"not timed: {'/'.join(first)}: {reason}", file=sys.stderr, flush=True)


def _measure_one(study: Study, file: str, cell: Cell) -> str:
    """Time a cell by its rule, and prepare its data if necessary; return why it failed, or an empty text."""
    options = ["--snakefile", str(program.snakefile()), "--configfile", file, "--cores", "1", "--rerun-incomplete"]
    command = program.python("snakemake", study.path(layout.SPEED, cell), *options, "--show-failed-logs")
    # One job needs no template.
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TOOLNOISE_WARM": "0"})
    said = [line for line in (done.stdout + done.stderr).splitlines() if "toolnoise: " in line]
    if done.returncode == 0:
        return ""
    return said[-1].partition("toolnoise: ")[2] if said else f"its rule ended with {done.returncode}"


def _spec(study: Study, cell: Cell) -> Spec:
    """The spec of any run of a cell."""
    return study.spec(cell, study.seeds[cell][0])


def _task(study: Study, cells: tuple[Cell, ...], pace: Pace | None) -> Workload:
    first, left, seconds = cells[0], 0, 0.0
    a_run = pace.run(_spec(study, first).recipe) if pace else None
    for cell in cells:
        unfinished = len(unfinished_seeds(study, cell))
        left += unfinished
        if pace:
            seconds += unfinished * a_run
            for dump in _dumps(study, cell):
                if unfinished or not Path(study.path(dump.pattern, cell)).exists():
                    seconds += pace.predictions(len(study.seeds[cell]) * dump.passes)
            # Runs trained on another tooling and predicted on this one.
            for pair in study.exchanged:
                trained, here = pair.cells
                if here == cell and (unfinished or not Path(study.path(layout.EXCHANGED, pair)).exists()):
                    seconds += pace.predictions(len(study.seeds[trained]))
    return Workload(
        *(first.hardware, first.model, first.dataset, is_deterministic(first)),
        runs=_runs(study, cells),
        left=left,
        seconds_a_run=a_run,
        seconds_left=seconds if pace else None,
        measured=pace.source if pace else "nothing",
    )


def _dumps(study: Study, cell: Cell) -> list[Dump]:
    """The dumps of a cell."""
    dumps = [Dump(layout.LOGITS, 1, 1)]
    if cell in study.layers:
        # One forward pass over the test set at most; several if the layers do not fit in memory.
        dumps.append(Dump(layout.GRAMS, 1, 0))
    if names := study.remedies_of(cell):
        recipe = study.config["recipes"][study.recipe_of[cell.task]]
        dumps.append(Dump(layout.REMEDIED, remedies.passes(names, cycles(recipe)), len(names)))
    return dumps


def _profiles(study: Study, hardware: str, mode: str) -> Workload:
    """The measurements of the cost of determinism on a tooling in a mode, all networks together."""
    profiles = [profile for profile in study.profiles if (profile.hardware, profile.mode) == (hardware, mode)]
    networks = dict.fromkeys(profile.model for profile in profiles)
    each = {model: run_time.profiling(study.profile_spec(Profile(model, hardware, mode, 1))) for model in networks}
    left = [
        profile
        for profile in profiles
        if not _has_record(study.profile_spec(profile), study.path(layout.PROFILE_RECORD, profile), files.read_json)
    ]
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


def unfinished_seeds(study: Study, cell: Cell) -> list[int]:
    """The seeds of a cell whose runs have no finished record."""
    paths = zip(study.seeds[cell], study.runs(layout.RECORD, cell), strict=True)
    return [seed for seed, path in paths if not _has_record(study.spec(cell, seed), path, _record_of_run)]


def _record_of_run(path: str) -> dict[str, Any]:
    return runs.read(path).record


def _has_record(spec: Spec, path: str, read_record: Callable[[str], dict[str, Any]]) -> bool:
    """Whether the job that `spec` describes, not an earlier version of it, has left its record."""
    try:
        return read_record(path)["spec"] == spec.as_json()
    except (BadInput, KeyError, TypeError):
        return False


def _tooling(study: Study, name: str, tasks: list[Workload]) -> Tooling:
    entry = study.tooling(name)

    def devices(task: Workload) -> int:
        # Clusters count the cores of a CPU run, and one device otherwise. The steps of a profile have no data set.
        return cores(entry, study.config["datasets"].get(task.dataset, {})) if entry["accelerator"] == "cpu" else 1

    hours = sum(devices(task) * (task.seconds_left or 0.0) for task in tasks) / 3600
    price = study.config["prices"].get(name)
    return Tooling(
        name,
        UNITS[entry["accelerator"]],
        left=sum(task.left for task in tasks),
        unknown=sum(task.left for task in tasks if task.seconds_left is None),
        hours=hours,
        cost=None if price is None else price * hours,
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


def _disk(study: Study, paces: dict[Cell, Pace | None]) -> Disk:
    """Disk space: weights as large as a measured or built network's, per cycle; the rest from the size of the data."""
    weights = predictions = data = 0
    unknown = []
    known = {cell[:2]: pace.weight_bytes for cell, pace in paces.items() if pace and pace.weight_bytes}
    for name in study.datasets:
        path = Path(study.path(layout.DATA, dataset=name))
        dataset = _dataset(study, name, path)
        cells = [cell for cell in study.cells if cell.dataset == name]
        for model in dict.fromkeys(cell.model for cell in cells):
            of_it = [cell for cell in cells if cell.model == model]
            each = known.get((model, name)) or _weight_bytes(_spec(study, of_it[0]), dataset)
            weights += _runs(study, of_it) * each * _copies(_spec(study, of_it[0]).recipe, dataset)
            if not each:
                unknown.append(f"weights of {model} on {name}")
        if dataset is None:
            data += path.stat().st_size if path.exists() else 0
            lacking = f"predictions of {name}" if path.exists() else f"data and predictions of {name}, not prepared yet"
            unknown.append(lacking)
            continue
        dumped = sum(len(study.seeds[cell]) * dump.stacks for cell in cells for dump in _dumps(study, cell))
        dumped += sum(len(study.seeds[pair.cells[0]]) for pair in study.exchanged if pair.dataset == name)
        dtype, of_unit = unit_dtype(dataset.test.units > 1, len(dataset.classes))
        predictions += dumped * len(dataset.test.labels) * math.prod(of_unit) * dtype.itemsize
        data += path.stat().st_size if path.exists() else dataset.train.pixels.nbytes + dataset.test.pixels.nbytes
    return Disk(weights, predictions, data, unknown)


def _dataset(study: Study, name: str, path: Path) -> prepared.Data | None:
    """The data as far as they are known; None of what training programs left that has no classes, such as values."""
    if not path.exists():
        return official.blank(study.config["datasets"][name], config.registered("datasets"))
    return prepared.load(path) if "classes" in npz_names(path) else None


def _runs(study: Study, cells: Sequence[Cell]) -> int:
    return sum(len(study.seeds[cell]) for cell in cells)


def _copies(recipe: dict[str, Any], dataset: prepared.Data | None) -> int:
    """How often a run has its weights in its file: at the end, after each cycle before, and after recorded steps."""
    recorded = []
    if dataset and records_steps(recipe):
        recorded = runs.recording_steps(recipe["epochs"] * steps_per_epoch(recipe, len(dataset.train)))
    return cycles(recipe) + len(recorded)


def _weight_bytes(spec: Spec, dataset: prepared.Data | None) -> int:
    """The bytes of a network's weights; 0 if it cannot be built: no data, no framework or no such builder."""
    if dataset is None or spec.model.builder is None:
        return 0
    try:
        parameters = network.build_model(_engine(), spec, dataset)
    except (ImportError, BadInput):
        return 0
    return sum(math.prod(parameter.shape) for parameter in parameters) * NUMBER_BYTES


@functools.cache
def _engine() -> KerasEngine:
    """An engine to build networks on a CPU: the first installed one, since all build the same."""
    for name in engines.FRAMEWORKS:
        if importlib.util.find_spec(name):
            toolings, here = config.registered("hardware"), (name, "cpu")
            tooling = next(one for one in toolings.values() if (one["engine"], one["accelerator"]) == here)
            engine = engines.load(name)
            engine.start({"name": "cpu", **tooling}, deterministic=True)
            return engine
    raise ModuleNotFoundError("no framework is installed")


def as_json(cost: StudyCost) -> dict[str, Any]:
    """The estimate as plain values; unknown values are null."""
    tasks, hardware = ([one._asdict() for one in part] for part in (cost.tasks, cost.hardware))
    return {"jobs": cost.jobs, "tasks": tasks, "hardware": hardware, "disk_bytes": cost.disk._asdict()}


def as_text(cost: StudyCost, file: str) -> str:
    """The estimate, for a person; `file` is the study's file. Of a finished study there is nothing to estimate."""
    if not any(task.left or task.seconds_left for task in cost.tasks):
        made = sum(task.runs for task in cost.tasks)
        return f"nothing left: all {made} runs and profiles are here\n{_disk_text(cost.disk)}"
    heading = ("hardware", "model", "data set", "deterministic", "runs", "left", "a run", "all left", "measured from")
    rows = [
        (
            *(task.hardware, task.model, task.dataset, "yes" if task.deterministic else "no"),
            *(str(task.runs), str(task.left), *map(_duration, (task.seconds_a_run, task.seconds_left)), task.measured),
        )
        for task in cost.tasks
    ]
    lines = [
        *[", ".join(f"{kind}: {count}" for kind, count in cost.jobs.items()), ""],
        *[*aligned([heading, *rows]), ""],
        *map(_tooling_text, cost.hardware),
        _disk_text(cost.disk),
    ]
    if any(tooling.unknown for tooling in cost.hardware):
        here = f"toolnoise estimate --measure --study {file}"
        lines.append(f"to time the unknown runs: `snakemake speed`, a short job on each tooling, or here `{here}`")
    return "\n".join(lines)


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown"
    # Nothing is left; less than a second would be 1 s.
    return span(seconds) if seconds else "0 s"


def _tooling_text(tooling: Tooling) -> str:
    left = f"{tooling.hardware}: {tooling.left} runs left"
    if tooling.unknown == tooling.left > 0:
        return f"{left}, {tooling.unit} and cost unknown"
    least = "at least " if tooling.unknown else ""
    beside = f", and {tooling.unknown} runs whose time is unknown" if tooling.unknown else ""
    cost = "price unknown" if tooling.cost is None else f"cost {least}{tooling.cost:,.2f}"
    return f"{left}, {least}{tooling.hours:,.2f} {tooling.unit}{beside}; {cost}"


def _disk_text(disk: Disk) -> str:
    least = "at least " if disk.unknown else ""
    kinds = ("weights", "predictions", "data")
    parts = [f"{kind} {size(getattr(disk, kind))}" for kind in kinds]
    total = size(sum(getattr(disk, kind) for kind in kinds))
    unknown = f"; unknown: {'; '.join(disk.unknown)}" if disk.unknown else ""
    return f"disk: {least}{total} ({', '.join(parts)}){unknown}"
