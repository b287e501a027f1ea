"""How many examples of each label a data set has, in all and in each of its groups."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from toolnoise.datasets import prepared
from toolnoise.datasets.raw import PARTS
from toolnoise.metrics import table

ALL = "all"


def count(datasets: Sequence[str], paths: Sequence[str | Path], out: str | Path) -> None:
    """Write the counts of prepared data sets as a metric file."""
    rows = []
    for dataset, path in zip(datasets, paths, strict=True):
        data = prepared.load(path)
        for part in PARTS:
            split = getattr(data, part)
            members = {ALL: np.ones(len(split.labels), bool), **dict(zip(data.groups, split.groups.T, strict=True))}
            for group, chosen in members.items():
                rows += [(dataset, part, group, *row) for row in _by_label(split.labels[chosen], len(data.classes))]
    table.write(out, table.DATA, rows)


def _by_label(labels: np.ndarray, classes: int) -> Iterator[tuple[str, int]]:
    yield ALL, len(labels)
    yield from ((str(label), int(number)) for label, number in enumerate(np.bincount(labels, minlength=classes)))
