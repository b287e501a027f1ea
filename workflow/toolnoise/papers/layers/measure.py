"""Similarity of corresponding layers of a cell's runs on the same examples: linear CKA from Gram matrices.

CKA is the cosine between two Gram matrices, both centred so that rows and columns sum to 0 (Kornblith et al. 2019).
Debiased CKA is the cosine between the U-centred matrices: their diagonals are removed, and rows and columns still sum
to 0. The product of two U-centred matrices is the unbiased HSIC of Song et al. (2012) up to a factor that cancels
(Székely and Rizzo 2014). formulas/similarity.py computes the same from columns, for a small number of columns.
"""

from collections.abc import Sequence

import numpy as np

from toolnoise.base import metric_files
from toolnoise.base.job import Input, Output, PlaceNames
from toolnoise.base.metric_files import CELL, MEASURE, Columns
from toolnoise.base.shapes import TEXT
from toolnoise.dumps.stacks import read_stack
from toolnoise.formulas.declared import within_range
from toolnoise.measures.reading import count_finished
from toolnoise.stats.estimates import Estimate
from toolnoise.stats.jackknife import Pairs, pairwise_similarity, within_blocks

# The number of examples affects the size of CKA.
LAYERS: Columns = {**CELL, "examples": int, "layer": str, **MEASURE}
AXES = {"layers": 1, "seeds": 0, "diverged": 0}


def layer_rows(names: Sequence[str], grams: np.ndarray) -> list[tuple[str, str, Estimate]]:
    """CKA and debiased CKA of each layer, the mean over pairs of runs, from Gram matrices [S, layer, N, N]."""
    rows = []
    for place, name in enumerate(names):

        def of(runs: slice, place: int = place) -> list[Pairs]:
            block = grams[runs, place]
            return [Pairs.of(1 - pairwise_gram_cka(block, debiased=debiased)) for debiased in (False, True)]

        plain, debiased = map(pairwise_similarity, within_blocks(len(grams), of))
        of_layer = within_range([("cka", "all", plain), ("cka_debiased", "all", debiased)])
        rows += [(name, metric, estimate) for metric, _, estimate in of_layer]
    return rows


def pairwise_gram_cka(grams: np.ndarray, debiased: bool = False) -> np.ndarray:
    """Linear CKA of every two runs, [S, S], from Gram matrices [S, N, N] of at least 4 examples.

    The CKA of a run with itself is 1. A run that is constant, or not finite, has NaN with every other run.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        flat = (_u_centred if debiased else _centred)(grams.astype(np.float64)).reshape(len(grams), grams.shape[1] ** 2)
        products = np.zeros((len(flat), len(flat)))
        for run in range(len(flat)):
            # Matrix products and einsum round a sum differently by position: equal runs would not have exactly 1.
            products[run, run:] = (flat[run:] * flat[run]).sum(axis=1)
        alone = np.diag(products)
        upper = np.triu(np.where(alone * alone[:, np.newaxis] > 0, products, np.nan) / np.sqrt(np.outer(alone, alone)))
    return upper + np.triu(upper, 1).T


def _centred(grams: np.ndarray) -> np.ndarray:
    means = grams.mean(axis=1, keepdims=True)
    return grams - means - means.transpose(0, 2, 1) + grams.mean(axis=(1, 2), keepdims=True)


def _u_centred(grams: np.ndarray) -> np.ndarray:
    examples = grams.shape[1]
    diagonal = np.arange(examples)
    grams[:, diagonal, diagonal] = 0
    sums = grams.sum(axis=1, keepdims=True)
    grams = grams - (sums + sums.transpose(0, 2, 1)) / (examples - 2)
    grams += sums.sum(axis=2, keepdims=True) / ((examples - 1) * (examples - 2))
    grams[:, diagonal, diagonal] = 0
    return grams


def measure(cell: PlaceNames, grams: Input, index: Input, *, out: Output) -> None:
    """Write the similarity of corresponding layers of a cell's runs; diverged runs count as missing."""
    # Gram matrices, run x layer x example x example.
    stack, entry = read_stack(grams, index, AXES, "dump-layers", {"layers": [TEXT]})
    finished = ~np.array(entry["diverged"], bool)
    rows = layer_rows(entry["layers"], stack if finished.all() else stack[finished])
    about = (*cell, stack.shape[-1])
    metric_files.write_metrics(
        out,
        LAYERS,
        [(*about, layer, metric, "all", *estimate, *count_finished(finished)) for layer, metric, estimate in rows],
    )
