"""Pictures on a page: curves of runs over epochs, small test examples as PNG in base64, and the text before a token."""

import base64
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image

from toolnoise.datasets.prepared import Data, Split
from toolnoise.formulas.outcomes import TOKENS

WIDTH, HEIGHT = 320, 150
LEFT, RIGHT, TOP, BOTTOM = 44, 312, 8, 130
# Points of a curve: more than a screen shows.
MOST = 200


class Panel(NamedTuple):
    """Curves by run, each as the points of a polyline, and the ticks of the axis, each with its height and its text."""

    label: str
    lines: Mapping[int, str]
    ticks: Sequence[tuple[float, str]]
    epochs: int


def panel(label: str, curves: Mapping[int, Sequence[float]], *, logarithmic: bool) -> Panel:
    """The curves of one column of the histories; what is not finite, or not positive where it must be, is left out."""
    scaled = {run: [_scaled(value, logarithmic) for value in values] for run, values in curves.items()}
    known = [value for values in scaled.values() for value in values if math.isfinite(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    high = high if high > low else low + 1
    epochs = max(map(len, curves.values()), default=0)

    def height(value: float) -> float:
        return round(BOTTOM - (value - low) / (high - low) * (BOTTOM - TOP), 1)

    def place(epoch: int) -> float:
        return round(LEFT + (epoch / (epochs - 1) if epochs > 1 else 0.5) * (RIGHT - LEFT), 1)

    step = max(1, math.ceil(epochs / MOST))
    lines = {
        run: " ".join(
            f"{place(epoch)},{height(values[epoch])}"
            for epoch in range(len(values))
            if (epoch % step == 0 or epoch == len(values) - 1) and math.isfinite(values[epoch])
        )
        for run, values in scaled.items()
    }
    ends = [(height(at), f"{10**at if logarithmic else at:.3g}") for at in (low, high)] if known else []
    return Panel(label + ", logarithmic" * logarithmic, lines, ends, epochs)


def _scaled(value: float, logarithmic: bool) -> float:
    if not logarithmic:
        return value
    return math.log10(value) if value > 0 else math.nan


# Larger ones, in pixels, would fill the page; and data sets of such pictures often may not be passed on.
LARGEST = 64
CHANNELS = (1, 3)
SIGNS = 300
SHOWN = 30  # tokens before the one that is predicted


def drawn(split: Split, examples: Iterable[int], most: int) -> dict[str, str]:
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
