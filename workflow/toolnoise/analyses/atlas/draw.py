"""The atlas, drawn: a square of all toolings, and the distances that each part of a tooling makes."""

from collections.abc import Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from toolnoise.figures.findings import ratio, said
from toolnoise.figures.style import INK, MEASURES


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


def of_atlas(factors: pd.DataFrame, whole: str) -> str:
    """How many answers two toolings change, beside a new seed; `whole` is the row of all pairs of toolings."""
    rows = factors[(factors["metric"] == "churn_to_seeds") & (factors["factor"] == whole) & factors["value"].notna()]
    if rows.empty:
        return "Which part of the tooling matters?"
    pairs, worded = rows["pairs"].iloc[0], said(rows.iloc[0], ratio)
    return f"Churn between two toolings, mean of {pairs} pairs, is {worded} times the churn between two seeds"
