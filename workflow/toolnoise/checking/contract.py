"""The contract's first half: what an existing training program is given. docs/outside.md explains it.

A program gets seeds, folders and its place in the grid as variables, as a JSON file, and as placeholders in its command
line. The seeds are drawn from the streams: a source that may not vary has the same seed in every run.
"""

from pathlib import Path
from typing import Any

from toolnoise import streams
from toolnoise.base.noise_sources import ALGORITHMIC, replicate
from toolnoise.base.spec import Spec
from toolnoise.checking.program_text import SEED

Job = dict[str, Any]


def job(spec: Spec, study: str, out: str | Path, checkpoint: str | Path) -> Job:
    """All that the program of a run is given: its place in the grid, its seeds by source, its folders."""
    return {
        "study": study,
        **{part: getattr(spec, part).name for part in ("model", "dataset", "hardware", "variant")},
        "seed": spec.seed,
        "seeds": {source: _seed(spec, source) for source in ALGORITHMIC},
        "deterministic": not spec.varies("impl"),
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


def values(job: Job) -> dict[str, Any]:
    """What the placeholders of the program's command line stand for."""
    return {**job["seeds"], "out": job["out"], "checkpoint": job["checkpoint"]}


def _seed(spec: Spec, source: str) -> int:
    """32 bits of the source's stream for this run's replicate."""
    stream = streams.key(spec.study_seed, source, replicate(source, spec), "program")
    return int(streams.raw(stream, 1)[0]) >> 32
