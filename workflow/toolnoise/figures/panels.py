"""Panels of a figure: one metric as dots, lines or a square, with intervals that stay readable.

A value of exactly zero is marked "0" and an undefined value "n/a", so neither is taken for the other.
"""

from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from toolnoise.figures.selection import unique
from toolnoise.figures.sheets import FLAT
from toolnoise.figures.style import FAR, INK, MEASURES, SOFT, colour, cycle

BEHIND = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.4}  # of a short text
FURTHEST = 8.0  # times: the interval of a ratio is shown up to there, and down to its inverse
# Along the axis of a ratio, in each decade, from few to many: as many as have room; even steps if these are too few.
TICKS = (
    (1,),
    (1, 3),
    (1, 2, 5),
    (1, 1.5, 2, 3, 5, 7),
    (1, 1.2, 1.5, 2, 3, 5, 8),
    (1, 1.2, 1.5, 1.7, 2, 2.5, 3, 4, 5, 6, 7, 8, 9),
    (1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 9.5),
)
FEWEST = 3
ROOM = 0.32  # inches between two of their numbers
BESIDE = 0.025  # of an axis: points of equal ratios stand so far apart
LINE = 0.085  # of an axis: the height of a label beside it
MOST_NAMES = 8.5  # an inch of an axis: with more places, only some names are written


def unrelated(panel: Axes) -> None:
    """Mark the distance of unit-norm weights without anything in common: two random directions are √2 apart."""
    far = float(np.sqrt(2))
    panel.set_ylim(top=max(panel.get_ylim()[1], 1.2 * far))
    panel.axhline(far, color=SOFT, linewidth=0.8, linestyle=(0, (3, 1.5)), zorder=2.8)
    at = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "ha": "right", "va": "bottom"}
    panel.annotate(FAR, (1, far), (0, 2), size=7, color=SOFT, bbox=BEHIND, **at)


def lines(panel: Axes, rows: pd.DataFrame, label: str, falls: bool = False) -> None:
    """One metric with intervals against the number of `members`: a line per variant, side by side at each number.

    With `falls`, a dashed line shows the first value divided by the square root of the number. Fewer than three points
    have no line. The axis of accuracy does not start at zero: it has room for the values and, at either end, for twice
    their span.
    """
    measure = MEASURES[rows["metric"].iloc[0]]
    variants = unique(rows["variant"])
    if rows["metric"].iloc[0] == "accuracy_mean":
        least, most = measure.scale * rows["value"].min(), measure.scale * rows["value"].max()
        room = max(2 * (most - least), 0.1)
        bottom = max(least - room, measure.scale * rows[["value", "ci_low"]].min().min())
        top = min(most + room, measure.scale * rows[["value", "ci_high"]].max().max())
        edge = 0.05 * (top - bottom) or 0.1
        low, high = panel.get_ylim()  # the limits of panels above, which share the axis
        ends = (bottom - edge, top + edge) if high <= FLAT else (min(low, bottom - edge), max(high, top + edge))
        panel.set_ylim(*ends)
    else:
        bottom, top = -np.inf, head_room(panel, rows)
    slot = 0.8 / max(len(variants), 8)
    for place, variant in enumerate(variants):
        mine, tint = rows[rows["variant"] == variant], colour(variant)
        at = mine["members"] + slot * (place - (len(variants) - 1) / 2)
        line = {"linestyle": "-" if len(mine) > 2 else "none"}
        if falls and len(mine) > 2:
            less = mine["value"].iloc[0] / np.sqrt(mine["members"])
            panel.plot(at, measure.scale * less, color=tint, linewidth=1, linestyle="--", zorder=3.4)
        panel.plot(
            at, measure.scale * mine["value"], color=tint, linewidth=1.2, marker="o", markersize=3.5, zorder=3.5, **line
        )
        for x, low, high in zip(at, measure.scale * mine["ci_low"], measure.scale * mine["ci_high"], strict=True):
            interval(panel, x, low, high, top, bottom)
    panel.set_ylabel(measure.unit)
    panel.set_title(f"{measure.name}\n{label}".rstrip())


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
    for number, variant in enumerate(variants):
        mine = rows[rows["variant"] == variant].set_index("place").reindex(places)
        x = np.arange(len(places)) + (number - (len(variants) - 1) / 2) * 0.7 / len(variants)
        tint, equal = colour(variant), mine["value"] == 1
        panel.plot(x, mine["value"], color=tint, linewidth=0.8, zorder=3.1)
        for some, fill in ((~equal, tint), (equal, "white")):
            dots = {"marker": "o", "markersize": 3.4, "linestyle": "none", "markerfacecolor": fill}
            panel.plot(x[some], mine["value"][some], color=tint, zorder=3.2, **dots)
        for at, (value, low, high) in zip(x, mine[["value", "ci_low", "ci_high"]].to_numpy(), strict=True):
            if low < high:
                interval(panel, at, low, high, np.inf, bottom)
            if np.isnan(value):
                write(panel, at, panel.get_ylim()[0], "n/a", 90)
    step = -(-len(places) // int(MOST_NAMES * panel.figure.get_figwidth()))
    panel.set_xticks(range(0, len(places), step), places[::step], rotation=90)
    panel.set_xlim(-0.6, len(places) - 0.4)
    panel.set_ylabel(measure.unit)
    panel.set_title(title)


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


def courses(panel: Axes, rows: pd.DataFrame, title: str, tints: Sequence[str]) -> None:
    """Relative differences in per cent against the `epoch`, a line per `place`; exact zeros are not drawn."""
    if rows.empty:
        panel.set_axis_off()
        return
    panel.set_yscale("log")
    for place, tint in cycle(unique(rows["place"]), tints).items():
        mine = rows[rows["place"] == place]
        apart = 100 * mine["value"].where(mine["value"] > 0)
        panel.plot(mine["epoch"], apart, color=tint, linewidth=1.2, marker="o", markersize=3, label=place)
    panel.autoscale(axis="y")
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_xlabel("epoch", size=7)
    panel.set_ylabel("difference, %", size=7)
    panel.tick_params(labelsize=7.5)
    panel.set_title(title, size=8.5)
    panel.legend(fontsize=7, loc="lower right")


def ratio_ticks(panel: Axes, beside: float = 0) -> None:
    """Ticks at round numbers along the level axis of a ratio, which is logarithmic.

    `beside` are the inches that labels on the right of the panel take from it.
    """
    left, right = panel.get_xlim()
    # About: the layout will leave some of this to labels, or give some of their room to the panel.
    wide = panel.get_position().width * panel.figure.get_figwidth() - beside
    decades = 10.0 ** np.arange(np.floor(np.log10(left)), np.ceil(np.log10(right)))
    found: list[float] = []
    for steps in TICKS:
        ticks = sorted(float(f"{step * decade:.3g}") for step in steps for decade in decades)
        more = [tick for tick in ticks if left <= tick <= right]
        if found and np.any(np.diff(np.log(more)) * wide / np.log(right / left) < ROOM):
            break
        found = more
    if len(found) < FEWEST:
        even = (MaxNLocator(bins, steps=[1, 2, 2.5, 5, 10]).tick_values(left, right) for bins in (3, 4, 5, 6))
        inside = ([float(f"{tick:.4g}") for tick in ticks if left <= tick <= right] for ticks in even)
        found = next((ticks for ticks in inside if len(ticks) >= FEWEST), found)
    panel.set_xticks(found)
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_locator(NullLocator())


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
    panel.axvline(1, color=INK, linewidth=0.8, linestyle=(0, (3, 1.5)), zorder=2.5)
    panel.axhline(0, color=SOFT, linewidth=0.8, zorder=2.5)
    # Equal ratios, such as those of one network on two data sets, stand side by side.
    equal = rows.groupby("x")["x"]
    beside = equal.cumcount() - (equal.transform("size") - 1) / 2
    placed = rows.assign(at=rows["x"] * (1.21 * right / left) ** (BESIDE * beside), tint=cycle(rows["place"]).values())
    placed = placed.sort_values("y", kind="stable")
    for row in placed.itertuples():
        interval(panel, row.at, row.y_low, row.y_high, top, bottom, tint=row.tint)
        interval(panel, row.y, row.x_low, row.x_high, right, left, level=True, tint=row.tint)
        panel.plot([row.at], [row.y], "o", color=row.tint, markersize=6, markeredgecolor="white", zorder=4)
    heights = _apart((placed["y"] - bottom) / (top - bottom), min(LINE, 1 / len(placed)))
    for row, height in zip(placed.itertuples(), heights, strict=True):
        line = {"arrowstyle": "-", "color": row.tint, "linewidth": 0.7, "shrinkA": 2, "shrinkB": 0, "relpos": (0, 0.5)}
        at = {"xycoords": ("axes fraction", "data"), "xytext": (1.06, height), "textcoords": "axes fraction"}
        panel.annotate(row.place, (1.01, row.y), size=7.5, va="center", arrowprops=line, annotation_clip=False, **at)


def _apart(heights: Sequence[float], gap: float) -> list[float]:
    """Heights between 0 and 1, in rising order, moved so that each is at least `gap` above the one before."""
    found: list[float] = []
    for height in heights:
        found.append(max(height, found[-1] + gap) if found else height)
    for place in reversed(range(len(found))):
        found[place] = min(found[place], 1 - gap * (len(found) - 1 - place))
    return found


def head_room(panel: Axes, rows: pd.DataFrame) -> float:
    """Make room for the values and for intervals up to four times the largest value; return where these end.

    Two runs have an SD interval up to 32 times the SD: shown whole, it would flatten everything else.
    """
    scale = MEASURES[rows["metric"].iloc[0]].scale
    highest = scale * rows[["value", "ci_high"]].max().max()
    top = min(highest, 4 * scale * rows["value"].max()) if highest > 0 else 1.0
    panel.set_ylim(0, max(1.1 * top, panel.get_ylim()[1]))
    return top


def interval(
    panel: Axes,
    at: float,
    low: float,
    high: float,
    top: float,
    bottom: float = -np.inf,
    level: bool = False,
    tint: str = INK,
) -> None:
    """Draw an interval as a thin line with caps; one that goes on above `top` or below `bottom` ends in an arrow.

    With `level` it lies along the other axis: `top` is on the right.
    """
    turned = (lambda x, y: (y, x)) if level else (lambda x, y: (x, y))
    down, up, cap = ("<", ">", "|") if level else ("v", "^", "_")
    if low == high or np.isnan(low):
        return
    for thick, paint in ((2.2, "white"), (1, tint)):  # a white rim, to be seen on dark bars
        line = {"color": paint, "zorder": 3}
        ends = [max(low, bottom), min(high, top)]
        panel.plot(*turned([at, at], ends), linewidth=thick, solid_capstyle="butt", **line)
        for end in (low, high):
            beyond = up if end > top else down if end < bottom else ""
            sign = {"marker": beyond or cap, "markersize": 4 if beyond else 5}
            place = turned([at], [min(max(end, bottom), top)])
            panel.plot(*place, markeredgewidth=thick, linestyle="none", **sign, **line)


def mark(panel: Axes, x: float, value: float, end: float = 0) -> None:
    """Write "0" over an exact zero and its interval's end, "n/a" over an undefined value, so that no place is empty."""
    if value == 0 or np.isnan(value):
        write(panel, x, end, *(("0", 0) if value == 0 else ("n/a", 90)))


def write(panel: Axes, x: float, y: float, text: str, turned: float = 0) -> None:
    """Write a short text over a point, and over whatever lies behind it."""
    at = {"textcoords": "offset points", "ha": "center", "va": "bottom", "rotation": turned, "bbox": BEHIND}
    panel.annotate(text, (x, y), (0, 3), size=7, color=SOFT, **at)


def against_share(
    panel: Axes, rows: pd.DataFrame, quantity: str, tint: str, dashes: Mapping[str, tuple[int, tuple[int, int]]]
) -> None:
    """A quantity of a group in per cent against its `share` on a logarithmic axis, with its nulls and that of all.

    Fewer than three shares have no line.
    """
    mine = rows[rows["quantity"] == quantity]
    line = {"linestyle": "-" if len(mine) > 2 else "none"}
    highest = rows[rows["quantity"].str.startswith(quantity)]["value"].max()
    top = min(2.5 * highest, max(mine["ci_high"].max(), highest)) * 100
    panel.set_xscale("log")
    panel.set_ylim(0, max(panel.get_ylim()[1], 1.1 * top))
    for null, dash in dashes.items():
        by_chance = rows[rows["quantity"] == f"{quantity} by {null}"]
        x, (value, low, high) = 100 * by_chance["share"], 100 * by_chance[["value", "ci_low", "ci_high"]].to_numpy().T
        panel.fill_between(x, low, high, color=INK, alpha=0.08 if null == "size" else 0.14, linewidth=0, zorder=1)
        panel.plot(x, value, color=INK, linewidth=1, linestyle=dash, zorder=2.8)
    whole = rows[rows["quantity"] == f"{quantity} of all"]
    panel.plot(100 * whole["share"], 100 * whole["value"], color=SOFT, linewidth=0.8, marker=".", zorder=2.7, **line)
    dots = {"color": tint, "linewidth": 1, "marker": "o", "markersize": 4, "zorder": 4}
    panel.plot(100 * mine["share"], 100 * mine["value"], **dots, **line)
    for row in mine.itertuples():
        interval(panel, 100 * row.share, 100 * row.ci_low, 100 * row.ci_high, panel.get_ylim()[1])
    panel.set_xticks(100 * mine["share"], [f"{100 * share:.2g}" for share in mine["share"]])
    panel.xaxis.set_minor_locator(NullLocator())


def against_size(panel: Axes, rows: pd.DataFrame, tint: str, label: str) -> None:
    """An SD against the number of test `examples`, both on logarithmic axes, and what size alone would make of it."""
    panel.set_xscale("log")
    panel.set_yscale("log")
    whole = rows.loc[rows["examples"].idxmax()]
    by_size = whole["value"] * np.sqrt(whole["examples"] / rows["examples"])
    panel.plot(rows["examples"], 100 * by_size, color=tint, linewidth=0.7, linestyle=(0, (4, 2)), zorder=2.8)
    panel.plot(rows["examples"], 100 * rows["value"], color=tint, linewidth=1.3, marker="o", markersize=3, label=label)
    panel.set_xticks(rows["examples"], [str(examples) for examples in rows["examples"]], fontsize=7)
    panel.xaxis.set_minor_locator(NullLocator())
    panel.autoscale(axis="y")
    panel.yaxis.set_minor_locator(LogLocator(subs=(2, 5)))
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_formatter("{x:g}")
