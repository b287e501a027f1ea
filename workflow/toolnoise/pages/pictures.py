"""Test examples on the page: small pictures as PNG in base64, and the text before a token."""

import base64
import io
from collections.abc import Callable, Iterable

import numpy as np
from PIL import Image

from toolnoise.datasets.prepared import Data, Split
from toolnoise.formulas.outcomes import TOKENS

# Larger ones, in pixels, would fill the page; and data sets of such pictures often may not be passed on.
LARGEST = 64
CHANNELS = (1, 3)
SIGNS = 300
SHOWN = 30  # tokens before the one that is predicted


def encoded_pictures(split: Split, examples: Iterable[int], most: int) -> dict[str, str]:
    """The pictures of some units by their numbers, as many as fit into so many characters; the first come first."""
    if split.outcome == TOKENS:
        return {}
    height, width, channels = split.shape
    small = 1 < height <= LARGEST and 1 < width <= LARGEST and channels in CHANNELS
    if split.streamed or not small or split.pixels.dtype != np.uint8:
        return {}
    return _fitting(examples, lambda unit: _png(split, unit // split.units), most)


def contexts(data: Data, units: Iterable[int], most: int) -> dict[str, str]:
    """The tokens before some units by their numbers, within their segment, as many as fit into so many characters."""
    split = data.test
    if split.outcome != TOKENS:
        return {}
    # Signs and bytes are so many at most; words have a space between them.
    between = "" if len(data.classes) <= SIGNS else " "

    def before(unit: int) -> str:
        segment, place = divmod(unit, split.units)
        seen = split.pixels[segment, max(0, place + 1 - SHOWN) : place + 1]
        return between.join(data.classes[token] for token in seen)

    return _fitting(units, before, most)


def _fitting(units: Iterable[int], text_of: Callable[[int], str], most: int) -> dict[str, str]:
    texts: dict[str, str] = {}
    for unit in dict.fromkeys(units):
        text = text_of(unit)
        if (most := most - len(text)) < 0:
            break
        texts[str(unit)] = text
    return texts


def _png(split: Split, example: int) -> str:
    height, width, channels = split.shape
    start = split.margin // 2
    pixels = split.pixels[example, start : start + height, start : start + width].astype(np.uint16)
    bright = (pixels * 255 // split.maximum).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(bright[:, :, 0] if channels == 1 else bright).save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()
