"""Ratios to what a new seed changes, from left to right."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes

from toolnoise.figures.panels import interval
from toolnoise.figures.selection import unique
from toolnoise.figures.style import INK, SOFT


def against(panel: Axes, rows: pd.DataFrame, tints: Mapping[str, str], title: str) -> None:
    """Draw ratios with their intervals from left to right, and a dashed line at 1, where nothing differs.

    Each `place` of the rows has a line of its own, on which each `variant` has a dot in its tint.
    """
    places, variants = unique(rows["place"]), unique(rows["variant"])
    most = max(1.1, min(rows["ci_high"].max(), 3 * rows["value"].max()), 1.1 * rows["value"].max())
    for row in rows.itertuples():
        at = places.index(row.place) + 0.22 * (variants.index(row.variant) - (len(variants) - 1) / 2)
        interval(panel, at, row.ci_low, row.ci_high, most, 0, level=True, tint=tints[row.variant])
        panel.plot([row.value], [at], "o", color=tints[row.variant], markersize=5, zorder=4, clip_on=False)
        if row.value == 0:
            panel.annotate("0", (0, at), (5, 0), textcoords="offset points", size=7, va="center", color=SOFT)
    panel.axvline(1, color=INK, linewidth=0.8, linestyle=(0, (3, 1.5)), zorder=2.5)
    panel.set_xlim(0, 1.05 * most)
    panel.set_ylim(len(places) - 0.5, -0.5)
    panel.set_yticks(range(len(places)), places)
    panel.set_xlabel("times the distance between two seeds")
    panel.set_title(title)
