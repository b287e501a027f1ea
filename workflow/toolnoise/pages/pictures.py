"""Test examples as small pictures, for the page: PNG in base64, where the data are small pictures."""

import base64
import io
from collections.abc import Iterable

import numpy as np
from PIL import Image

from toolnoise.datasets.outcomes import TOKENS
from toolnoise.datasets.prepared import Split

# Larger ones, in pixels, would fill the page; and data sets of such pictures often may not be passed on.
LARGEST = 64
CHANNELS = (1, 3)


def drawn(split: Split, examples: Iterable[int], most: int) -> dict[str, str]:
    """The pictures of some units by their numbers, as many as fit into so many characters; the first come first."""
    if split.outcome == TOKENS:
        return {}
    height, width, channels = split.shape
    small = 1 < height <= LARGEST and 1 < width <= LARGEST and channels in CHANNELS
    if split.streamed or not small or split.pixels.dtype != np.uint8:
        return {}
    pictures: dict[str, str] = {}
    for unit in dict.fromkeys(examples):
        text = _png(split, unit // split.units)
        if (most := most - len(text)) < 0:
            break
        pictures[str(unit)] = text
    return pictures


def _png(split: Split, example: int) -> str:
    height, width, channels = split.shape
    start = split.margin // 2
    pixels = split.pixels[example, start : start + height, start : start + width].astype(np.uint16)
    bright = (pixels * 255 // split.maximum).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(bright[:, :, 0] if channels == 1 else bright).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()
