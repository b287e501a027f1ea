"""The process environment that a framework sees: the tooling's settings, and nothing else.

A variable left over in a user's shell can change kernels and with them bits. So every variable that frameworks and
their libraries read is removed before the framework is imported, except those by which a scheduler or a user makes
devices visible. The variables that remain are recorded.
"""

import importlib.metadata
import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput

FRAMEWORK = re.compile(
    r"(TF|TF2|TFE|XLA|KERAS|JAX|TORCH|PYTORCH|ONEDNN|DNNL|MKL|OMP|GOMP|KMP|OPENBLAS|BLIS|GOTO|NUMEXPR|VECLIB|EIGEN|NPY"
    r"|CUDA|CUDNN|CUBLAS|CUBLASLT|NVIDIA|NCCL|ATEN|TRITON|TORCHINDUCTOR|LIBTPU)_.*|NPROC"
)
SLURM = ("SLURM_JOB_ID", "SLURM_JOB_PARTITION", "SLURMD_NODENAME")
VISIBLE = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES", "TPU_NAME", "TPU_ACCELERATOR_TYPE")
# Settings of NumPy and its libraries. Each is named: other variables with the same prefix may hold secrets.
NUMERICAL = (
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"),
    *("NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "OPENBLAS_CORETYPE", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS"),
    *("NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES"),
)
WITHOUT_ONEDNN = {"tensorflow": "eigen", "torch": "native"}
CPUINFO = Path("/proc/cpuinfo")
SYSCTL = {"model name": ("machdep.cpu.brand_string",), "flags": ("machdep.cpu.features", "machdep.cpu.leaf7_features")}
FLAGS = {"sse41": "sse4_1", "avx2": "avx2", "avx512": "avx512f"}


def impose_variables(settings: dict[str, str]) -> dict[str, str]:
    """Remove all framework variables except `settings` and `VISIBLE`; return those that remain."""
    for name in [name for name in os.environ if FRAMEWORK.fullmatch(name) and name not in VISIBLE]:
        del os.environ[name]
    os.environ.update(settings)
    return settings | {name: os.environ[name] for name in VISIBLE if name in os.environ}


def forget_numerical() -> None:
    """Remove a user's settings for NumPy's libraries: they decide bits, and no tooling declares them."""
    for name in NUMERICAL:
        os.environ.pop(name, None)


def describe_machine() -> dict[str, Any]:
    """A description of this machine."""
    return {
        "host": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "cpu": _cpuinfo("model name") or platform.processor() or platform.machine(),
        "cpu_flags": [flag for flag in _cpuinfo("flags").split() if re.match(r"sse4|avx|fma|amx", flag)],
        "memory_mib": _memory_mib(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "slurm": {name: os.environ[name] for name in SLURM if name in os.environ},
    }


def require_cpu(tooling: dict[str, Any]) -> None:
    """Refuse a tooling whose instruction set this CPU lacks, or whose precision no instruction set can pin."""
    name = f"hardware {tooling['name']}"
    if tooling["precision"] != "float32" and tooling["kernels"] == "onednn":
        # For these precisions frameworks query the processor, not the pinned instruction set, to decide about oneDNN.
        problem = f"{tooling['precision']} with kernels onednn depends on the processor, not on isa alone"
        raise BadInput(name, "precision", problem, f"allowed: kernels {WITHOUT_ONEDNN[tooling['engine']]}")
    flags = _cpuinfo("flags").split()
    if FLAGS[tooling["isa"]] not in flags:
        able = [isa for isa, flag in FLAGS.items() if flag in flags]
        problem = f"{tooling['isa']} is not available on this CPU ({describe_machine()['cpu']})"
        raise BadInput(name, "isa", problem, f"it has: {', '.join(able) or 'none of them'}")


def installed_versions(names: str) -> dict[str, str]:
    """Versions of the installed packages whose whole name matches a pattern; none is imported."""
    packages = importlib.metadata.distributions()
    versions = {(package.metadata["Name"] or "").lower().replace("_", "-"): package.version for package in packages}
    return {name: version for name, version in sorted(versions.items()) if re.fullmatch(names, name)}


def _cpuinfo(field: str) -> str:
    if CPUINFO.exists():
        line = re.search(rf"^{field}\s*: (.*)$", CPUINFO.read_text(), re.MULTILINE)
        return line[1].strip() if line else ""
    # macOS; an Apple chip has a name but none of these flags.
    values = [_sysctl(name) for name in SYSCTL[field]]
    return " ".join(values) if field == "model name" else " ".join(values).lower().replace(".", "_")


def _sysctl(name: str) -> str:
    try:
        return subprocess.run(["sysctl", "-n", name], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def _memory_mib() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (ValueError, OSError):
        return None
