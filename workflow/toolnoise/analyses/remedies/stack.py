"""The logits of runs under remedies, as `remedy` wrote them."""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from toolnoise.base.shapes import TEXT
from toolnoise.dumps.stacks import read_stack, require_logits


class Remedied(NamedTuple):
    """Logits (remedy x run x example x class) with the name of each remedy, the seed and the status of each run."""

    logits: np.ndarray
    remedies: list[str]
    seeds: list[int]
    diverged: list[bool]


def read(logits: str | Path, index: str | Path) -> Remedied:
    """Read a dump and check that it is whole and fits its index."""
    axes = {"remedies": 0, "seeds": 1, "diverged": 1}
    stack, entry = read_stack(logits, index, axes, "remedy", {"remedies": [TEXT]})
    require_logits(logits, np.moveaxis(stack, 1, 0), entry["diverged"])
    return Remedied(stack, entry["remedies"], entry["seeds"], entry["diverged"])
