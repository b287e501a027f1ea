"""The texts of a figure as they are printed: which are too small, cut off, or lie on one another; long titles."""

import itertools
import re
from typing import NamedTuple

from matplotlib.backends.backend_agg import RendererAgg

SMALLEST = 5.0  # points
WORDS, NUMBERS = 12, 1  # of a title
TOUCHING = 0.75  # points by which boxes may overlap: they are a little larger than the glyphs


class Box(NamedTuple):
    """A text as it is drawn: its size, and its box in points from the upper left corner."""

    text: str
    size: float
    left: float
    top: float
    right: float
    bottom: float


def drawn(figure):
    """Every text of a figure that is drawn."""
    found = []

    # The tick labels of an axis, for instance, are not all drawn that there are.
    class Noting(RendererAgg):
        def draw_text(self, _gc, x, y, s, prop, angle, ismath=False, **_):
            wide, high, below = self.get_text_width_height_descent(s, prop, ismath)
            box = (x, y - high + below, x + wide, y + below)
            if angle == 90:
                box = (x - high + below, y - wide, x + below, y)
            if s.strip():
                found.append(Box(s, prop.get_size_in_points(), *(72 / self.dpi * side for side in box)))

    figure.draw_without_rendering()
    wide, high = figure.get_size_inches() * figure.dpi
    figure.draw(Noting(wide, high, figure.dpi))
    return found


def too_much(title):
    """What a title has too much of, in words; a per cent sign is no word, and the name of a model no number."""
    words = [word for word in title.split() if word != "%"]
    numbers = re.findall(r"(?<![\w-])[+-]?\d[\d.,]*(?![\w-])", title)
    found = [f"{len(words)} words: {title}"] if len(words) > WORDS else []
    return found + ([f"{len(numbers)} numbers: {title}"] if len(numbers) > NUMBERS else [])


def faults(figure):
    """What is wrong with the texts of a figure at its own size, in words."""
    boxes, (wide, high) = drawn(figure), 72 * figure.get_size_inches()
    found = [f"{box.size:g} pt: {box.text!r}" for box in boxes if box.size < SMALLEST]
    for box in boxes:
        if min(box.left, box.top) < -TOUCHING or box.right > wide + TOUCHING or box.bottom > high + TOUCHING:
            found.append(f"cut off: {box.text!r}")
    for one, other in itertools.combinations(boxes, 2):
        across = min(one.right, other.right) - max(one.left, other.left)
        along = min(one.bottom, other.bottom) - max(one.top, other.top)
        if min(across, along) > TOUCHING:
            found.append(f"{one.text!r} lies on {other.text!r}")
    return found
