"""Similarity of corresponding layers of a cell's runs."""

from collections.abc import Sequence
from pathlib import Path

from toolnoise.analyses.layers.metric import LAYERS, layers
from toolnoise.base import metric_files
from toolnoise.dumps import stacks
from toolnoise.measures.reading import counts


def measure(cell: Sequence[str], grams: str | Path, index: str | Path, out: str | Path) -> None:
    """Write the similarity of corresponding layers of a cell's runs; diverged runs count as missing."""
    dump = stacks.read_layers(grams, index)
    finished = dump.finished
    rows = layers(dump.layers, dump.grams if finished.all() else dump.grams[finished])
    about = (*cell, dump.grams.shape[-1])
    metric_files.write(
        out,
        LAYERS,
        [(*about, layer, metric, "all", *estimate, *counts(finished)) for layer, metric, estimate in rows],
    )
