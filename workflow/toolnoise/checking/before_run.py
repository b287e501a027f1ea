"""What is said before a study with training programs runs: which interpreter they get."""

import os
import shutil
import sys
from pathlib import Path

from toolnoise.base.errors import BadInput
from toolnoise.study import command_words, config


def lines(study: str) -> list[str]:
    """A line for each name of an interpreter by which programs get another one than the shell that starts the study.

    Jobs have toolnoise's own programs first on their PATH, unless a tooling names a `python`.
    """
    try:
        known = config.read(study)
    except BadInput:
        # Snakemake is about to say so.
        return []
    commands = {name: model["command"] for name, model in known["models"].items() if "command" in model}
    names = {
        command_words.words(commands[model])[0]
        for block in known["grid"]
        for model in block["models"]
        if model in commands
        and any("python" not in known["hardware"].get(tooling, {}) for tooling in block["hardware"])
    }
    said, path = [], os.environ.get("PATH", os.defpath)
    for name in sorted(name for name in names if name.startswith("python") and "/" not in name):
        here_is = shutil.which(name)
        job_has = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{path}")
        if here_is and here_is != job_has:
            said.append(
                f"toolnoise: programs are run by {job_has}, not by {here_is}, which is {name} here; "
                "`python:` of a tooling names another"
            )
    return said
