"""`toolnoise` that keeps a checkpoint after every epoch."""

import sys

from toolnoise import cli
from toolnoise.training import checkpoints

checkpoints.SECONDS_BETWEEN = 0
cli.main(sys.argv[1:])
