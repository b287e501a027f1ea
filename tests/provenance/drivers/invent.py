"""Invent the data, the runs and the dumps of one tooling of a study in a folder, in a process that has this tooling.

    python invent.py FOLDER [TOOLING]

The study has 200 runs on two toolings; at a site that has one of them, its study.json has this tooling alone. Without
a tooling nothing is invented: the whole study is written beside what is there.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))

import scale

RUNS, A_CELL, TOOLINGS = 200, 50, ("cpu", "cpu-eigen")


def main(folder: Path, *tooling: str) -> None:
    """Write what is not there yet."""
    folder.mkdir(exist_ok=True)
    study = scale.invented(RUNS, A_CELL, TOOLINGS, only=tooling)
    # Runs are not to be older than their data.
    data = () if (folder / study.path(scale.layout.DATA, dataset="digits")).exists() else ("prepare",)
    scale.invent(study, folder, (*data, "train", "predict") if tooling else ())


main(Path(sys.argv[1]), *sys.argv[2:])
