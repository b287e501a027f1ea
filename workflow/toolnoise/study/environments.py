"""Environments of toolings: another version of a framework, with its own Python and packages.

A tooling that names an environment computes in `.environments/<name>` of the folder where the workflow runs; `make`
builds it from requirements/versions/<name>.txt. A tooling without one computes in the environment of the workflow.
"""

import sys
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.base.program import path_of

FOLDER = Path(".environments")


def lock_of(name: str) -> str:
    """The lock file of an environment, as a file of the repository."""
    return f"requirements/versions/{name}.txt"


def known_environments() -> list[str]:
    """The names of all environments that have a lock file."""
    return sorted(path.stem for path in path_of(lock_of("any")).parent.glob("*.txt"))


def environment_of(parameters: dict[str, Any]) -> str:
    """The environment in which a job with these parameters computes; empty for the environment of the workflow."""
    return parameters.get("spec", {}).get("hardware", {}).get("environment", "")


def program_of_environment(name: str, program: str) -> Path:
    """The path of a program in an environment."""
    return Path.cwd() / FOLDER / name / "bin" / program


def why_not(name: str) -> str:
    """The reason why an environment cannot be used here, or an empty text."""
    # `make` installs this file last, so it shows that the environment is complete.
    return (
        ""
        if program_of_environment(name, "toolnoise").exists()
        else f"{FOLDER / name} is missing: run `make {FOLDER / name}`"
    )


def require_environment(name: str, tooling: str) -> None:
    """Refuse a tooling whose environment is missing."""
    if reason := why_not(name):
        raise BadInput(f"hardware {tooling}", "environment", reason)


def is_this(name: str) -> bool:
    """Whether this process runs in the environment of this name."""
    here = Path.cwd() / FOLDER / name
    return here.exists() and here.samefile(sys.prefix)
