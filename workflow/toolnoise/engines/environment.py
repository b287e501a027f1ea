"""The process environment that a framework sees: what the tooling sets, and nothing else.

A variable left over in somebody's shell can change kernels and with them bits. So every variable that frameworks and
their libraries read is removed before the framework is imported, but for those that say which devices a scheduler or
a user made visible; what remains is recorded.
"""

import os
import platform
import re
from pathlib import Path
from typing import Any

from toolnoise.errors import BadInput

FRAMEWORK = re.compile(
    r"(TF|TF2|TFE|XLA|KERAS|JAX|TORCH|PYTORCH|ONEDNN|DNNL|MKL|OMP|GOMP|KMP|OPENBLAS|BLIS|GOTO|NUMEXPR|VECLIB|EIGEN|NPY"
    r"|CUDA|CUDNN|CUBLAS|CUBLASLT|NVIDIA|NCCL)_.*"
)
VISIBLE = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "NVIDIA_VISIBLE_DEVICES")
SLURM = ("SLURM_JOB_ID", "SLURM_JOB_PARTITION", "SLURMD_NODENAME")
FLAGS = {"sse41": "sse4_1", "avx2": "avx2", "avx512": "avx512f"}


def impose(settings: dict[str, str]) -> dict[str, str]:
    """Make `settings` all that frameworks see; return them with what a scheduler or user made visible."""
    for name in [name for name in os.environ if FRAMEWORK.fullmatch(name) and name not in VISIBLE]:
        del os.environ[name]
    os.environ.update(settings)
    return settings | {name: os.environ[name] for name in VISIBLE if name in os.environ}


def machine() -> dict[str, Any]:
    """What this machine is."""
    return {
        "host": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "cpu": _cpuinfo("model name") or platform.processor() or platform.machine(),
        "cpu_flags": [flag for flag in _cpuinfo("flags").split() if re.match(r"sse4|avx|fma|amx", flag)],
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "slurm": {name: os.environ[name] for name in SLURM if name in os.environ},
    }


def require_cpu(tooling: dict[str, Any]) -> None:
    """Refuse a tooling whose instruction set this machine's CPU does not have."""
    flags = _cpuinfo("flags").split()
    if FLAGS[tooling["isa"]] not in flags:
        able = [isa for isa, flag in FLAGS.items() if flag in flags]
        found = f"{tooling['isa']} is not to be had on this CPU ({machine()['cpu']})"
        raise BadInput(f"hardware {tooling['name']}", "isa", found, f"it has: {', '.join(able) or 'none of them'}")


def _cpuinfo(field: str) -> str:
    path = Path("/proc/cpuinfo")
    found = re.search(rf"^{field}\s*: (.*)$", path.read_text(), re.MULTILINE) if path.exists() else None
    return found[1].strip() if found else ""
