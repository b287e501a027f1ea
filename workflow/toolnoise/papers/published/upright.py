"""Panels with a metric upwards: against the size of an ensemble, or against the epoch after which a bit is changed.

A value of exactly zero is marked "0" and an undefined value "n/a", so neither is taken for the other.
"""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from toolnoise.figures import panels, selection
from toolnoise.figures.sheets import FLAT
from toolnoise.figures.style import FAR, MEASURES, SOFT, colour


def lines(panel: Axes, rows: pd.DataFrame, label: str, falls: bool = False) -> None:
    """One metric with intervals against the number of `members`: a line per variant, side by side at each number.

    With `falls`, a dashed line shows the first value divided by the square root of the number. Fewer than three points
    have no line. The axis of accuracy does not start at zero: it has room for the values and, at either end, for twice
    their span.
    """
    measure = MEASURES[rows["metric"].iloc[0]]
    variants = selection.unique(rows["variant"])
    if rows["metric"].iloc[0] == "accuracy_mean":
        least, most = measure.scale * rows["value"].min(), measure.scale * rows["value"].max()
        room = max(2 * (most - least), 0.1)
        bottom = max(least - room, measure.scale * rows[["value", "ci_low"]].min().min())
        top = min(most + room, measure.scale * rows[["value", "ci_high"]].max().max())
        edge = 0.05 * (top - bottom) or 0.1
        low, high = panel.get_ylim()  # the limits of panels above, which share the axis
        ends = (bottom - edge, top + edge) if high <= FLAT else (min(low, bottom - edge), max(high, top + edge))
        panel.set_ylim(*ends)
    else:
        bottom, top = -np.inf, panels.head_room(panel, rows)
    slot = 0.8 / max(len(variants), 8)
    for place, variant in enumerate(variants):
        cells, tint = rows[rows["variant"] == variant], colour(variant)
        at = cells["members"] + slot * (place - (len(variants) - 1) / 2)
        line = {"linestyle": "-" if len(cells) > 2 else "none"}
        if falls and len(cells) > 2:
            less = cells["value"].iloc[0] / np.sqrt(cells["members"])
            panel.plot(at, measure.scale * less, color=tint, linewidth=1, linestyle="--", zorder=3.4)
        panel.plot(
            at,
            measure.scale * cells["value"],
            color=tint,
            linewidth=1.2,
            marker="o",
            markersize=3.5,
            zorder=3.5,
            **line,
        )
        for x, low, high in zip(at, measure.scale * cells["ci_low"], measure.scale * cells["ci_high"], strict=True):
            panels.interval(panel, x, low, high, top, bottom)
    panel.set_ylabel(measure.unit)
    panel.set_title(f"{measure.name}\n{label}".rstrip())


def unrelated(panel: Axes) -> None:
    """Mark the distance of unit-norm weights without anything in common: two random directions are √2 apart."""
    far = float(np.sqrt(2))
    panel.set_ylim(top=max(panel.get_ylim()[1], 1.2 * far))
    panel.axhline(far, color=SOFT, linewidth=0.8, linestyle=(0, (3, 1.5)), zorder=2.8)
    at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "ha": "right", "va": "bottom"}
    panel.annotate(FAR, (1, far), (0, 2), size=7, color=SOFT, bbox=panels.BEHIND, **at)


def mark(panel: Axes, x: float, value: float) -> None:
    """Write "0" over an exact zero and "n/a" over an undefined value, so that no place is empty."""
    if value == 0 or np.isnan(value):
        panels.write(panel, x, 0, *(("0", 0) if value == 0 else ("n/a", 90)))
