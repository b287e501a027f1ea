"""A network whose first training never gets to start: it leaves a note that says which job it is, and waits."""

import os
import sys
import time
from pathlib import Path

from toolnoise.models import smallcnn


def build(input_shape, classes, note):
    path = Path(note)
    # It is also built for a check of the model, which goes before.
    if "train" in sys.argv and not path.exists():
        path.write_text(os.environ.get("SLURM_JOB_ID") or os.environ["JOB_ID"])
        time.sleep(3600)
    return smallcnn.build(input_shape, classes)
