"""Similarity of corresponding layers of a cell's runs."""

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.job import Input, Output, PlaceNames
from toolnoise.base.shapes import TEXT
from toolnoise.dumps.stacks import read_stack
from toolnoise.measures.reading import counts
from toolnoise.papers.layers.metric import LAYERS, layers

AXES = {"layers": 1, "seeds": 0, "diverged": 0}


def measure(cell: PlaceNames, grams: Input, index: Input, *, out: Output) -> None:
    """Write the similarity of corresponding layers of a cell's runs; diverged runs count as missing."""
    # Gram matrices, run x layer x example x example.
    stack, entry = read_stack(grams, index, AXES, "dump-layers", {"layers": [TEXT]})
    finished = ~np.array(entry["diverged"], bool)
    rows = layers(entry["layers"], stack if finished.all() else stack[finished])
    about = (*cell, stack.shape[-1])
    metric_files.write(
        out,
        LAYERS,
        [(*about, layer, metric, "all", *estimate, *counts(finished)) for layer, metric, estimate in rows],
    )
