"""What determinism costs, drawn: the time in kernels by rank in either mode."""

import re
from collections.abc import Iterable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from toolnoise.figures import selection, style
from toolnoise.figures.findings import direction, largest, number

LONGEST = 34  # characters of a name
SMALL = 6.5  # points
REST = "rest"  # the rank of all kernels without a name
# CUDA's kernels are C++ functions with namespaces, template arguments and parameters.
QUALIFIED = re.compile(r"(\(anonymous namespace\)|\w+)::")
WORD = re.compile(r"[A-Za-z_]\w*")
LOOKS = ({"marker": "o", "markersize": 4.5, "markerfacecolor": "none"}, {"marker": "o", "markersize": 3.2})


def draw(panel: Axes, rows: pd.DataFrame, name: str) -> None:
    """The time of all measured steps in each named kernel of a network, by rank, a line for each mode."""
    modes, steps = selection.unique(rows["mode"]), int(rows["steps"].iloc[0])
    named = rows[rows["rank"] != REST]
    for mode, look, height in zip(modes, LOOKS, (0.84, 0.97), strict=False):
        mine, tint = named[named["mode"] == mode], style.colour(mode)
        ranks = mine["rank"].astype(int)
        times = 1e3 * steps * mine[["value", "ci_low", "ci_high"]]
        panel.plot(ranks, times["value"], color=tint, linewidth=0.9, zorder=4, label=mode, **look)
        # An interval that ends at zero goes on below a logarithmic axis.
        panel.vlines(ranks, times["ci_low"].where(times["ci_low"] > 0, times["value"]), times["ci_high"], color=tint)
        words = {"ha": "right", "va": "top", "size": SMALL, "color": tint, "transform": panel.transAxes}
        panel.text(0.99, height, f"longest: {called(mine['kernel'].iloc[0])}", **words)
    panel.set_yscale("log")
    panel.set_xticks([1, 5, 10, 15, 20])
    panel.set_xlabel("rank of the kernel in its mode")
    panel.set_ylabel(f"ms in {steps} steps")
    wholes = " → ".join(_milliseconds(steps * rows[rows["mode"] == mode]["value"].sum()) for mode in modes)
    panel.set_title(f"{name} (all: {wholes} ms)", size=8.5, pad=4)


def keys(modes: Iterable[str]) -> list[Line2D]:
    """The legend: the mark of each mode."""
    return [
        Line2D([], [], color=style.colour(mode), linewidth=0.9, label=style.variant_name(mode), **look)
        for mode, look in zip(modes, LOOKS, strict=False)
    ]


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:,.0f}"


def called(kernel: str) -> str:
    """A short name of a kernel: of a C++ function its own, with the middle left out of one too long for its place."""
    words = WORD.findall(QUALIFIED.sub("", kernel.removeprefix("void ")))
    name = words[0] if kernel.startswith("void ") else kernel
    half = (LONGEST - 1) // 2
    return name if len(name) <= LONGEST else f"{name[:half]}…{name[-half:]}"


def _slower(ratios: pd.DataFrame, what: str, time: str, slower: str, faster: str) -> str:
    """What some ratios of times decide: how much slower the slowest is, or that no difference was seen."""
    words = {
        "below": f"Determinism makes {what} {faster}",
        "some above": f"Determinism makes {what} of some networks {slower}",
        "some below": f"Determinism makes {what} of some networks {faster}",
        "both": f"Determinism makes some {what} {slower} and some {faster}",
        "": f"No difference in {time} seen",
    }
    more = ratios.assign(value=100 * (ratios["value"] - 1))
    return words.get(direction(ratios), f"Determinism makes {what} {largest(more, number, ' %')} {slower}")


def of_cost(rows: pd.DataFrame) -> str:
    """By how much determinism slows a step, by the clock."""
    clock = rows[(rows["metric"] == "wall_ratio") & rows["ci_low"].notna()]
    return "What does determinism cost?" if clock.empty else _slower(clock, "steps", "step time", "slower", "faster")


def of_kernels(ratios: pd.DataFrame) -> str:
    """By how much determinism changes the time in kernels."""
    if ratios["ci_low"].isna().all():
        return "Which kernels take the time of a step?"
    return _slower(ratios, "kernels", "kernel time", "slower", "faster")
