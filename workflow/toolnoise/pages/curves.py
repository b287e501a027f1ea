"""Curves of several runs over epochs, as what SVG draws."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

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
