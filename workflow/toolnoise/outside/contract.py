"""The contract's first half: what a training program of others is given. docs/outside.md explains it.

A program gets seeds, folders and its place in the grid as variables, as a JSON file, and as placeholders in its command
line. The seeds are drawn from the streams: a source that may not vary has the same seed in every run.
"""

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolnoise import streams
from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import ALGORITHMIC, replicate

Job = dict[str, Any]

PLACEHOLDERS = (*ALGORITHMIC, "out", "checkpoint")
SEED = "TOOLNOISE_SEED_"
# Not ${name}, which a shell that the command starts may know.
_PLACEHOLDER = re.compile(r"(?<!\$)\{([a-z_]+)\}")


def job(spec: dict[str, Any], study: str, out: str | Path, checkpoint: str | Path) -> Job:
    """All that the program of a run is given: its place in the grid, its seeds by source, its folders."""
    return {
        "study": study,
        **{part: spec[part]["name"] for part in ("model", "dataset", "hardware", "variant")},
        "seed": spec["seed"],
        "seeds": {source: _seed(spec, source) for source in ALGORITHMIC},
        "deterministic": "impl" not in spec["variant"]["varying"],
        "out": str(Path(out).absolute()),
        "checkpoint": str(Path(checkpoint).absolute()),
    }


def variables(job: Job, file: str | Path) -> dict[str, str]:
    """The variables of the program's environment; `file` is the job as JSON."""
    return {
        "TOOLNOISE_OUT": job["out"],
        **{f"{SEED}{source.upper()}": str(seed) for source, seed in job["seeds"].items()},
        "TOOLNOISE_DETERMINISTIC": str(int(job["deterministic"])),
        "TOOLNOISE_CHECKPOINT": job["checkpoint"],
        "TOOLNOISE_JOB": str(Path(file).absolute()),
    }


def words(command: str, where: str = "command") -> list[str]:
    """The words of a command line, as a shell would split it; nothing else of a shell is understood."""
    try:
        found = shlex.split(command)
    except ValueError as error:
        raise BadInput(where, command, f"cannot be split ({error})", "a command line with closed quotes") from None
    return required(found, where)


def required(words: Sequence[str], where: str = "command") -> list[str]:
    """The words of a command, if there are any and all their placeholders are known."""
    if not words:
        raise BadInput(where, "", "no program", "such as: python train.py --seed {init} --out {out}")
    for name in placeholders(words):
        if name not in PLACEHOLDERS:
            allowed = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
            raise BadInput(where, "", f"unknown placeholder {{{name}}}", f"allowed: {allowed}")
    return list(words)


def placeholders(words: Sequence[str]) -> list[str]:
    """The names of the placeholders in a command, in their order."""
    return list(dict.fromkeys(name for word in words for name in _PLACEHOLDER.findall(word)))


def filled(words: Sequence[str], job: Job) -> list[str]:
    """The command of a run. A value stays within its word, whatever characters it has."""
    values = {**job["seeds"], "out": job["out"], "checkpoint": job["checkpoint"]}
    return [_PLACEHOLDER.sub(lambda found: str(values[found[1]]), word) for word in words]


def _seed(spec: dict[str, Any], source: str) -> int:
    """32 bits of the source's stream for this run's replicate."""
    stream = streams.key(spec["study_seed"], source, replicate(source, spec), "program")
    return int(streams.raw(stream, 1)[0]) >> 32
