"""Train one run on streamed data, a part of the given number of bytes (at least a step) at a time."""

import sys
from pathlib import Path

from toolnoise.datasets import streaming
from toolnoise.study import grid
from toolnoise.training import loop


def main(study_file, _data_file, out, streamed_file, part_bytes):
    streaming.PART_BYTES = int(part_bytes)
    loaded = grid.load(study_file)
    spec = loaded.spec(loaded.cells[0]._replace(variant="impl"), 1)
    out = Path(out)
    outputs = (out, *(out.with_suffix(suffix) for suffix in (".csv", ".json", ".checkpoint.npz")))
    loop.train(spec, streamed_file, *outputs)


main(*sys.argv[1:])
