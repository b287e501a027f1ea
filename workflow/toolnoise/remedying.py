"""A cell's predictions under remedies for noise: the logits of each run averaged over views, over snapshots, or both.

A remedy is named after its set of views (views.py); after `snapshots`, the weights at the end of each of a run's cosine
cycles; or after both, as in `snapshots+flip`. Each view of each snapshot is computed once and added to every remedy that
has it, in float64. What no remedy is applied to is the ordinary dump (prediction.py), and not repeated here.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise import arrays, files, prediction, runs, views
from toolnoise.datasets.prepared import Split
from toolnoise.datasets.progress import progress
from toolnoise.prediction import Network
from toolnoise.study import SNAPSHOTS
from toolnoise.training import Timings
from toolnoise.views import View

# Whole batches of every engine, so that each image is computed in the batch that the ordinary dump has it in.
PART = 1024


class Remedy(NamedTuple):
    """Which views of which snapshots are averaged: of all of them, or of the last one alone."""

    all_snapshots: bool
    views: tuple[View, ...]


class Remedied(NamedTuple):
    """Logits (remedy x run x example x class) with the name of each remedy, the seed and the status of each run."""

    logits: np.ndarray
    remedies: list[str]
    seeds: list[int]
    diverged: list[bool]


def remedy(name: str) -> Remedy:
    """What a remedy of that name averages."""
    alone = name.removeprefix(SNAPSHOTS).removeprefix("+")
    return Remedy(name != alone, views.SETS[alone] if alone else (View(0, 0, mirrored=False),))


def dump(
    spec: dict[str, Any],
    remedies: list[str],
    data: str | Path,
    records: list[str],
    logits: str | Path,
    index: str | Path,
) -> dict[str, Any]:
    """Run every network of a cell on every view of the test set, on the cell's tooling; `spec` is of any of its runs.

    Return what was observed of the machine.
    """
    timings = Timings()
    cell = [runs.read(record) for record in records]
    network = prediction.build(spec, data, timings)
    test, wanted = network.dataset.test, [remedy(name) for name in remedies]
    shape = (len(wanted), len(cell), len(test.labels), len(network.dataset.classes))
    with (
        timings.measure("predicting"),
        arrays.filling_npy(logits, shape) as stack,
        progress("predicting", len(cell) * len(test.labels), "example") as shown,
    ):
        for place, run in enumerate(cell):
            snapshots = [] if run.diverged else run.snapshots()
            for start in range(0, len(test.labels), PART):
                part = test.part(start, start + PART)
                here = stack[:, place, start : start + PART]
                here[...] = np.nan if run.diverged else _averages(network, run, snapshots, part, wanted)
                shown.update(len(part.labels))
    about = prediction.about(spec, cell, shape, network.observed, timings)
    files.write_json(index, about | {"remedies": remedies})
    return network.observed


def read(logits: str | Path, index: str | Path) -> Remedied:
    """Read a dump and check that it is whole and fits its index."""
    stack, found = prediction.read_stack(logits, index, {"remedies": 0, "seeds": 1, "diverged": 1}, "remedy")
    return Remedied(stack, found["remedies"], found["seeds"], found["diverged"])


def _averages(
    network: Network, run: runs.Run, snapshots: list[dict[str, np.ndarray]], part: Split, wanted: list[Remedy]
) -> np.ndarray:
    """The mean logits of some examples under each remedy, [remedy, N, C]."""
    sums = np.zeros((len(wanted), len(part.labels), len(network.dataset.classes)))
    for weights in snapshots:
        network.take(weights, run)
        applied = [remedy.all_snapshots or weights is snapshots[-1] for remedy in wanted]
        needed = {view for remedy, is_applied in zip(wanted, applied, strict=True) if is_applied for view in remedy.views}
        for view, logits in _logits(network, part, sorted(needed)):
            for total, remedy, is_applied in zip(sums, wanted, applied, strict=True):
                if is_applied and view in remedy.views:
                    total += logits
    counts = [len(remedy.views) * (len(snapshots) if remedy.all_snapshots else 1) for remedy in wanted]
    return sums / np.array(counts).reshape(-1, 1, 1)


def _logits(network: Network, part: Split, needed: list[View]) -> Iterator[tuple[View, np.ndarray]]:
    for view, images in views.seen(part.images, part.margin, needed):
        yield view, network.engine.logits(part.showing(images))
