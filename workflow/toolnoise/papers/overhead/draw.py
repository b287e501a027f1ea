"""What determinism costs, drawn: the time in kernels by rank in either mode, and the cost against what it removes."""

import re
from collections.abc import Iterable, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from toolnoise.figures import selection, style
from toolnoise.figures.findings import direction, largest, number
from toolnoise.figures.panels import interval, ratio_ticks

LONGEST = 34  # characters of a name
SMALL = 6.5  # points
FURTHEST = 8.0  # times: the interval of a ratio is shown up to there, and down to its inverse
BESIDE = 0.025  # of an axis: points of equal ratios stand so far apart
LABEL = 0.085  # of an axis: the height of a label beside it
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


def of_control(fixed: pd.DataFrame, varying: pd.DataFrame) -> str:
    """How many per cent of churn determinism removes, with the seeds fixed or varying."""
    rows = fixed if len(fixed) else varying
    if rows.empty:
        return "What does determinism cost, and what does it remove?"
    seeds = "fixed" if len(fixed) else "varying"
    if not ((rows["ci_low"] > 0) | (rows["ci_high"] < 0)).any():
        return f"With {seeds} seeds, determinism is not seen to lower churn"
    return f"With {seeds} seeds, determinism removes {largest(rows, number, ' %')} of churn"


def crosses(panel: Axes, rows: pd.DataFrame, bottom: float, top: float) -> None:
    """Points with intervals in both directions: ratios `x` on a logarithmic axis with a line at 1, per cent `y`.

    Each point has its `place` written on the right at its height, in a column in which no two labels touch.
    An interval that goes on beyond the axes ends in an arrow.
    """
    ratios = rows[["x", "x_low", "x_high"]]
    left = max(min(ratios.min().min(), 1 / 1.1), rows["x"].min() / FURTHEST)
    right = min(max(ratios.max().max(), 1.1), FURTHEST * rows["x"].max())
    panel.set_xscale("log")
    panel.set_xlim(left / 1.1, right * 1.1)
    ratio_ticks(panel, 0.06 * rows["place"].str.len().max())
    panel.set_ylim(bottom, top)
    panel.axvline(1, color=style.INK, linewidth=0.8, linestyle=(0, (3, 1.5)), zorder=2.5)
    panel.axhline(0, color=style.SOFT, linewidth=0.8, zorder=2.5)
    # Equal ratios, such as those of one network on two data sets, stand side by side.
    equal = rows.groupby("x")["x"]
    beside = equal.cumcount() - (equal.transform("size") - 1) / 2
    placed = rows.assign(
        at=rows["x"] * (1.21 * right / left) ** (BESIDE * beside), tint=style.cycle(rows["place"]).values()
    )
    placed = placed.sort_values("y", kind="stable")
    for row in placed.itertuples():
        interval(panel, row.at, row.y_low, row.y_high, top, bottom, tint=row.tint)
        interval(panel, row.y, row.x_low, row.x_high, right, left, level=True, tint=row.tint)
        panel.plot([row.at], [row.y], "o", color=row.tint, markersize=6, markeredgecolor="white", zorder=4)
    heights = _spaced((placed["y"] - bottom) / (top - bottom), min(LABEL, 1 / len(placed)))
    for row, height in zip(placed.itertuples(), heights, strict=True):
        line = {"arrowstyle": "-", "color": row.tint, "linewidth": 0.7, "shrinkA": 2, "shrinkB": 0, "relpos": (0, 0.5)}
        at = {"xycoords": ("axes fraction", "data"), "xytext": (1.06, height), "textcoords": "axes fraction"}
        panel.annotate(row.place, (1.01, row.y), size=7.5, va="center", arrowprops=line, annotation_clip=False, **at)


def _spaced(heights: Sequence[float], gap: float) -> list[float]:
    """Heights between 0 and 1, in rising order, moved so that each is at least `gap` above the one before."""
    placed: list[float] = []
    for height in heights:
        placed.append(max(height, placed[-1] + gap) if placed else height)
    for place in reversed(range(len(placed))):
        placed[place] = min(placed[place], 1 - gap * (len(placed) - 1 - place))
    return placed
