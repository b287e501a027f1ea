"""A network whose first two trainings wait, once each, with two epochs in a checkpoint, until somebody ends them."""

import os
import sys
import time
from pathlib import Path

from toolnoise.models import smallcnn
from toolnoise.training import checkpoints

STOP_AFTER = 2


def build(input_shape, classes):
    if "train" in sys.argv:
        seeds = dict(part.split("=") for part in sys.argv[sys.argv.index("--seed") + 1].split())
        seed = seeds["seed"]
        # A checkpoint an epoch: these last a second.
        checkpoints.SECONDS_BETWEEN = 0
        note = Path(f"stopped-{seed}.txt")
        if seed in ("1", "2") and not note.exists():
            _stop_at(note)
    return smallcnn.build(input_shape, classes)


def _stop_at(note):
    write = checkpoints.Checkpoints.write

    def written(self, progress):
        write(self, progress)
        if len(progress().rows) >= STOP_AFTER and self.path.exists():
            note.write_text(os.environ["SLURM_JOB_ID"])
            time.sleep(3600)

    checkpoints.Checkpoints.write = written
