"""Values with intervals as dots and lines, with Matplotlib."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib import pyplot
from matplotlib.axes import Axes

from toolnoise.base.errors import BadInput


def intervals(label: str, rows: Sequence[Mapping[str, Any]], axes: Axes | None = None) -> Axes:
    """A dot for each value with an interval, below one another, with the first on top."""
    shown = [row for row in rows if None not in (row["value"], row["low"], row["high"])]
    if not shown:
        raise BadInput("plot", "", "found no value with an interval", "two or more runs")
    if axes is None:
        _, axes = pyplot.subplots(figsize=(6, 0.9 + 0.3 * len(shown)), layout="constrained")
    for place, row in enumerate(shown):
        axes.plot([row["low"], row["high"]], [place, place], color="tab:blue", linewidth=2)
        axes.plot(row["value"], place, "o", color="tab:blue")
    axes.set_yticks(range(len(shown)), [row["quantity"] for row in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.axvline(0, color="0.7", linewidth=0.8, zorder=0)
    axes.set_xlabel(f"{label} (lines: 95 % intervals)")
    return axes
