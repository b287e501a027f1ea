"""Similarity of representations along the layers of a network, and where it is least."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from toolnoise.figures.panels import interval, write
from toolnoise.figures.selection import unique
from toolnoise.figures.style import MEASURES, colour, variant_name

MOST_NAMES = 8.5  # an inch of an axis: with more places, only some names are written


def along(panel: Axes, rows: pd.DataFrame, title: str) -> None:
    """A similarity as dots with intervals, joined by a line for each variant, along the `place`s in their order.

    A dot at exactly 1 is open, to distinguish it from a value very near 1.
    """
    measure = MEASURES[rows["metric"].iloc[0]]
    places, variants = unique(rows["place"]), unique(rows["variant"])
    # The axis ends above 1, the largest possible value, and below the values shown: never further down than they need.
    lowest = rows["value"].min() if rows["value"].notna().any() else 0.0
    room = max(1 - lowest, 1e-3)
    bottom = max(np.nanmin([lowest, rows["ci_low"].min()]), lowest - room)
    panel.set_ylim(min(panel.get_ylim()[0] or 1, bottom - 0.12 * room), 1 + 0.08 * (1 - bottom + 0.12 * room))
    for place, variant in enumerate(variants):
        line = rows[rows["variant"] == variant].set_index("place").reindex(places)
        x = np.arange(len(places)) + (place - (len(variants) - 1) / 2) * 0.7 / len(variants)
        tint, equal = colour(variant), line["value"] == 1
        panel.plot(x, line["value"], color=tint, linewidth=0.8, zorder=3.1)
        for dotted, fill in ((~equal, tint), (equal, "white")):
            dots = {"marker": "o", "markersize": 3.4, "linestyle": "none", "markerfacecolor": fill}
            panel.plot(x[dotted], line["value"][dotted], color=tint, zorder=3.2, **dots)
        for at, (value, low, high) in zip(x, line[["value", "ci_low", "ci_high"]].to_numpy(), strict=True):
            if low < high:
                interval(panel, at, low, high, np.inf, bottom)
            if np.isnan(value):
                write(panel, at, panel.get_ylim()[0], "n/a", 90)
    step = -(-len(places) // int(MOST_NAMES * panel.figure.get_figwidth()))
    panel.set_xticks(range(0, len(places), step), places[::step], rotation=90)
    panel.set_xlim(-0.6, len(places) - 0.4)
    panel.set_ylabel(measure.unit)
    panel.set_title(title)


def of_layers(rows: pd.DataFrame) -> str:
    """In which layer and under which variant runs are least alike."""
    alike = rows[(rows["metric"] == "cka") & rows["value"].notna()]
    if alike.empty:
        return "In which layers do runs represent the same examples differently?"
    least = alike.loc[alike["value"].idxmin()]
    if least["value"] == 1:
        return "Runs represent the examples equally in every layer"
    return f"Runs are least alike in {least['place']} under {variant_name(least['variant'])}"
