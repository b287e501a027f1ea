"""The pictures of results: values with their intervals, and power against runs.

Matplotlib is slow to import: its modules are imported when something is drawn.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from toolnoise.base.errors import BadInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from toolnoise.comparison.sample_size import SampleSize

USUAL_GAINS = (0.5, 1, 2)  # in SDs, drawn if no gain is asked for
MOST_LINES, WIDEST = 200, 60  # values in a picture, and letters of a name
TICKS = tuple(digit * 10**power for power in range(7) for digit in (1, 2, 5))


def draw_intervals(label: str, rows: Sequence[Mapping[str, Any]], axes: "Axes | None") -> "Axes":
    """A dot for each value, with a line for its interval if it has one, below one another, with the first on top."""
    from matplotlib import pyplot

    from toolnoise.comparison.compared_metrics import shortened

    shown = [row for row in rows if row["value"] is not None]
    if not shown:
        raise BadInput("plot", "", "found no value", "one or more: the text says why")
    if len(shown) > MOST_LINES:
        raise BadInput("plot", "", f"found {len(shown)} values", f"at most {MOST_LINES}")
    if axes is None:
        _, axes = pyplot.subplots(figsize=(6, 0.9 + 0.3 * len(shown)), layout="constrained")
    for place, row in enumerate(shown):
        if None not in (row["low"], row["high"]):
            axes.plot([row["low"], row["high"]], [place, place], color="tab:blue", linewidth=2)
        axes.plot(row["value"], place, "o", color="tab:blue")
    # Names are anybody's: they may be long, and are no formulas.
    names = [shortened(" ".join(row["quantity"].split()), WIDEST) for row in shown]
    axes.set_yticks(range(len(shown)), names, parse_math=False)
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.axvline(0, color="0.7", linewidth=0.8, zorder=0)
    axes.set_xlabel(f"{label} (lines: 95 % intervals)", parse_math=False)
    return axes


def draw_power(plan: "SampleSize", axes: "Axes | None") -> "Axes":
    """A curve for each gain, dashed where it reaches the power, with a band over the SD's interval.

    It is dotted for arms that share their seeds.
    """
    from matplotlib import pyplot

    from toolnoise.figures import style

    panel = pyplot.subplots(layout="constrained")[1] if axes is None else axes
    spread = plan.spread
    gains = plan.gains or [float(f"{times * spread.sd.value:.2g}") for times in USUAL_GAINS]
    needed = [plan.needed(gain) for gain in gains]
    most = max([30, *(2 * runs for runs in needed if runs)])
    runs = np.unique(np.geomspace(2, most, 200).round().astype(int))
    for gain, reached, tint in zip(gains, needed, cycle(style.CYCLE), strict=False):
        if spread.runs:
            ends = [100 * plan.power_of(gain, runs, sd) for sd in (spread.sd.low, spread.sd.high)]
            panel.fill_between(runs, *ends, color=tint, alpha=0.15, linewidth=0)
        at = f"{reached:,} runs" if reached else "over a million runs"
        label = f"a gain of {spread.with_unit(f'{gain:g}')}: {at}"
        panel.plot(runs, 100 * plan.power_of(gain, runs), color=tint, linewidth=1.6, label=label)
        if spread.shared:
            paired = 100 * plan.power_of(gain, runs, paired=True)
            panel.plot(runs, paired, color=tint, linewidth=1.2, linestyle=(0, (1, 1)))
        if reached:
            panel.plot([reached] * 2, [0, 100 * plan.power], color=tint, linewidth=0.9, linestyle=(0, (3, 2)))
    panel.axhline(100 * plan.power, color=style.SOFT, linewidth=0.9, linestyle=(0, (3, 2)))
    panel.set_xscale("log")
    panel.set_xlim(2, most)
    ticks = [tick for tick in TICKS if 2 <= tick <= most]
    panel.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    panel.set_xticks([], minor=True)
    panel.set_ylim(0, 100)
    panel.set_xlabel("runs per arm")
    panel.set_ylabel(f"power of tests at {plan.level:g}, %")
    panel.legend(loc="upper left", bbox_to_anchor=(0, -0.2), borderaxespad=0, fontsize=7.5)
    return panel
