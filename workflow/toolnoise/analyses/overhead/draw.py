"""The longest kernels of a training step, by default and with deterministic ones, on one axis of milliseconds."""

import re
from collections.abc import Iterable, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from toolnoise.figures import selection, style
from toolnoise.figures.panels import interval

NAMED = 20  # as in the paper's figure 8, and in each mode of the metric file
LONGEST = 34  # characters of a name
LINE = 0.128  # inches
SMALL = 6.5  # points
LESS = "less"  # than the named kernels of the mode
REST = "rest"  # the rank of all kernels without a name
# CUDA's kernels are C++ functions with namespaces, template arguments and parameters.
QUALIFIED = re.compile(r"(\(anonymous namespace\)|\w+)::")
WORD = re.compile(r"[A-Za-z_]\w*")
# The first stands above the second, which it may equal.
LOOKS = ({"marker": "o", "markersize": 5.5, "markerfacecolor": "none"}, {"marker": "o", "markersize": 2.8})


def longest(rows: pd.DataFrame) -> list[str]:
    """The kernels of a network that take most of the time in either mode, the longest first."""
    named = rows[rows["rank"] != REST]
    return list(named.groupby("kernel", sort=False)["value"].max().nlargest(NAMED).index)


def appeared(rows: pd.DataFrame) -> dict[str, float]:
    """The longest kernel of a network, with its seconds, if it is among the named ones of the second mode alone."""
    named = rows[rows["rank"] != REST]
    (kernel, seconds), *_ = named.nlargest(1, "value")[["kernel", "value"]].itertuples(index=False)
    modes = selection.unique(rows["mode"])
    alone = selection.unique(named[named["kernel"] == kernel]["mode"]) == modes[1:]
    return {called(longest(rows))[kernel]: seconds} if alone else {}


def height_of(models: int) -> float:
    """The inches of the panel of a network."""
    return LINE * NAMED + (0.55 if models > 1 else 0.65)


def draw(panel: Axes, rows: pd.DataFrame, name: str) -> None:
    """The kernels of a network as lines, with their times in each mode as marks and as numbers."""
    modes, kernels = selection.unique(rows["mode"]), longest(rows)
    times = {mode: rows[rows["mode"] == mode].set_index("kernel") for mode in modes}
    most = 1e3 * rows[rows["kernel"].isin(kernels)]["value"].max()
    for at, kernel in enumerate(kernels):
        for mode, look in zip(modes, LOOKS, strict=False):
            if kernel in times[mode].index:
                row, tint = times[mode].loc[kernel], style.colour(mode)
                value, low, high = 1e3 * row[["value", "ci_low", "ci_high"]].astype(float)
                interval(panel, at, low, high, 1.03 * most, 0, level=True, tint=tint)
                panel.plot(value, at, color=tint, linestyle="none", zorder=4, label=mode, **look)
        texts = (_milliseconds(times[mode]["value"][kernel]) if kernel in times[mode].index else LESS for mode in modes)
        words = {"xycoords": ("axes fraction", "data"), "va": "center", "size": SMALL, "annotation_clip": False}
        panel.annotate(" → ".join(texts), (1.01, at), **words)
    names = called(kernels)
    panel.set_yticks(range(len(kernels)), [names[kernel] for kernel in kernels], size=SMALL)
    panel.set_ylim(len(kernels) - 0.4, -0.6)
    panel.set_xlim(0, 1.04 * most)
    panel.grid(visible=True, axis="x")
    panel.tick_params(axis="x", labelsize=SMALL + 0.5, pad=2)
    panel.set_xlabel("ms of a step, all calls of a kernel", size=SMALL + 0.5, labelpad=1)
    wholes = " → ".join(_milliseconds(times[mode]["value"].sum()) for mode in modes)
    panel.set_title(f"{name}, all kernels: {wholes} ms", size=8.5, pad=4)


def keys(modes: Iterable[str]) -> list[Line2D]:
    """The legend: the mark of each mode."""
    return [
        Line2D([], [], color=style.colour(mode), linestyle="none", label=style.variant_name(mode), **look)
        for mode, look in zip(modes, LOOKS, strict=False)
    ]


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:.3g}" if seconds < 1 else f"{1e3 * seconds:,.0f}"


def called(parts: Iterable[str]) -> dict[str, str]:
    """A short name of each part: of a C++ function its own, and the first word that only it has of those called so."""
    words = {part: WORD.findall(QUALIFIED.sub("", part.removeprefix("void "))) for part in parts}
    names = {part: found[0] if part.startswith("void ") else part for part, found in words.items()}
    return {part: shortened(_apart(part, words, names)) for part in words}


def _apart(part: str, words: Mapping[str, list[str]], names: Mapping[str, str]) -> str:
    others = [words[one] for one, name in names.items() if name == names[part] and one != part]
    own = [word for word in words[part] if not any(word in other for other in others)]
    return f"{names[part]}: {own[0]}" if others and own else part if others else names[part]


def shortened(name: str) -> str:
    """A name with its middle left out, if it is too long for its line."""
    half = (LONGEST - 1) // 2
    return name if len(name) <= LONGEST else f"{name[:half]}…{name[-half:]}"
