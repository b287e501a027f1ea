"""Packages of ours that run in a program's own interpreter: Python imports them at its start."""

import shutil
from pathlib import Path

# What stands in sitecustomize.py for the name of the package.
PLACEHOLDER = "toolnoise_injected"


def inject(package: Path, name: str, folder: Path) -> None:
    """Fill a folder: each Python that has it first on PYTHONPATH imports the package by this name, and starts it.

    Not by a loader of resources: the program's own interpreter needs files.
    """
    shutil.copytree(package, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    start = Path(__file__).with_name("sitecustomize.py").read_text("utf-8")
    (folder / "sitecustomize.py").write_text(start.replace(PLACEHOLDER, name), "utf-8")
