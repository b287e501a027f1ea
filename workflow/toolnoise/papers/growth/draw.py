"""Curves of distances against training steps, on logarithmic axes, one for each perturbation."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.figures import style
from toolnoise.figures.findings import number
from toolnoise.study.variants import variant

# Toolings in the order of the study; then the same colours again, dashed.
TINTS = ("#0072B2", "#E69F00", "#CC79A7", "#56B4E9", "#D55E00", "#8C8C8C")
SPREAD = 0.018  # decades between the intervals of two curves


class Curve(NamedTuple):
    """A perturbation: the cell and the variant of its reference, its name, and how its line is drawn."""

    cell: tuple[str, str]
    name: str
    colour: str
    line: str | tuple[int, tuple[float, float]] = "-"
    width: float = 1.0


def curves(rows: pd.DataFrame, emulated: Sequence[str]) -> list[Curve]:
    """The perturbations of some rows: toolings first, then those of the reference tooling itself."""
    found = rows[["hardware", "variant", "over_hardware"]].drop_duplicates().itertuples(index=False)
    toolings, own = [], []
    for hardware, name, over in found:
        if hardware != over:
            turn, place = divmod(len(toolings), len(TINTS))
            toolings.append(Curve((hardware, name), hardware, TINTS[place], (0, (4, 1.5)) if turn else "-"))
            continue
        sources = "+".join(source for source in variant(name).varying if source not in ALGORITHMIC)
        shown = style.variant_name(sources) + (style.DAGGER if "impl" in sources and hardware in emulated else "")
        line = "-" if sources == "impl" else (0, (1, 1.2))
        shown = "one bit" if sources == "bit" else shown
        own.append(Curve((hardware, name), shown, style.colour(sources), line, 2.4 if sources == "impl" else 1.6))
    return [*toolings, *own]


def draw(panel: Axes, rows: pd.DataFrame, shown: Sequence[Curve], floor: float | None = None) -> None:
    """The curves of one metric; with a `floor`, on a logarithmic axis, at whose foot exact zeros are marked."""
    panel.set_xscale("log", base=2)
    middle = (len(shown) - 1) / 2
    for place, curve in enumerate(shown):
        mine = rows[(rows["hardware"] == curve.cell[0]) & (rows["variant"] == curve.cell[1]) & (rows["step"] > 0)]
        # Beside one another, so that the intervals can be told apart.
        mine = mine.assign(step=mine["step"] * 10 ** (SPREAD * (place - middle)))
        if floor is not None:
            zeros = mine[mine["value"] == 0]["step"]
            panel.plot(zeros, np.full(len(zeros), 1.5 * floor), ls="", marker=".", ms=4, color=curve.colour)
            mine = mine[mine["value"] > 0]
        steps, low = mine["step"], mine["ci_low"].clip(lower=floor)
        panel.plot(steps, mine["value"], color=curve.colour, linestyle=curve.line, linewidth=curve.width, zorder=3)
        panel.vlines(steps, low, mine["ci_high"], color=curve.colour, linewidth=0.5, alpha=0.6, zorder=2)
    *steps, last = sorted(set(rows["step"]) - {0})
    # The last step may be too near to the one before for both to be named.
    steps = [*(step for step in steps if 2 * step <= last), last]
    panel.set_xticks(steps, [str(step) for step in steps])
    panel.minorticks_off()
    if floor is not None:
        panel.set_yscale("log")
        panel.set_ylim(floor, 4)


def key(curve: Curve) -> Line2D:
    """The curve's entry in the legend."""
    return Line2D([], [], color=curve.colour, linestyle=curve.line, linewidth=curve.width, label=curve.name)


def of_growth(rows: pd.DataFrame) -> str:
    """How far runs from one start are apart after the last step: the median of the lines."""
    apart = rows[(rows["metric"] == "l2_unit") & (rows["step"] > 0) & (rows["value"] > 0)]
    if apart.empty:
        return "How do differences from equal starts grow?"
    last = apart[apart["step"] == apart["step"].max()]["value"]
    return f"Weights that start equal end {number(last.median())} apart"
