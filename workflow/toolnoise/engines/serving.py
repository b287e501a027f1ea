"""Which toolings this machine can serve: decided from the frameworks' files, without importing them."""

import importlib.util
import re
from pathlib import Path
from typing import Any

from toolnoise.base import environment
from toolnoise.base.errors import BadInput
from toolnoise.engines import accelerators
from toolnoise.study import environments, programs
from toolnoise.study.programs import interpreter_variables

# The file that describes a framework's build, and the pattern in it that means GPU support.
BUILDS = {
    "tensorflow": ("python/platform/build_info.py", r"is_(cuda|rocm)_build', True"),
    "torch": ("version.py", r"^(cuda|hip)\b.*= *['\"]"),
}


def why_not(tooling: dict[str, Any]) -> str:
    """The reason why a tooling cannot be served here, or an empty text."""
    engine, elsewhere = tooling["engine"], tooling.get("environment", "")
    if elsewhere and (reason := environments.why_not(elsewhere)):
        return f"environment: {reason}"
    is_program = engine == programs.ENGINE
    if not is_program and not elsewhere and not importlib.util.find_spec(engine):
        return f"engine: {engine} is not installed"
    try:
        if is_program:
            interpreter_variables(tooling)
        elif tooling["accelerator"] == "cpu":
            environment.require_cpu(tooling)
        if tooling["accelerator"] == "tpu":
            accelerators.choose(tooling, accelerators.tpu())
        elif tooling["accelerator"] == "gpu":
            accelerators.choose(tooling, [gpu.name for gpu in accelerators.gpus()])
            if not is_program and not _computes_on_gpus(engine):
                wanted = accelerators.INSTALL[engine]
                return f"engine: the installed {engine} computes only on CPUs; {wanted}"
    except BadInput as error:
        return str(error).removeprefix(f"hardware {tooling['name']}: ")
    return ""


def _computes_on_gpus(engine: str) -> bool:
    """Whether the installed framework has GPU kernels, according to its own files; it is not imported."""
    if engine == "jax":
        # A plugin provides them: JAX itself has none.
        return bool(environment.installed_versions(r"jax-(cuda|rocm)\d*-plugin"))
    file, gpu = BUILDS[engine]
    about = Path(importlib.util.find_spec(engine).origin).parent / file
    return not about.exists() or bool(re.search(gpu, about.read_text(), re.MULTILINE))
