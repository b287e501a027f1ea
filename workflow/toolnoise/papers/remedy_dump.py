"""A cell's predictions under remedies for noise: each run's logits averaged over views, over snapshots, or both.

Each view of each snapshot is computed once and added, in float64, to every remedy that includes it (study/remedies.py).
Predictions without a remedy are the ordinary dump (prediction_dump.py) and not repeated here.
"""

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from toolnoise.base import arrays, files
from toolnoise.base.job import Input, Output, Timings, TrainedRuns, Words
from toolnoise.base.progress import progress
from toolnoise.base.spec import Spec
from toolnoise.datasets.prepared import Split
from toolnoise.dumps import prediction_dump
from toolnoise.dumps.prediction_dump import Predictor
from toolnoise.study import runs
from toolnoise.study.remedies import PLAIN, Remedy, View, remedy_named

# A multiple of every engine's batch: each image is computed in the same batch as in the ordinary dump.
PART = 1024


def dump(
    spec: Spec,
    remedies: Words,
    data: Input,
    records: TrainedRuns,
    *,
    logits: Output,
    index: Output,
) -> dict[str, Any]:
    """Run every network of a cell on every view of the test set, on the cell's tooling; `spec` is that of any run.

    Return the observed machine.
    """
    timings = Timings()
    cell = [runs.read_run(record) for record in records]
    network = prediction_dump.build(spec, data, timings)
    test, wanted = network.dataset.test, [remedy_named(name) for name in remedies]
    shape = (len(wanted), len(cell), len(test.labels), len(network.dataset.classes))
    at_once = max(1, PART // test.units)
    with (
        timings.measure("predicting"),
        arrays.filling_npy(logits, shape) as stack,
        progress("predicting", len(cell) * len(test), "example") as shown,
    ):
        for place, run in enumerate(cell):
            snapshots = [] if run.diverged else run.snapshots()
            for start in range(0, len(test), at_once):
                part = test.chosen(slice(start, start + at_once))
                here = stack[:, place, start * test.units : (start + at_once) * test.units]
                beyond = part.beyond(spec.recipe)
                here[...] = np.nan if run.diverged else _averages(network, run, snapshots, part, beyond, wanted)
                shown.update(len(part))
    about = prediction_dump.index_of_dump(spec, cell, shape, network.observed, timings)
    files.write_json(index, about | {"remedies": remedies})
    return network.observed


def each_view(
    images: np.ndarray, margin: int, views: Iterable[View], beyond: np.ndarray | float = 0.0
) -> Iterator[tuple[View, np.ndarray]]:
    """Each view of images [N, H, W, C], which are higher and wider by `margin` than the network's input, or of text.

    Views are made as training makes its crops: another window of the normalised image, with `beyond` beyond its edge.
    """
    views = tuple(views)
    if images.ndim == 2:  # text has no other view: a study's plan refuses them
        assert set(views) <= {PLAIN}, views
        yield from ((view, images) for view in views)
        return
    reach = max((max(abs(view.down), abs(view.right)) for view in views), default=0)
    (count, *sides, channels), (height, width) = images.shape, (side - margin for side in images.shape[1:3])
    padded = np.empty((count, *(side + 2 * reach for side in sides), channels), images.dtype)
    padded[...] = beyond
    padded[:, reach : reach + sides[0], reach : reach + sides[1]] = images
    start = reach + margin // 2
    for view in views:
        top, left = start + view.down, start + view.right
        window = padded[:, top : top + height, left : left + width]
        yield view, window[:, :, ::-1] if view.mirrored else window


def _each_view_of_split(part: Split, views: list[View], beyond: np.ndarray) -> Iterator[tuple[View, np.ndarray]]:
    """Each view of some examples; originals are decoded again for each window that a view shows."""
    if part.boxes is None:
        yield from each_view(part.images, part.margin, views, beyond)
        return
    for place, of_place in itertools.groupby(views, lambda view: (view.down, view.right)):
        images = part.moved(*place)
        yield from ((view, images[:, :, ::-1] if view.mirrored else images) for view in of_place)


def _averages(
    network: Predictor,
    run: runs.Run,
    snapshots: list[dict[str, np.ndarray]],
    part: Split,
    beyond: np.ndarray,
    wanted: list[Remedy],
) -> np.ndarray:
    """The mean logits of some examples under each remedy, [remedy, N, C]."""
    sums = np.zeros((len(wanted), len(part.labels), len(network.dataset.classes)))
    for weights in snapshots:
        network.take(weights, run)
        last = weights is snapshots[-1]
        views = [remedy.views if last or remedy.all_snapshots else () for remedy in wanted]
        for view, images in _each_view_of_split(part, sorted(set().union(*views)), beyond):
            logits = network.engine.logits(part.showing(images))
            for total, members in zip(sums, views, strict=True):
                if view in members:
                    total += logits
    counts = [len(remedy.views) * (len(snapshots) if remedy.all_snapshots else 1) for remedy in wanted]
    return sums / np.array(counts).reshape(-1, 1, 1)
