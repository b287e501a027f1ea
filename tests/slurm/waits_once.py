"""A network whose first process never gets to train: it leaves a note that says which job it is, and waits."""

import os
import time
from pathlib import Path

from toolnoise.models import smallcnn


def build(input_shape, classes, note):
    path = Path(note)
    if not path.exists():
        path.write_text(os.environ["SLURM_JOB_ID"])
        time.sleep(3600)
    return smallcnn.build(input_shape, classes)
