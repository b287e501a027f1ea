"""Which toolings this machine can serve: nothing is imported to find out, frameworks' files say what they are for."""

import importlib.util
import re
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.engines import accelerators, environment

# Where a framework's build says what it computes on, and what it says if that is GPUs.
BUILDS = {
    "tensorflow": ("python/platform/build_info.py", r"is_(cuda|rocm)_build', True"),
    "torch": ("version.py", r"^(cuda|hip)\b.*= *['\"]"),
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
                return f"engine: the installed {engine} computes only on CPUs; {wanted}"
    except BadInput as error:
        return str(error).removeprefix(f"hardware {tooling['name']}: ")
    return ""


def _computes_on_gpus(engine: str) -> bool:
    """Whether the framework that is installed has kernels for GPUs, as its own files say, read without importing it."""
    if engine == "jax":
        # A plugin brings them: JAX itself has none.
        return bool(environment.installed(r"jax-(cuda|rocm)\d*-plugin"))
    file, gpu = BUILDS[engine]
    about = Path(importlib.util.find_spec(engine).origin).parent / file
    return not about.exists() or bool(re.search(gpu, about.read_text(), re.MULTILINE))
