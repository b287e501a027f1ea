"""Estimates as dots along a horizontal axis: a line per variant under a heading per place, each with its runs.

The lines are named once, on the left, and run through all panels. The height of a figure follows from its number of
lines. An exact zero is an open square with a 0; a value too small to be seen has its number beside it.
"""

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import blended_transform_factory

from toolnoise.base.metric_files import CELL, part_of
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.figures import selection, sheets, style
from toolnoise.figures.sheets import draw_interval, ratio_ticks
from toolnoise.study.variants import variant_named

LINE = 0.17  # inches from line to line
HEADED = ("place", "variant")
UNSEEN = 0.04  # of an axis: a smaller value has its number beside it
REACH = 2.2  # times the largest value: a longer interval ends in an arrow
LOG_REACH = 6.0  # the same for the axis of a ratio, in both directions
BELOW = 0.27  # of a line: the distance of the runs below their estimate
GAP = 0.12  # of a panel's width: more than the space between two panels
STRIP, ALARM = "#F1F1F1", "#B23000"
EXPECTED = {"color": "#D8D8D8", "linewidth": 0}  # a range
RING = {"markersize": 8.5, "markerfacecolor": "none", "markeredgecolor": ALARM, "markeredgewidth": 1.4}
SMALL = 7  # points
RUN = {"marker": "o", "markersize": 2.4, "markeredgewidth": 0, "alpha": 0.65, "linestyle": "none"}
POINT = {"marker": "o", "markersize": 5.2, "markeredgecolor": "white", "markeredgewidth": 0.6, "linestyle": "none"}
ZERO = {"marker": "s", "markersize": 4.4, "markerfacecolor": "white", "markeredgewidth": 1.1, "linestyle": "none"}
UNTOLD = POINT | {"markersize": 5, "markerfacecolor": "white", "markeredgecolor": None, "markeredgewidth": 1.2}
CHANCE = {"color": style.INK, "linewidth": 1.1, "linestyle": (0, (1, 1))}
DIAMOND = {
    "marker": "D",
    "markersize": 3.4,
    "markerfacecolor": "white",
    "markeredgecolor": style.INK,
    "linestyle": "none",
}
LOOKS = {"estimate": POINT, "zero": ZERO, "untold": UNTOLD}
KEYS = {
    "estimate": ("estimate, 95 % interval", {"marker": "o", "markersize": 5, "color": style.SOFT, "linewidth": 1}),
    "run": ("a run", RUN | {"color": style.SOFT}),
    "untold": ("undecided: contains 1", UNTOLD | {"color": style.SOFT}),
    "zero": ("exactly 0", ZERO | {"color": style.SOFT}),
    "chance": ("independent errors", {**CHANCE}),
    "expected": ("95 % range by size alone", {"color": "#D8D8D8", "linewidth": 5, "solid_capstyle": "butt"}),
    "ring": ("not explained by size", {"marker": "o", "linestyle": "none", **RING}),
    "alone": ("SD, infinite test set", DIAMOND | {"markeredgewidth": 0.8}),
}
NOTHING: Mapping = MappingProxyType({})

Place = tuple[str, str]  # the heading of a line, and its variant
Lines = dict[Place, float]


def heights_of_lines(rows: pd.DataFrame) -> Lines:
    """The height of each line of each place, from the top; each place has a heading, whose variant is empty."""
    at: Lines = {}
    for place in selection.distinct_names(rows["place"]):
        for kind in ("", *selection.distinct_names(rows[rows["place"] == place]["variant"])):
            at[place, kind] = len(at)
    return at


def page_of_panels(at: Lines, measures: int, width: float = sheets.COLUMN) -> tuple[Figure, Sequence[Axes]]:
    """An empty figure with a panel per measure; lines are named on the left, and their headings are shaded.

    If no measure can be drawn, the figure has no panels: its title and notes say so.
    """
    if not measures:
        return sheets.without_panels(width), []
    figure, axes = sheets.empty_sheet(measures, LINE * len(at) + 0.72, measures, width)
    written = {height: style.variant_name(line) for (_, line), height in at.items() if line}
    for panel, after in itertools.zip_longest(axes, axes[1:]):
        first = panel.get_subplotspec().is_first_col()
        last = after is None or after.get_subplotspec().is_first_col()
        panel.set_ylim(len(at) - 0.4, -0.5)
        panel.set_yticks(list(written), list(written.values()) if first else [""] * len(written))
        panel.tick_params(labelsize=SMALL + 0.5)
        panel.tick_params(axis="y", pad=7)  # room for the mark of a zero
        panel.grid(visible=True, axis="x")
        panel.grid(visible=False, axis="y")
        panel.spines["left"].set_visible(False)
        headings = {height: heading for (heading, line), height in at.items() if not line}
        for height in headings:
            # The strip fills the gap to the next panel, so that a long heading lies on one strip.
            across = 1 if last else 1 + GAP
            strip = panel.axhspan(height - 0.5, height + 0.42, 0, across, color=STRIP, linewidth=0, zorder=0.5)
            strip.set(clip_on=False, in_layout=False)
        if first:
            # A heading may be wider than its panel, and then lies over the next panel.
            panel.set_zorder(1)
            panel.patch.set_visible(False)
            corner = blended_transform_factory(panel.transAxes, panel.transData)
            text = {"va": "center", "size": SMALL + 0.5, "weight": "bold", "zorder": 5, "in_layout": False}
            for height, heading in headings.items():
                panel.text(0.015, height, heading, transform=corner, **text)
    return figure, axes


def draw_measure(
    panel: Axes,
    rows: pd.DataFrame,
    at: Lines,
    runs: Mapping[Place, Iterable[float]] = NOTHING,
    chance: Mapping[Place, float] = NOTHING,
    alone: Mapping[Place, float] = NOTHING,
    expected: Mapping[Place, tuple[float, float]] = NOTHING,
    hollow: Collection[Place] = (),
    ringed: Collection[Place] = (),
    palette: Mapping[str, str] = style.PALETTE,
) -> None:
    """Draw one metric on its panel: an estimate with its interval on each line.

    A ratio has a logarithmic axis with a line at 1; an exact zero stands at its left end. `runs` are the values of
    single runs, `chance` is the estimate by chance alone, `alone` the estimate without that chance, and `expected` its
    range. Values in `ringed` have a red ring. Marks of `hollow`, for ratios whose interval contains 1, are open.
    """
    shown, is_ratio = style.MEASURES[rows["metric"].iloc[0]], rows["metric"].iloc[0].endswith("_ratio")
    single = {key: shown.scale * np.asarray(list(values)) for key, values in runs.items()}
    left, right = _log_ends(panel, rows, expected) if is_ratio else _ends(panel, rows, single, shown.scale)
    for row in rows.itertuples():
        key, height, tint = (row.place, row.variant), at[row.place, row.variant], style.colour(row.variant, palette)
        value, low, high = shown.scale * np.array([row.value, row.ci_low, row.ci_high])
        if key in single and value != 0:
            kept = single[key][~np.isnan(single[key])]
            panel.plot(
                kept, np.full(len(kept), height + BELOW), color=tint, clip_on=False, zorder=3.5, label="run", **RUN
            )
        least, most = expected.get(key, (np.nan, np.nan))
        if least < most:
            bar = [height - 0.36, height + 0.36]
            panel.fill_betweenx(bar, max(least, left), min(most, right), zorder=1.5, label="expected", **EXPECTED)
        draw_interval(panel, height, low, high, right, left, level=True, tint=tint)
        by_chance, by_itself = (shown.scale * others.get(key, np.nan) for others in (chance, alone))
        if value > 0 and by_chance > 0:
            by_chance = min(max(by_chance, left), right)
            panel.plot([by_chance] * 2, [height - 0.45, height + 0.45], zorder=3.8, label="chance", **CHANCE)
        if value > 0 and not np.isnan(by_itself):
            place = min(max(by_itself, left), right)
            panel.plot(place, height, clip_on=False, zorder=4.5, label="alone", markeredgewidth=0.8, **DIAMOND)
        if np.isnan(value):
            _note(panel, 1 if is_ratio else 0, height, "n/a")
            continue
        mark = "zero" if value == 0 else "untold" if key in hollow else "estimate"
        panel.plot(max(value, left), height, color=tint, clip_on=False, zorder=4.2, label=mark, **LOOKS[mark])
        if value == 0 or (0 < value < UNSEEN * right and not is_ratio):
            _note(panel, left if is_ratio else np.nanmax([value, min(high, right), 0]), height, f"{value:.2g}")
        if key in ringed:
            panel.plot(max(value, left), height, "o", clip_on=False, zorder=5, label="ring", **RING)
    panel.set_xlabel(shown.unit, size=SMALL)
    panel.set_title(shown.name, size=8.5)


def _note(panel: Axes, x: float, height: float, text: str) -> None:
    """Write a short text to the right of a mark."""
    words = {"textcoords": "offset points", "va": "center", "size": SMALL, "color": style.SOFT, "zorder": 5}
    panel.annotate(text, (x, height), (5, 0), **words)


def _ends(panel: Axes, rows: pd.DataFrame, runs: Mapping[Place, np.ndarray], scale: float) -> tuple[float, float]:
    """The ends of a linear axis: the largest value, all runs, and intervals up to `REACH` fit."""
    largest = scale * rows["value"].max()
    single = [values[~np.isnan(values)].max() for values in runs.values() if (~np.isnan(values)).any()]
    most = np.nanmax([scale * rows["ci_high"].max(), largest, 0])
    right = np.nanmax([min(most, REACH * np.nan_to_num(largest)), *single]) or 1.0
    left = max(np.nanmin([scale * rows[["value", "ci_low"]].min().min(), 0]), -right)
    panel.set_xlim(left - 0.05 * (right - left) * (left < 0), right + 0.04 * (right - left))
    panel.xaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    return left, right


def _log_ends(panel: Axes, rows: pd.DataFrame, expected: Mapping[Place, tuple[float, float]]) -> tuple[float, float]:
    """The ends of the logarithmic axis of a ratio: values fit, and intervals up to `LOG_REACH`."""
    positive = [*rows["value"][rows["value"] > 0], *(end for ends in expected.values() for end in ends if end > 0)]
    least, most = (min(positive), max(positive)) if positive else (1.0, 1.0)
    left = min(1 / 1.3, max(np.nanmin([rows["ci_low"].min(), least]), least / LOG_REACH))
    right = max(1.3, min(np.nanmax([rows["ci_high"].max(), most]), most * LOG_REACH))
    panel.set_xscale("log")
    panel.set_xlim(left / 1.08, right * 1.08)
    panel.axvline(1, color=style.INK, linewidth=0.8, zorder=2.5)
    ratio_ticks(panel)
    return left, right


def draw_legend(figure: Figure, **labels: str) -> list[Line2D]:
    """The entries of a legend, for all marks in the figure by the labels of its artists; `labels` replace texts."""
    drawn = {artist.get_label() for panel in figure.axes for artist in (*panel.lines, *panel.collections)}
    return [
        Line2D([], [], label=labels.get(mark, label), **look) for mark, (label, look) in KEYS.items() if mark in drawn
    ]


def undecided_places(rows: pd.DataFrame) -> set[Place]:
    """The places and variants whose ratio has an interval that contains 1."""
    return set(rows[(rows["ci_low"] <= 1) & (rows["ci_high"] >= 1)][list(HEADED)].itertuples(index=False, name=None))


def of_runs(
    table: pd.DataFrame, hardware: Sequence[str], tasks: Sequence[Sequence[str]], part: str = "all"
) -> pd.DataFrame:
    """Each run's contribution to a measure on some toolings and tasks, from rows of a metric file of runs.

    For the SD of accuracy it is the distance of the run's accuracy from the mean of the runs with the same draws.
    """
    table = selection.of_tasks(table[table["hardware"].isin(hardware) & (table["group"].map(part_of) == part)], tasks)
    near = []
    for kind, rows in table[table["metric"] == "accuracy"].groupby("variant", sort=False):
        fixed = [source for source in ALGORITHMIC if source not in variant_named(kind).varying]
        mean = rows.groupby([*CELL, *fixed, "group"])["value"].transform("mean")
        near.append(rows.assign(metric="accuracy_sd", value=(rows["value"] - mean).abs()))
    return pd.concat([table, *near])


def varying_measures(rows: pd.DataFrame, metrics: Sequence[str]) -> list[str]:
    """The measures with a positive value on some line; other measures have nothing to draw."""
    return [metric for metric in metrics if (rows[rows["metric"] == metric]["value"] > 0).any()]


def still_note(drawn: Sequence[str], metrics: Sequence[str]) -> str:
    """A sentence that lists the measures that are not drawn."""
    names = [style.MEASURES[metric].name for metric in metrics if metric not in drawn]
    return f" Not drawn, 0 or undefined everywhere: {', '.join(names)}." if names else ""


def draw_noise(
    axes: Sequence[Axes],
    rows: pd.DataFrame,
    runs: pd.DataFrame,
    at: Lines,
    metrics: Sequence[str],
    palette: Mapping[str, str] = style.PALETTE,
) -> None:
    """Draw measures of noise side by side; the SD also has its value by chance alone and its value without chance."""

    def by_line(table: pd.DataFrame, metric: str) -> pd.core.groupby.SeriesGroupBy:
        return table[table["metric"] == metric].groupby(list(HEADED), sort=False)["value"]

    for panel, metric in zip(axes, metrics, strict=True):
        beside = {"chance": selection.SD_NULL, "alone": selection.SD_ALONE} if metric == "accuracy_sd" else {}
        values = {name: by_line(rows, other).first().to_dict() for name, other in beside.items()}
        single = by_line(runs, metric).apply(list).to_dict()
        draw_measure(panel, rows[rows["metric"] == metric], at, single, palette=palette, **values)
        if metric == "l2_unit":
            _mark_unrelated(panel)


def _mark_unrelated(panel: Axes) -> None:
    """Mark the distance of unrelated unit-norm weights: two random directions are √2 apart."""
    far = float(np.sqrt(2))
    panel.set_xlim(right=max(panel.get_xlim()[1], 1.1 * far))
    panel.axvline(far, color=style.SOFT, linewidth=0.8, linestyle=(0, (3, 1.5)), zorder=2.8)
    panel.annotate(
        style.FAR,
        # In the first heading, which has no values.
        (far, 0),
        (-2, 0),
        textcoords="offset points",
        size=SMALL,
        color=style.SOFT,
        ha="right",
        va="center",
        in_layout=False,
    )
