"""Train one run on streamed data once for each number of bytes: a part of so many (at least a step) at a time."""

import sys
from pathlib import Path

from toolnoise.datasets import streaming
from toolnoise.study import grid
from toolnoise.training import loop


def main(study_file, _data_file, last, streamed_file, *part_bytes):
    loaded = grid.load(study_file)
    spec = loaded.spec(loaded.cells[0]._replace(variant="impl"), 1)
    # An engine starts once in a process.
    started = loop.start_engine(spec)
    loop.start_engine = lambda _: started
    for size in part_bytes:
        streaming.PART_BYTES = int(size)
        out = Path(last).with_name(f"{size}.npz")
        outputs = (out, *(out.with_suffix(suffix) for suffix in (".csv", ".json", ".checkpoint.npz")))
        loop.train(spec, streamed_file, *outputs)


main(*sys.argv[1:])
