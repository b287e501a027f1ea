"""`toolnoise` that keeps a checkpoint after every epoch."""

import sys

from toolnoise import checkpoints, cli

checkpoints.SECONDS_BETWEEN = 0
cli.main(sys.argv[1:])
