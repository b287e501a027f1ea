"""From dumps to metric files: reads what a cell or a pair of toolings left, measures it, writes tidy rows."""

from pathlib import Path

import numpy as np

from toolnoise import prediction, runs, streams
from toolnoise.datasets import prepared
from toolnoise.errors import BadInput
from toolnoise.metrics import table
from toolnoise.metrics.cross_tooling import cross_tooling
from toolnoise.metrics.stability import stability
from toolnoise.prediction import Predictions
from toolnoise.study import Cell, Pair


def measure_cell(
    cell: Cell,
    study_seed: int,
    data: str | Path,
    logits: str | Path,
    index: str | Path,
    records: list[str],
    out: str | Path,
) -> None:
    """Write the stability metrics of one cell; diverged runs are left out and counted as missing."""
    dump, dataset = _read(data, logits, index)
    finished = dump.finished
    vectors = _vectors(records, finished)
    stream = streams.key(study_seed, streams.ANALYSIS, 0, "bootstrap", *cell)
    test = dataset.test
    rows = stability(dump.logits[finished], test.labels, dataset.members(test), vectors, stream)
    counts = (int(finished.sum()), int((~finished).sum()))
    table.write(out, table.STABILITY, [(*cell, metric, group, *estimate, *counts) for metric, group, estimate in rows])


def measure_pair(
    pair: Pair,
    data: str | Path,
    logits: tuple[str, str],
    index: tuple[str, str],
    records: tuple[list[str], list[str]],
    out: str | Path,
) -> None:
    """Write what separates run s on one tooling from run s on the other."""
    (one, dataset), (other, _) = (_read(data, *paths) for paths in zip(logits, index, strict=True))
    shared = [seed for seed in one.seeds if seed in other.seeds]
    places = [[dump.seeds.index(seed) for seed in shared] for dump in (one, other)]
    finished = one.finished[places[0]] & other.finished[places[1]]
    stacks, vectors = [], []
    for dump, place, paths in zip((one, other), places, records, strict=True):
        kept = np.array(place, int)[finished]
        stacks.append(dump.logits[kept])
        vectors.append(_vectors([paths[position] for position in kept], np.ones(len(kept), bool)))
    rows = cross_tooling(*stacks, dataset.test.labels, *vectors)
    counts = (int(finished.sum()), int((~finished).sum()))
    table.write(
        out, table.CROSS_TOOLING, [(*pair, metric, group, *estimate, *counts) for metric, group, estimate in rows]
    )


def _read(data: str | Path, logits: str | Path, index: str | Path) -> tuple[Predictions, prepared.Data]:
    dump, dataset = prediction.read(logits, index), prepared.load(data)
    if dump.logits.shape[1] != (examples := len(dataset.test.labels)):
        raise BadInput(logits, "", f"found {dump.logits.shape[1]} examples", f"the {examples} of {data}")
    return dump, dataset


def _vectors(records: list[str], finished: np.ndarray) -> np.ndarray:
    kept = [runs.read(record) for record, keep in zip(records, finished, strict=True) if keep]
    return np.stack([run.trained_vector() for run in kept]) if kept else np.empty((0, 0), np.float32)
