"""The cost of determinism for a network on a tooling, from the profiles of its training steps: times and their ratio.

Runs are processes; every time is per step. No row is ever left out: with too few runs the estimate is NaN.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toolnoise.base import metric_files, shapes
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Output, ProfileRecords, Values
from toolnoise.base.metric_files import ESTIMATE, Columns
from toolnoise.base.shapes import AMOUNT, INTEGER, POSITIVE, TEXT, Shape
from toolnoise.papers.overhead.xplane import PROFILE
from toolnoise.stats.estimates import UNDEFINED, Estimate, mean_t, standard_deviation, t_interval
from toolnoise.study.cells import MODES, Profile

# The cost of a step: KERNELS has the longest kernels of a mode, OVERHEAD the whole step of a network on a tooling.
CONDITIONS = ("batch_size", "image_size", "steps")
_NETWORK: Columns = {"model": str, "hardware": str, "accelerator": str, **dict.fromkeys(CONDITIONS, int)}
KERNELS: Columns = {**_NETWORK, "mode": str, "rank": str, "kernel": str, "calls_per_step": float, **ESTIMATE}
OVERHEAD: Columns = {**_NETWORK, "metric": str, **ESTIMATE}

TOP = 20  # kernels are named in each mode, as in the paper's figure 8
REST = "rest"  # the rank of all others together


_NAMED: Shape = {"name": TEXT}
PROFILED: Shape = {
    "spec": {"model": _NAMED, "hardware": _NAMED, "variant": _NAMED, "seed": INTEGER, "steps": {"steps": POSITIVE}},
    "wall_seconds_per_step": AMOUNT,
    "memory_bytes?": INTEGER,
}


class Cost(NamedTuple):
    """The cost of a step in one run: wall-clock seconds, the calls and seconds of each kernel, and bytes of memory."""

    wall: float
    calls: Mapping[str, float]
    seconds: Mapping[str, float]
    memory: float = np.nan

    @property
    def kernels(self) -> float:
        """Seconds in kernels."""
        return sum(self.seconds.values())


KernelRow = tuple[str, str, float, Estimate]  # its rank in a mode, its name, its calls and seconds per step over runs


def cost_rows(
    default: Sequence[Cost], deterministic: Sequence[Cost], *, with_memory: bool = False
) -> list[tuple[str, Estimate]]:
    """Seconds per step in both modes and their ratio, in kernels and by the wall clock; and the same for memory."""
    rows = []
    measured = [("kernel", "kernels", "kernel_seconds"), ("wall", "wall", "wall_seconds")]
    for metric, attribute, name in measured + [("memory", "memory", "memory_bytes")] * with_memory:
        values = (np.array([getattr(run, attribute) for run in runs]) for runs in (default, deterministic))
        # Profiles of earlier versions have no memory.
        plain, other = (of_mode[~np.isnan(of_mode)] for of_mode in values)
        rows += [
            (f"{name}_default", mean_t(plain).within(0, np.inf)),
            (f"{name}_deterministic", mean_t(other).within(0, np.inf)),
            (f"{metric}_ratio", ratio_of_means(other, plain)),
        ]
    return rows


def longest_kernels(runs: Sequence[Cost]) -> list[KernelRow]:
    """The `TOP` kernels with the longest time over these runs, and the sum of the rest.

    A run that never called a kernel (another process may choose other kernels) spent no time in it.
    """
    if not runs:
        return []
    names = sorted({name for run in runs for name in run.seconds})
    seconds = np.array([[run.seconds.get(name, 0.0) for run in runs] for name in names])
    calls = np.array([[run.calls.get(name, 0.0) for run in runs] for name in names])
    order = np.argsort(-seconds.mean(axis=1), kind="stable")
    rows = [
        _row(str(rank), names[place], calls[place], seconds[place]) for rank, place in enumerate(order[:TOP], start=1)
    ]
    others = order[TOP:]
    if len(others):
        rows.append(_row(REST, f"{len(others)} others", calls[others].sum(axis=0), seconds[others].sum(axis=0)))
    return rows


def _row(rank: str, kernel: str, calls: np.ndarray, seconds: np.ndarray) -> KernelRow:
    return rank, kernel, float(calls.mean()), mean_t(seconds).within(0, np.inf)


def ratio_of_means(numerator: np.ndarray, denominator: np.ndarray) -> Estimate:
    """Mean over mean, with Welch's interval of the ratio's logarithm (delta method); both must be positive.

    The ratio is undefined unless both have at least one run. There is no interval if either has only one run.
    """
    counts = np.array([len(numerator), len(denominator)])
    if counts.min() == 0:
        return UNDEFINED
    ratio = float(np.mean(numerator) / np.mean(denominator))
    if counts.min() == 1:
        return Estimate(ratio, np.nan, np.nan)
    spreads = np.array([standard_deviation(runs) / np.mean(runs) for runs in (numerator, denominator)])
    if not spreads.any():
        return Estimate(ratio)
    squares = spreads**2 / counts
    freedom = squares.sum() ** 2 / np.sum(squares**2 / (counts - 1))
    _, low, high = t_interval(np.log(ratio), np.sqrt(squares.sum()), freedom)
    with np.errstate(over="ignore"):  # an interval too wide for a float ends at infinity, which is true
        return Estimate(ratio, float(np.exp(low)), float(np.exp(high)))


def measure(
    model: str,
    hardware: str,
    accelerator: str,
    overhead: Values,
    records: ProfileRecords,
    *,
    out_overhead: Output,
    out_kernels: Output,
) -> None:
    """Write the cost of determinism and the longest kernels of each mode; a repeat that lacks a mode is missing.

    `overhead` is the study's settings for it.
    """
    subject = model, hardware
    by_profile = dict(_read_cost(record) for record in records)
    repeats = range(1, overhead["repeats"] + 1)
    for profile in by_profile:
        if profile[:2] != subject or profile.mode not in MODES or profile.repeat not in repeats:
            what = f"{'/'.join(map(str, profile))} is not one of its measurements"
            raise BadInput("study", "overhead", what, f"records of {' on '.join(subject)}")
    whole = [repeat for repeat in repeats if all((*subject, mode, repeat) in by_profile for mode in MODES)]
    runs = {mode: [by_profile[*subject, mode, repeat] for repeat in whole] for mode in MODES}
    counts = (len(whole), len(repeats) - len(whole))
    about = (*subject, accelerator, *(overhead[key] for key in CONDITIONS))
    metric_files.write_metrics(
        out_overhead,
        OVERHEAD,
        [
            (*about, metric, *estimate, *counts)
            for metric, estimate in cost_rows(**runs, with_memory=accelerator == "gpu")
        ],
    )
    rows = [(mode, *row) for mode in MODES for row in longest_kernels(runs[mode])]
    metric_files.write_metrics(out_kernels, KERNELS, [(*about, *names, *seconds, *counts) for *names, seconds in rows])


def _read_cost(record: str) -> tuple[tuple[str, str, str, int], Cost]:
    about = shapes.read_json_of_shape(record, PROFILED, "the record that profile wrote")
    spec, wall = about["spec"], about["wall_seconds_per_step"]
    profile = Profile(spec["model"]["name"], spec["hardware"]["name"], spec["variant"]["name"], spec["seed"])
    path = Path(record).with_suffix(".csv")
    kernels = metric_files.read_metrics(path, PROFILE)
    wrong = kernels["total_us"][~(np.isfinite(kernels["total_us"]) & (kernels["total_us"] >= 0))]
    if len(wrong):
        raise BadInput(path, "total_us", f"found {wrong.iloc[0]}", "microseconds, from 0 up")
    steps = spec["steps"]["steps"]
    calls, seconds = kernels["calls"] / steps, kernels["total_us"] / 1e6 / steps
    by_kernel = (dict(zip(kernels["kernel"], values, strict=True)) for values in (calls, seconds))
    return profile, Cost(wall, *by_kernel, about.get("memory_bytes", np.nan))
