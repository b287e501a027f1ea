"""Invent the data, the runs and the dumps of one tooling of a study in a folder, in a process that has this tooling.

    python invent.py FOLDER [TOOLING]

The study has 1,000 runs on two toolings; at a site that has one of them, its study.json has this tooling alone. Without
a tooling nothing is invented: the whole study is written beside what is there.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))

import scale

RUNS, A_CELL, TOOLINGS = 1_000, 250, ("cpu", "cpu-eigen")


def main(folder: Path, *tooling: str) -> None:
    """Write what is not there yet."""
    folder.mkdir(exist_ok=True)
    verbs = ("prepare", "train", "predict") if tooling else ()
    scale.invent(scale.invented(RUNS, A_CELL, TOOLINGS, only=tooling), folder, verbs)


main(Path(sys.argv[1]), *sys.argv[2:])
