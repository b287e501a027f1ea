"""Training under the profiler of a framework, kernel by kernel."""

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from toolnoise.analyses.overhead import xplane
from toolnoise.analyses.overhead.xplane import Kernel
from toolnoise.base.errors import BadInput
from toolnoise.engines.keras_engine import KerasEngine
from toolnoise.epoch_plan import Plan

Alone = Callable[[], AbstractContextManager[None]]
DRIVER = "CUPTI and a driver that lets users profile (NVreg_RestrictProfilingToAdminUsers=0)"


def profile(engine: KerasEngine, plan: Plan, alone: Alone) -> tuple[Kernel, ...]:
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
    return (xplane.gpu_kernels if on_gpu else xplane.cpu_operators)(planes), xplane.lacks(space)


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
