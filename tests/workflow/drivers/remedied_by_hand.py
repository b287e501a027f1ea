"""One run's logits averaged over snapshots and views by plain loops: python remedied_by_hand.py RECORD DATA OUT."""

import sys
from dataclasses import replace

import numpy as np

from toolnoise.base import arrays
from toolnoise.dumps import prediction_dump
from toolnoise.study import runs
from toolnoise.training.loop import Timings

record, data, out = sys.argv[1:]
run = runs.read(record)
network = prediction_dump.build(run.spec, data, Timings())
test = network.dataset.test
height, width = test.shape[:2]
padded = np.pad(test.images, ((0, 0), (1, 1), (1, 1), (0, 0)))
nine = [padded[:, row : row + height, column : column + width] for row in range(3) for column in range(3)]
views = {"crops9": nine, "flip": [test.images, test.images[:, :, ::-1]], "": [test.images]}


def predicted(weights, images):
    network.take(weights, run)
    return network.engine.logits(replace(test, pixels=images, normalise="none"))


snapshots = run.snapshots()
found = {}
for name, images in views.items():
    every = [[predicted(weights, one) for one in images] for weights in snapshots]
    found[f"snapshots+{name}".removesuffix("+")] = np.mean(
        [one for of in every for one in of], axis=0, dtype=np.float64
    )
    found[name or "single"] = np.mean(every[-1], axis=0, dtype=np.float64)
arrays.write_npz(out, {name: logits.astype(np.float32) for name, logits in found.items()})
