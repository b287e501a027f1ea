"""What panels of figures have in common: intervals that stay readable, ticks, and short texts."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from toolnoise.figures.style import INK, MEASURES, SOFT

BEHIND = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.4}  # of a short text
# Along the axis of a ratio, in each decade, from few to many: as many as have room; even steps if these are too few.
TICKS = (
    (1,),
    (1, 3),
    (1, 2, 5),
    (1, 1.5, 2, 3, 5, 7),
    (1, 1.2, 1.5, 2, 3, 5, 8),
    (1, 1.2, 1.5, 1.7, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
    (1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 9.5),
)
FEWEST = 3
ROOM = 0.32  # inches between two of their numbers


def ratio_ticks(panel: Axes) -> None:
    """Ticks at round numbers along the level axis of a ratio, which is logarithmic."""
    left, right = panel.get_xlim()
    # About: the layout will leave some of this to labels, or give some of their room to the panel.
    wide = panel.get_position().width * panel.figure.get_figwidth()
    decades = 10.0 ** np.arange(np.floor(np.log10(left)), np.ceil(np.log10(right)))
    chosen: list[float] = []
    for steps in TICKS:
        ticks = sorted(float(f"{step * decade:.3g}") for step in steps for decade in decades)
        more = [tick for tick in ticks if left <= tick <= right]
        if chosen and np.any(np.diff(np.log(more)) * wide / np.log(right / left) < ROOM):
            break
        chosen = more
    if len(chosen) < FEWEST:
        even = (MaxNLocator(bins, steps=[1, 2, 2.5, 5, 10]).tick_values(left, right) for bins in (3, 4, 5, 6))
        inside = ([float(f"{tick:.4g}") for tick in ticks if left <= tick <= right] for ticks in even)
        chosen = next((ticks for ticks in inside if len(ticks) >= FEWEST), chosen)
    panel.set_xticks(chosen)
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_locator(NullLocator())


def readable_top(rows: pd.DataFrame) -> float:
    """Where the intervals of a metric end on its axis: four times the largest value, at most.

    Two runs have an SD interval up to 32 times the SD: shown whole, it would flatten everything else.
    """
    scale = MEASURES[rows["metric"].iloc[0]].scale
    highest, largest = scale * rows[["value", "ci_high"]].max().max(), scale * rows["value"].max()
    return min(highest, 4 * largest) if largest > 0 else highest if highest > 0 else 1.0


def interval(
    panel: Axes,
    at: float,
    low: float,
    high: float,
    top: float,
    bottom: float = -np.inf,
    level: bool = False,
    tint: str = INK,
) -> None:
    """Draw an interval as a thin line with caps; one that goes on above `top` or below `bottom` ends in an arrow.

    With `level` it lies along the other axis: `top` is on the right.
    """
    turned = (lambda x, y: (y, x)) if level else (lambda x, y: (x, y))
    down, up, cap = ("<", ">", "|") if level else ("v", "^", "_")
    if low == high or np.isnan(low):
        return
    for thick, paint in ((2.2, "white"), (1, tint)):  # a white rim, to be seen on dark bars
        line = {"color": paint, "zorder": 3}
        ends = [max(low, bottom), min(high, top)]
        panel.plot(*turned([at, at], ends), linewidth=thick, solid_capstyle="butt", **line)
        for end in (low, high):
            beyond = up if end > top else down if end < bottom else ""
            sign = {"marker": beyond or cap, "markersize": 4 if beyond else 5}
            place = turned([at], [min(max(end, bottom), top)])
            panel.plot(*place, markeredgewidth=thick, linestyle="none", **sign, **line)


def write(panel: Axes, x: float, y: float, text: str, turned: float = 0) -> None:
    """Write a short text over a point, and over whatever lies behind it."""
    at = {"textcoords": "offset points", "ha": "center", "va": "bottom", "rotation": turned, "bbox": BEHIND}
    panel.annotate(text, (x, y), (0, 3), size=7, color=SOFT, **at)
