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
    line: str = "-"
    width: float = 1.0


def curves(rows: pd.DataFrame, emulated: Sequence[str]) -> list[Curve]:
    """The perturbations of some rows: toolings first, then those of the reference tooling itself."""
    found = rows[["hardware", "variant", "over_hardware"]].drop_duplicates().itertuples(index=False)
    toolings, own = [], []
    for hardware, name, over in found:
        if hardware != over:
            place = len(toolings)
            line = "-" if place < len(TINTS) else (0, (4, 1.5))
            toolings.append(Curve((hardware, name), hardware, TINTS[place % len(TINTS)], line))
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
        apart = mine if floor is None else mine[mine["value"] > 0]
        # Beside one another, so that the intervals can be told apart.
        steps = apart["step"].to_numpy() * 10 ** (SPREAD * (place - middle))
        panel.plot(steps, apart["value"], color=curve.colour, linestyle=curve.line, linewidth=curve.width, zorder=3)
        low, high = apart["ci_low"].to_numpy(), apart["ci_high"].to_numpy()
        low = low if floor is None else np.maximum(low, floor)
        panel.vlines(steps, low, high, color=curve.colour, linewidth=0.5, alpha=0.6, zorder=2)
        if floor is not None:
            zero = mine[mine["value"] == 0]["step"].to_numpy() * 10 ** (SPREAD * (place - middle))
            panel.plot(zero, np.full(len(zero), 1.5 * floor), ls="", marker=".", ms=4, color=curve.colour)
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
    """How far runs from one start are apart after the first recorded step, and after the last."""
    apart = rows[(rows["metric"] == "l2_unit") & (rows["step"] > 0) & (rows["value"] > 0)]
    if apart.empty:
        return "How do differences from equal starts grow?"
    first, last = apart["step"].min(), apart["step"].max()
    near, far = (number(apart[apart["step"] == step]["value"].median()) for step in (first, last))
    lines = len(apart.drop_duplicates(["hardware", "variant"]))
    ends = f"{near} apart after step {first} and {far} after {last}"
    return f"From equal starts, weights are {ends} (medians of {lines} lines)"
