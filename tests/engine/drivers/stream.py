"""Train one run on streamed data once for each number of bytes: a part of so many (at least a step) at a time."""

import sys
from pathlib import Path

from toolnoise import study, training
from toolnoise.datasets import streaming


def main(study_file, _data_file, last, streamed_file, *part_bytes):
    loaded = study.load(study_file)
    spec = loaded.spec(loaded.cells[0]._replace(variant="impl"), 1)
    # An engine starts once in a process.
    started = training.start_engine(spec)
    training.start_engine = lambda _: started
    for size in part_bytes:
        streaming.PART_BYTES = int(size)
        out = Path(last).with_name(f"{size}.npz")
        outputs = (out, *(out.with_suffix(suffix) for suffix in (".csv", ".json", ".checkpoint.npz")))
        training.train(spec, streamed_file, "", *outputs)


main(*sys.argv[1:])
