"""A package of ours that runs in a program's own interpreter: Python imports it at its start."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolnoise.checking.injected import TASK

PACKAGE, INJECTED = Path(__file__).with_name("injected"), "toolnoise_injected"


def variables(folder: Path, name: str, task: Mapping[str, Any]) -> dict[str, str]:
    """The variables with which a program is observed as a task says; the package is copied to a folder once.

    Not by a loader of resources: the program's own interpreter needs files.
    """
    if not (folder / INJECTED).exists():
        shutil.copytree(PACKAGE, folder / INJECTED, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copyfile(PACKAGE / "sitecustomize.py", folder / "sitecustomize.py")
    file = folder / f"{name}.json"
    file.write_text(json.dumps(task), "utf-8")
    path = os.pathsep.join(filter(None, [str(folder.resolve()), os.environ.get("PYTHONPATH")]))
    return {"PYTHONPATH": path, TASK: str(file.resolve())}
