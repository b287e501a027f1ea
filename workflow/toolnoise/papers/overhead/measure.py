"""The cost of determinism for a network on a tooling, from the profiles of its training steps."""

from pathlib import Path

import numpy as np

from toolnoise.base import metric_files, shapes
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Output, ProfileRecords, Values
from toolnoise.base.shapes import AMOUNT, INTEGER, POSITIVE, TEXT, Shape
from toolnoise.papers.overhead.metric import CONDITIONS, KERNELS, OVERHEAD, PROFILE, Cost, costs, longest
from toolnoise.study.cells import MODES, Profile

_NAMED: Shape = {"name": TEXT}
PROFILED: Shape = {
    "spec": {"model": _NAMED, "hardware": _NAMED, "variant": _NAMED, "seed": INTEGER, "steps": {"steps": POSITIVE}},
    "wall_seconds_per_step": AMOUNT,
    "memory_bytes?": INTEGER,
}


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
    metric_files.write(
        out_overhead,
        OVERHEAD,
        [(*about, metric, *estimate, *counts) for metric, estimate in costs(**runs, with_memory=accelerator == "gpu")],
    )
    rows = [(mode, *row) for mode in MODES for row in longest(runs[mode])]
    metric_files.write(out_kernels, KERNELS, [(*about, *names, *seconds, *counts) for *names, seconds in rows])


def _read_cost(record: str) -> tuple[tuple[str, str, str, int], Cost]:
    about = shapes.read(record, PROFILED, "the record that profile wrote")
    spec, wall = about["spec"], about["wall_seconds_per_step"]
    profile = Profile(spec["model"]["name"], spec["hardware"]["name"], spec["variant"]["name"], spec["seed"])
    path = Path(record).with_suffix(".csv")
    kernels = metric_files.read(path, PROFILE)
    wrong = kernels["total_us"][~(np.isfinite(kernels["total_us"]) & (kernels["total_us"] >= 0))]
    if len(wrong):
        raise BadInput(path, "total_us", f"found {wrong.iloc[0]}", "microseconds, from 0 up")
    steps = spec["steps"]["steps"]
    calls, seconds = kernels["calls"] / steps, kernels["total_us"] / 1e6 / steps
    by_kernel = (dict(zip(kernels["kernel"], values, strict=True)) for values in (calls, seconds))
    return profile, Cost(wall, *by_kernel, about.get("memory_bytes", np.nan))
