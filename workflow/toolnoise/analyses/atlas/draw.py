"""The atlas, drawn: a square of all toolings, and the distances that each part of a tooling makes."""

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from toolnoise.figures.findings import ratio, said
from toolnoise.figures.panels import interval
from toolnoise.figures.selection import unique
from toolnoise.figures.style import INK, MEASURES, SOFT


def heat(panel: Axes, names: Sequence[str], values: np.ndarray, equal: np.ndarray, metric: str) -> None:
    """A square of many small fields, [row, column]: larger is darker. Those of `equal` are blank, with a =.

    Rows have numbers and names, columns only the numbers.
    """
    measure = MEASURES[metric]
    shown = np.ma.masked_array(measure.scale * values, equal | np.isnan(values))
    tints = matplotlib.colormaps["Blues"].with_extremes(bad="white")
    panel.grid(visible=False)
    small = 5.2 if len(names) > 20 else 7
    highest = shown.max() if shown.count() else 1
    image = panel.imshow(shown, cmap=tints, vmin=0, vmax=highest, aspect="equal", interpolation="nearest")
    for row, column in zip(*np.nonzero(equal), strict=True):
        panel.text(column, row, "=", ha="center", va="center", size=small, color=INK)
    places = range(len(names))
    panel.set_xticks(places, [str(place + 1) for place in places], rotation=90, size=small)
    panel.set_yticks(places, [f"{name}  {place:\u2007>2}" for place, name in enumerate(names, 1)], size=small)
    panel.tick_params(pad=2)
    panel.set_xlim(-0.5, len(names) - 0.5)
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.set_title(measure.name)
    bar = panel.figure.colorbar(image, ax=panel, location="bottom", shrink=0.8, aspect=30, pad=0.02)
    bar.set_label(measure.unit, size=7)
    bar.ax.tick_params(labelsize=6.5)


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


def of_atlas(factors: pd.DataFrame, whole: str) -> str:
    """How many answers two toolings change, beside a new seed; `whole` is the row of all pairs of toolings."""
    rows = factors[(factors["metric"] == "churn_to_seeds") & (factors["factor"] == whole) & factors["value"].notna()]
    if rows.empty:
        return "Which part of the tooling matters?"
    pairs, worded = rows["pairs"].iloc[0], said(rows.iloc[0], ratio)
    return f"Churn between two toolings, mean of {pairs} pairs, is {worded} times the churn between two seeds"
