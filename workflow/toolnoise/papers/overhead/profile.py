"""The time of a training step, kernel by kernel: one network on one tooling in one mode, in a process of its own.

The step is the training step: the same compiled loop, forward, backward and optimiser, on images drawn for the purpose.
Some steps warm it up (memory, autotuning); the requested number is timed by the clock; the same number runs under the
framework's profiler, which itself takes time and is therefore kept apart from the clock.

Timed steps run alone on their accelerators: meanwhile other measurements may start and end, but not compile.
"""

import fcntl
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise import streams
from toolnoise.base import files, metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import TimedOutput, Timings, unrepeatable
from toolnoise.base.spec import Spec
from toolnoise.datasets.prepared import Data, Split
from toolnoise.engines import State
from toolnoise.engines.keras_engine import KerasEngine
from toolnoise.epoch_plan import Plan, plan_epoch
from toolnoise.models.initial import initial_weights
from toolnoise.papers.overhead import xplane
from toolnoise.papers.overhead.xplane import PROFILE, Kernel
from toolnoise.training.network import build_model, start_engine

Alone = Callable[[], AbstractContextManager[None]]
DRIVER = "CUPTI and a driver that lets users profile (NVreg_RestrictProfilingToAdminUsers=0)"


@unrepeatable("what it made are times")
def profile(spec: Spec, *, out: TimedOutput, record: TimedOutput) -> dict[str, Any]:
    """Measure the network and mode of `spec`; write its table of kernels and its record; return the observations."""
    timings = Timings()
    with timings.measure("start_up"):
        engine, observed = start_engine(spec)
    # Compilers time kernels on the accelerator, too.
    with _accelerators(fcntl.LOCK_SH), timings.measure("compile"):
        dataset = _drawn(spec)
        parameters = build_model(engine, spec, dataset)
        engine.compile(spec.recipe, dataset.train)
        engine.restore(State(initial_weights(parameters, spec.study_seed, 0, spec.model.name), {}, 0))
    plan = _plan(spec, spec.steps["steps"])
    with _alone():
        with timings.measure("warm_up"):
            engine.epoch(_plan(spec, spec.steps["warmup"]))
        _forget_memory(engine)
        with timings.measure("steps"):
            engine.epoch(plan)
    memory = _memory(engine)
    with timings.measure("profile"):
        kernels = kernels_of(engine, plan, _alone)
    total = sum(kernel.microseconds for kernel in kernels)
    metric_files.write_metrics(out, PROFILE, [(*kernel, kernel.microseconds / total) for kernel in kernels])
    files.write_json(
        record,
        {
            "spec": spec.as_json(),
            "observed": observed,
            "kernel_seconds_per_step": total / 1e6 / len(plan.order),
            "wall_seconds_per_step": timings["steps"] / len(plan.order),
            **({} if memory is None else {"memory_bytes": memory}),
            "seconds": dict(timings),
        },
    )
    return observed


def _alone() -> AbstractContextManager[None]:
    """A time in which no other measurement of this user compiles or runs on the accelerators that this process sees."""
    return _accelerators(fcntl.LOCK_EX)


@contextmanager
def _accelerators(use: int) -> Iterator[None]:
    """Hold the accelerators that this process sees, alone or shared with other measurements of this user."""
    seen = re.sub(r"\W+", "-", os.environ.get("CUDA_VISIBLE_DEVICES", "all"))
    with Path(tempfile.gettempdir(), f"toolnoise-{os.getuid()}-timed-{seen}").open("ab") as lock:
        fcntl.flock(lock, use)
        yield


def _forget_memory(engine: KerasEngine) -> None:
    """Reset the count of a GPU's memory, so that warming up does not count; JAX has no such reset."""
    if engine.tooling["accelerator"] == "gpu" and engine.framework == "torch":
        engine.library.cuda.reset_peak_memory_stats()
    elif engine.tooling["accelerator"] == "gpu" and engine.framework == "tensorflow":
        engine.library.config.experimental.reset_memory_stats("GPU:0")


def _memory(engine: KerasEngine) -> int | None:
    """The most bytes of a GPU's memory in use at once, as the framework counts them; None on a CPU."""
    if engine.tooling["accelerator"] != "gpu":
        return None
    if engine.framework == "torch":
        return int(engine.library.cuda.max_memory_allocated())
    if engine.framework == "tensorflow":
        return int(engine.library.config.experimental.get_memory_info("GPU:0")["peak"])
    return (engine.library.config.jax_default_device.memory_stats() or {}).get("peak_bytes_in_use")


def _drawn(spec: Spec) -> Data:
    """One batch of noise: the content of images does not change the computation."""
    count, size, classes = spec.recipe["batch_size"], spec.images["image_size"], spec.images["classes"]
    stream = streams.stream_key(spec.study_seed, streams.ANALYSIS, 0, "profile")
    pixels = streams.integers(stream, (count, size, size, spec.images["channels"]), 256).astype(np.uint8)
    split = Split(pixels, np.arange(count, dtype=np.int32) % classes)
    return Data(split, split, tuple(map(str, range(classes))), groups=(), sha256="")


def _plan(spec: Spec, steps: int) -> Plan:
    """An epoch of `steps` steps, each over the same single batch."""
    batch = spec.recipe["batch_size"]
    plan = plan_epoch(spec, steps * batch, epoch=0)
    return plan._replace(order=plan.order % batch)


def kernels_of(engine: KerasEngine, plan: Plan, alone: Alone) -> tuple[Kernel, ...]:
    """Train one epoch under the framework's own profiler; return its kernels, the longest first.

    The epoch is trained inside `alone()`; profilers take seconds to start and to end, which need no accelerator.
    """
    on_gpu = engine.tooling["accelerator"] == "gpu"
    profiler = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}[engine.framework]
    kernels, lacking = profiler(engine, plan, on_gpu, alone)
    if lacking or not kernels:
        wanted = DRIVER if on_gpu else f"{engine.framework} with its profiler"
        where = f"hardware {engine.tooling['name']}"
        raise BadInput(where, "profiler", lacking or "recorded no kernel", f"it needs {wanted}")
    return kernels


def _tensorflow(engine: KerasEngine, plan: Plan, on_gpu: bool, alone: Alone) -> tuple[tuple[Kernel, ...], str]:
    """The kernels, and why the trace is incomplete."""
    from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace

    # Its options (such as the host's level of detail) are not passed: TensorFlow 2.21 ignores them.
    with tempfile.TemporaryDirectory() as folder:
        with engine.library.profiler.experimental.Profile(folder), alone():
            engine.epoch(plan)
        space = XSpace.FromString(_trace(folder).read_bytes())
    planes = xplane.of_proto(space)
    return (xplane.gpu_kernels if on_gpu else xplane.cpu_operators)(planes), xplane.why_incomplete(space)


def _jax(engine: KerasEngine, plan: Plan, on_gpu: bool, alone: Alone) -> tuple[tuple[Kernel, ...], str]:
    from jax.profiler import ProfileData, ProfileOptions

    options = ProfileOptions()
    options.python_tracer_level = 0
    with tempfile.TemporaryDirectory() as folder:
        with engine.library.profiler.trace(folder, profiler_options=options), alone():
            engine.epoch(plan)
        planes = xplane.of_profile_data(ProfileData.from_file(str(_trace(folder))))
    return (xplane.gpu_kernels if on_gpu else xplane.cpu_instructions)(planes), ""


def _trace(folder: str) -> Path:
    (trace,) = Path(folder).rglob("*.xplane.pb")
    return trace


def _torch(engine: KerasEngine, plan: Plan, on_gpu: bool, alone: Alone) -> tuple[tuple[Kernel, ...], str]:
    """On a CPU, operators exclude the operators nested in them."""
    from torch.profiler import DeviceType, ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA if on_gpu else ProfilerActivity.CPU]) as profiled, alone():
        engine.epoch(plan)
    device = DeviceType.CUDA if on_gpu else DeviceType.CPU
    kernels = [
        Kernel(row.key, row.count, float(row.self_device_time_total if on_gpu else row.self_cpu_time_total))
        for row in profiled.key_averages()
        if row.device_type == device and not row.key.startswith(("Memcpy", "Memset", "ProfilerStep"))
    ]
    return tuple(sorted(kernels, key=lambda row: (-row.microseconds, row.name))), ""
