"""What this machine is, and which toolings it can serve.

Nothing is imported to find out, so that it answers on a machine without a framework, a GPU or /proc. Why a tooling
cannot be served is told in the words in which a run would be refused.
"""

import importlib.util
import re
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.base.printing import aligned
from toolnoise.engines import accelerators, environment

PACKAGES = "tensorflow|tensorflow-cpu|keras|jax|jaxlib|jax-cuda.*|torch|numpy|nvidia-.*|snakemake|toolnoise"
# Where a framework's build says what it computes on, and what it says if that is GPUs.
BUILDS = {
    "tensorflow": ("python/platform/build_info.py", r"is_(cuda|rocm)_build', True"),
    "torch": ("version.py", r"^(cuda|hip)\b.*= *['\"]"),
}


def examine(hardware: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """This machine, its accelerators and packages, and for each tooling why it cannot be served (empty: it can)."""
    return {
        "machine": environment.machine(),
        "gpus": [gpu._asdict() for gpu in accelerators.gpus()],
        "tpus": accelerators.tpu(),
        "packages": environment.installed(PACKAGES),
        "hardware": {name: why_not({"name": name, **entry}) for name, entry in hardware.items()},
    }


def why_not(tooling: dict[str, Any]) -> str:
    """Why a tooling cannot be served here, or an empty text."""
    engine = tooling["engine"]
    if not importlib.util.find_spec(engine):
        return f"engine: {engine} is not installed"
    try:
        if tooling["accelerator"] == "cpu":
            environment.require_cpu(tooling)
        elif tooling["accelerator"] == "tpu":
            accelerators.choose(tooling, accelerators.tpu())
        else:
            accelerators.choose(tooling, [gpu.name for gpu in accelerators.gpus()])
            if not _computes_on_gpus(engine):
                wanted = accelerators.INSTALL[engine]
                return f"engine: the {engine} that is installed computes on CPUs alone; {wanted}"
    except BadInput as error:
        return str(error).removeprefix(f"hardware {tooling['name']}: ")
    return ""


def told(found: dict[str, Any]) -> str:
    """What was found, for a person."""
    machine = found["machine"]
    memory = f", {machine['memory_mib'] / 1024:.1f} GiB" if machine["memory_mib"] else ""
    gpus = [f"{gpu['name']} (driver {gpu['driver'] or 'unknown'})" for gpu in found["gpus"]]
    lines = [
        f"machine   {machine['host']}, {machine['system']}, Python {machine['python']}",
        f"CPU       {machine['cpu']}, {machine['cores']} cores{memory}",
        f"          {' '.join(machine['cpu_flags']) or 'no instruction sets known'}",
        f"GPUs      {', '.join(gpus) or 'none'}",
        f"TPUs      {', '.join(found['tpus']) or 'none'}",
        f"packages  {', '.join(f'{name} {version}' for name, version in found['packages'].items())}",
        "",
    ]
    rows = [(name, "no" if reason else "yes", reason) for name, reason in found["hardware"].items()]
    return "\n".join(lines + aligned([("hardware", "served", "why not"), *rows]))


def _computes_on_gpus(engine: str) -> bool:
    """Whether the framework that is installed has kernels for GPUs, as its own files say, read without importing it."""
    if engine == "jax":
        # A plugin brings them: JAX itself has none.
        return bool(environment.installed(r"jax-(cuda|rocm)\d*-plugin"))
    file, gpu = BUILDS[engine]
    about = Path(importlib.util.find_spec(engine).origin).parent / file
    return not about.exists() or bool(re.search(gpu, about.read_text(), re.MULTILINE))
