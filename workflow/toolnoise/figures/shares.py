"""Shares of a whole as stacked bars, two beside a list of the largest parts: the kernels of a training step by mode."""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from toolnoise.figures import selection, sheets, style

NAMED = 5  # parts with a name and a colour
LONGEST = 40  # characters of a name
LINE = 0.155  # inches
BLOCK = NAMED + 1.6  # lines of a whole: its heading, its parts, a gap
SMALL = 7  # points
# CUDA's kernels are C++ functions with namespaces, template arguments and parameters.
QUALIFIED = re.compile(r"(\(anonymous namespace\)|\w+)::")
WORD = re.compile(r"[A-Za-z_]\w*")


def page(wholes: int) -> tuple[Figure, tuple[Axes, Axes]]:
    """An empty figure of so many wholes: bars on the left, and room for the names of their parts."""
    figure, (left, right) = sheets.sheet(2, LINE * BLOCK * wholes + 0.5, 2)
    for panel in (left, right):
        panel.set_ylim(BLOCK * wholes - 0.6, -0.6)
        panel.grid(visible=False)
    right.set_axis_off()
    right.set_xlim(0, 1)
    left.set_xlim(0, 100)
    left.spines["left"].set_visible(False)
    left.set_yticks([])
    left.tick_params(labelsize=SMALL + 0.5)
    left.set_xlabel("% of the time of a step in kernels", size=SMALL)
    return figure, (left, right)


def longest(rows: pd.DataFrame) -> list[str]:
    """The parts that take most of any whole, the longest first; what is summed up as the rest is none of them."""
    named = rows[rows["rank"] != "rest"]
    return list(named.groupby("kernel", sort=False)["value"].max().nlargest(NAMED).index)


def tints(parts: Sequence[str], known: dict[str, str]) -> dict[str, str]:
    """A colour for each part, none twice: the one it has in a whole before, if it is free. `known` learns of it."""
    mine: dict[str, str] = {}
    for part in parts:
        free = [tint for tint in style.CYCLE if tint not in mine.values()]
        new = [tint for tint in free if tint not in known.values()]
        before = known.get(part)
        mine[part] = before if before in free else (new or free)[0]
        known.setdefault(part, mine[part])
    return mine


def draw(panels: tuple[Axes, Axes], rows: pd.DataFrame, place: int, name: str, colours: Mapping[str, str]) -> None:
    """One whole in both modes, as number `place` from the top, with its longest parts and their times."""
    bars, list_of_parts = panels
    top = BLOCK * place
    modes = selection.unique(rows["mode"])
    bars.text(0, top, name, va="center", weight="bold", size=SMALL + 1, in_layout=False)
    times = {mode: rows[rows["mode"] == mode].set_index("kernel")["value"] for mode in modes}
    for mode, at in zip(modes, (top + 1.7, top + 4.1), strict=False):
        whole, start = times[mode].sum(), 0.0
        for part, tint in (*colours.items(), (None, "#E2E2E2")):
            share = 100 * times[mode].get(part, 0.0) / whole if part else 100 - start
            bars.barh(at, share, 1.5, left=start, color=tint, edgecolor="white", linewidth=0.8)
            if share >= 7:
                ink = "white" if part and sum(int(tint[i : i + 2], 16) for i in (1, 3, 5)) < 384 else style.INK
                bars.text(start + share / 2, at, f"{share:.0f}", ha="center", va="center", size=SMALL, color=ink)
            start += share
        bars.text(0, at + 1.1, f"{style.variant_name(mode)}: {_milliseconds(whole)} ms", va="center", size=SMALL)
    look = {"va": "center", "size": SMALL, "in_layout": False}
    list_of_parts.text(1, top, " → ".join(modes) + ", ms", ha="right", color=style.SOFT, **look)
    names = called(colours)
    for line, (part, tint) in enumerate(colours.items(), 1):
        list_of_parts.add_patch(Rectangle((0, top + line - 0.3), 0.028, 0.6, color=tint))
        list_of_parts.text(0.045, top + line, names[part], **look)
        texts = (_milliseconds(times[mode][part]) if part in times[mode] else "in the rest" for mode in modes)
        list_of_parts.text(1, top + line, " → ".join(texts), ha="right", **look)


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


def of_longest(rows: pd.DataFrame) -> dict[str, np.ndarray]:
    """By mode, the share of the longest part in each whole."""
    wholes = rows.groupby(["mode", "model"], sort=False)["value"]
    named = rows[rows["rank"] != "rest"].groupby(["mode", "model"], sort=False)["value"]
    share = named.max() / wholes.sum()
    return {mode: share[mode].to_numpy() for mode in selection.unique(rows["mode"])}
