"""Invent the data, the runs and the dumps of one tooling of a study, in a folder.

    python invent.py FOLDER TOOLING [only]

The study has 1,000 runs on two toolings; with `only`, its study.json has this tooling alone, as at a site that has it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))

import scale

RUNS, A_CELL, TOOLINGS = 1_000, 250, ("cpu", "cpu-eigen")


def main(folder: Path, tooling: str, *only: str) -> None:
    """Write what is not there yet."""
    study = scale.invented(RUNS, A_CELL, TOOLINGS, only=(tooling,) if only else ())
    folder.mkdir(exist_ok=True)

    def wanted(job: scale.steps.Job) -> bool:
        if job.verb == "prepare":
            return not (folder / job.outputs[0][0]).exists()
        return job.verb in ("train", "predict") and job.place.hardware == tooling

    scale.invent(study, folder, wanted)


main(Path(sys.argv[1]), *sys.argv[2:])
