"""Networks that wait until somebody ends their jobs, once each; a note says which job it is."""

import os
import sys
import time
from pathlib import Path

from toolnoise.models import smallcnn
from toolnoise.training import checkpoints

STOP_AFTER = 2


def waits(input_shape, classes, note):
    """A network whose first training never gets to start."""
    path = Path(note)
    # It is also built for a check of the model, which goes before.
    if "train" in sys.argv and not path.exists():
        path.write_text(os.environ["SLURM_JOB_ID"])
        time.sleep(3600)
    return smallcnn.build(input_shape, classes)


def stops(input_shape, classes):
    """A network whose first two trainings wait with two epochs in a checkpoint."""
    if "train" in sys.argv:
        seeds = dict(part.split("=") for part in sys.argv[sys.argv.index("--seed") + 1].split())
        # A checkpoint an epoch: these last a second.
        checkpoints.SECONDS_BETWEEN = 0
        note = Path(f"stopped-{seeds['seed']}.txt")
        if seeds["seed"] in ("1", "2") and not note.exists():
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
