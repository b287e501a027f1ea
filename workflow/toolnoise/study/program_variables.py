"""The variables of the environment by which a tooling runs an existing training program: threads and interpreter."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput

# On a CPU the number of threads decides bits, and libraries would otherwise take all cores.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def thread_variables(tooling: Mapping[str, Any]) -> dict[str, str]:
    """The variables that a tooling sets and a statement records."""
    return dict.fromkeys(THREADS, str(tooling["threads"])) if tooling["accelerator"] == "cpu" else {}


def interpreter_variables(tooling: Mapping[str, Any]) -> dict[str, str]:
    """The variables by which a program finds its own interpreter; none without a `python`."""
    if "python" not in tooling:
        return {}
    python = Path(tooling["python"]).absolute()
    binaries = python / "bin" if python.is_dir() else python.parent
    if not binaries.is_dir():
        wanted = "a virtual environment or an interpreter"
        raise BadInput(f"hardware {tooling['name']}", "python", f"{tooling['python']} is not there", wanted)
    variables = {"PATH": f"{binaries}{os.pathsep}{os.environ.get('PATH', '')}"}
    return variables | ({"VIRTUAL_ENV": str(python)} if python.is_dir() else {})
