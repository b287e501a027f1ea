"""The results of bench/gpu.py as tables: the measurements of each part, with intervals and numbers of runs."""

import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from toolnoise.analyses.frameworks.metric import FRAMEWORKS
from toolnoise.analyses.language.metric import LANGUAGE
from toolnoise.analyses.overhead.metric import OVERHEAD
from toolnoise.base import files, metric_files
from toolnoise.base.printing import aligned
from toolnoise.datasets.counting import COUNTS
from toolnoise.formulas.stability import STABILITY
from toolnoise.steps import Job
from toolnoise.study import layout
from toolnoise.study.runs import Run, read
from toolnoise.study.study import Study, is_deterministic


def control(_study: Study, done: list[Job]) -> list[str]:
    """Whether control runs are bit-equal."""
    rows = []
    for job in done:
        verdict = files.read_json(job.outputs[0][0])
        model, _, hardware, _ = verdict["cell"].split("/")
        rows.append((hardware, model, "bit-equal" if verdict["bit_equal"] else "one run", str(len(verdict["seeds"]))))
    return _titled("Control: weights after every epoch and logits", ("tooling", "network", "verdict", "runs"), rows)


def noise(study: Study, done: list[Job]) -> list[str]:
    """The noise of each cell, and what language models add to it."""
    rows = []
    for job in (job for job in done if job.verb == "measure"):
        found = _by_metric(metric_files.read(job.outputs[0][0], STABILITY).query("group == 'all'"))
        about, runs = found["accuracy_mean"], found["accuracy_mean"].n_runs
        diverged = f" ({about.n_missing} diverged)" if about.n_missing else ""
        values = [
            f"{_number(about.value, 100, 2)} ± {_interval(found['accuracy_sd'], 100, 2)}",
            _interval(found["churn"], 100, 2),
            _significant(found["l2_unit"]),
        ]
        rows.append((about.hardware, about.model, about.variant, f"{runs}{diverged}", *values))
    heads = ("tooling", "network", "variant", "runs", "accuracy ± SD, %", "churn, %", "L2 (unit norm)")
    emulated = ", ".join(study.emulated())
    note = [f"implementation noise is emulated (reduction order) on: {emulated}"] if emulated and rows else []
    return [*_titled("Noise, with 95 % intervals", heads, rows), *note, *_language(done)]


def _language(done: list[Job]) -> list[str]:
    rows = []
    for job in (job for job in done if job.verb == "measure-language"):
        found = _by_metric(metric_files.read(job.outputs[0][0], LANGUAGE).query("group == 'all'"))
        about, mean = found["perplexity_sd"], found["perplexity_mean"].value
        values = [f"{_number(mean, 1, 3)} ± {_interval(about, 1, 3)}", _interval(found["divergence"], 1, 4)]
        values.append(_interval(found["continuation_left"], 100, 1))
        rows.append((about.hardware, about.model, about.variant, str(about.n_runs), *values))
    heads = ("tooling", "network", "variant", "runs", "perplexity ± SD", "divergence, bits", "continuation apart, %")
    return _titled("Next tokens, with 95 % intervals", heads, rows) if rows else []


def cost(_study: Study, done: list[Job]) -> list[str]:
    """The cost of determinism for each network."""
    rows = []
    for job in done:
        found = _by_metric(metric_files.read(job.outputs[0][0], OVERHEAD))
        about = found["kernel_ratio"]
        seconds = [_number(found[f"kernel_seconds_{mode}"].value, 1000, 3) for mode in ("default", "deterministic")]
        ratios = [_interval(found[f"{clock}_ratio"], 1, 3) for clock in ("kernel", "wall")]
        ratios.append(_interval(found["memory_ratio"], 1, 3) if "memory_ratio" in found else "")
        rows.append((about.hardware, about.model, *seconds, *ratios, str(about.n_runs)))
    heads = (
        "tooling",
        "network",
        "ms, default",
        "ms, determ.",
        "ratio, kernels",
        "ratio, clock",
        "ratio, memory",
        "runs",
    )
    return _titled("Cost of determinism: a step in kernels, and ratios with 95 % intervals", heads, rows)


def throughput(study: Study, done: list[Job]) -> list[str]:
    """The time of the trainings by activity."""
    counts = metric_files.read([job.outputs[0][0] for job in done], COUNTS)
    images = counts.query("group == 'all' and split == 'train'").groupby("dataset")["count"].sum()
    rows = []
    for cells in study.alike:
        records = [Path(path) for cell in cells for path in study.runs(layout.RECORD, cell)]
        runs = [read(path) for path in records if path.exists()]
        if runs and cells[0].dataset in images:
            switched = "yes" if is_deterministic(cells[0]) else "no"
            rows.append(
                (cells[0].hardware, cells[0].model, switched, str(len(runs)), *_times(runs, images[cells[0].dataset]))
            )
    heads = ("tooling", "network", "determ.", "runs", "images/s", "start, s", "compile, s", "training, s", "rest, s")
    return _titled("Trainings: images a second after the first epoch, and seconds a run (medians)", heads, rows)


def frameworks(_study: Study, done: list[Job]) -> list[str]:
    """The differences between the same run in two frameworks, and the part that comes from inference alone."""
    rows = []
    for job in done:
        found = metric_files.read(job.outputs[0][0], FRAMEWORKS).query("group == 'all'")
        # Inference is reported for each framework's weights; the first row is for the first framework's.
        parts = _by_metric(found.drop_duplicates("metric"))
        about = parts["churn"]
        churns = [_interval(parts[name], 100, 2) for name in ("churn", "churn_training", "churn_inference")]
        toolings = f"{about.hardware} : {about.other_hardware}"
        rows.append((toolings, about.model, about.variant, str(about.n_runs), *churns, about.interval))
    heads = ("toolings", "network", "variant", "runs", "churn, %", "of training, %", "of inference, %", "interval over")
    return _titled("Between frameworks, all draws equal, with 95 % intervals", heads, rows)


def _times(runs: list[Run], images: int) -> list[str]:
    epochs = [float(row["seconds"]) for run in runs for row in run.history()[1:]]
    parts = [run.record["seconds"] for run in runs]
    known = ("start_up", "compile", "training")
    times = [statistics.median(part[name] for part in parts) for name in known]
    rest = statistics.median(sum(part.values()) - sum(part[name] for name in known) for part in parts)
    speed = f"{images / statistics.median(epochs):.0f}" if epochs else "n/a"
    return [speed, *(_number(value, 1, 1) for value in (*times, rest))]


def _titled(title: str, heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    return [title, *(aligned([heads, *rows]) if rows else [])]


def _by_metric(found: pd.DataFrame) -> dict[str, Any]:
    return {row.metric: row for row in found.itertuples(index=False)}


def _interval(row: Any, scale: float, digits: int) -> str:
    value, low, high = (_number(number, scale, digits) for number in (row.value, row.ci_low, row.ci_high))
    return f"{value} ({low} to {high})"


def _significant(row: Any) -> str:
    # Distances from rounding alone are far below any fixed number of digits, but not zero.
    value, low, high = (
        "n/a" if math.isnan(number) else f"{number:.3g}" for number in (row.value, row.ci_low, row.ci_high)
    )
    return f"{value} ({low} to {high})"


def _number(value: float, scale: float, digits: int) -> str:
    return "n/a" if math.isnan(value) else f"{value * scale:.{digits}f}"


TABLES: dict[str, Callable[[Study, list[Job]], list[str]]] = {
    "control": control,
    "noise": noise,
    "cost": cost,
    "throughput": throughput,
    "frameworks": frameworks,
}
