"""The time of a training step, kernel by kernel: one network on one tooling in one mode, in a process of its own.

The step is the training step: the same compiled loop, forward, backward and optimiser, on images drawn for the purpose.
Some steps warm it up (memory, autotuning); the requested number is timed by the clock; the same number runs under the
framework's profiler, which itself takes time and is therefore kept apart from the clock.

Whatever is timed runs alone on its accelerators; other measurements may start and end meanwhile.
"""

import os
import re
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise import streams
from toolnoise.analyses.overhead import profilers
from toolnoise.analyses.overhead.metric import PROFILE
from toolnoise.base import files, metric_files, scratch
from toolnoise.base.spec import Spec
from toolnoise.base.timings import Timings
from toolnoise.datasets.prepared import Data, Split
from toolnoise.engines import State
from toolnoise.epoch_plan import Plan, plan_epoch
from toolnoise.models.initial import initial_weights
from toolnoise.training.network import build_model, start_engine


def profile(spec: Spec, out: str | Path, record: str | Path) -> dict[str, Any]:
    """Measure the network and mode of `spec`; write its table of kernels and its record; return the observations."""
    timings = Timings()
    with timings.measure("start_up"):
        engine, observed = start_engine(spec)
    with timings.measure("compile"):
        dataset = _drawn(spec)
        parameters = build_model(engine, spec, dataset)
        engine.compile(spec.recipe, dataset.train)
        engine.restore(State(initial_weights(parameters, spec.study_seed, 0, spec.model.name), {}, 0))
    plan = _plan(spec, spec.steps["steps"])
    with _alone():
        with timings.measure("warm_up"):
            engine.epoch(_plan(spec, spec.steps["warmup"]))
        with timings.measure("steps"):
            engine.epoch(plan)
    with timings.measure("profile"):
        kernels = profilers.profile(engine, plan, _alone)
    total = sum(kernel.microseconds for kernel in kernels)
    metric_files.write(out, PROFILE, [(*kernel, kernel.microseconds / total) for kernel in kernels])
    files.write_json(
        record,
        {
            "spec": spec.as_json(),
            "observed": observed,
            "kernel_seconds_per_step": total / 1e6 / len(plan.order),
            "wall_seconds_per_step": timings["steps"] / len(plan.order),
            "seconds": dict(timings),
        },
    )
    return observed


def _alone() -> AbstractContextManager[None]:
    """A time in which no other measurement of this user runs on the accelerators that this process sees."""
    seen = re.sub(r"\W+", "-", os.environ.get("CUDA_VISIBLE_DEVICES", "all"))
    return scratch.claim(Path(tempfile.gettempdir(), f"toolnoise-{os.getuid()}-timed-{seen}"), wait=True)


def _drawn(spec: Spec) -> Data:
    """One batch of noise: the content of images does not change the computation."""
    count, size, classes = spec.recipe["batch_size"], spec.images["image_size"], spec.images["classes"]
    stream = streams.key(spec.study_seed, streams.ANALYSIS, 0, "profile")
    pixels = streams.integers(stream, (count, size, size, spec.images["channels"]), 256).astype(np.uint8)
    split = Split(pixels, np.arange(count, dtype=np.int32) % classes)
    return Data(split, split, tuple(map(str, range(classes))), groups=(), sha256="")


def _plan(spec: Spec, steps: int) -> Plan:
    """An epoch of `steps` steps, each over the same single batch."""
    batch = spec.recipe["batch_size"]
    plan = plan_epoch(spec, steps * batch, epoch=0)
    return plan._replace(order=plan.order % batch)
