"""Sheets of figures: their panels, title, legend and notes, the texts of notes, and files.

The same rows give the same bytes (PDF, SVG and PNG).
"""

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator, NullLocator
from matplotlib.transforms import Bbox

from toolnoise.base.files import replacing
from toolnoise.base.metric_files import CELL
from toolnoise.figures.selection import SD_ALONE, SD_NULL
from toolnoise.figures.style import EMULATED, FAR, INK, MEASURES, SOFT, STYLE, variant_name
from toolnoise.study.variants import has_draws, variant_named

if TYPE_CHECKING:
    from IPython.display import Image

PAGE, COLUMN = 7.0, 3.5  # inches: the width of a page of a paper, and of one of its two columns
# Metadata that leave out dates, and the metadata key for a figure's description, by format.
FORMATS = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}
DESCRIBED = {"pdf": "Subject", "svg": "Description", "png": "Description"}
# Texts of notes below figures: how values are computed from runs.
HOW = (
    "SD: sample SD over runs, and what it would be if examples erred independently, as often as they do; for an "
    "infinite test set it is 0 where the estimated variance is negative. Churn and L2: mean over pairs of runs. A run: "
    "how far its accuracy is from the mean of the runs with its draws, and its mean churn with them."
)
RANGE = "Normalised churn: 0 is the least and 100 % the most that the errors of the two runs allow."

BEHIND = {"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.4}  # the box of a short text
# Ticks of a ratio in each decade, from few to many: the most that fit are used, or even steps if these are too few.
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
ROOM = 0.32  # inches between the numbers of two ticks


def draws_note(rows: pd.DataFrame) -> str:
    """The number of draws of fixed sources behind the values of each variant; empty if no variant fixes a draw."""
    notes: dict[str, list[str]] = {}
    counted = rows.dropna(subset=["n_draws"]).drop_duplicates(list(CELL))
    for name, cells in counted.groupby("variant", sort=False):
        if not has_draws(variant_named(name)):
            continue
        single, several = cells[cells["n_draws"] == 1], cells[cells["n_draws"] > 1]
        note = "one choice of the seeds that stay fixed"
        if len(several):
            tasks = dict.fromkeys(single["model"].str.cat(single["dataset"], " / "))
            note = f"means over {_spread(several['n_draws'].astype(int))} choices of the seeds that stay fixed"
            note += f" (one choice for {', '.join(tasks)})" if tasks else ""
        notes.setdefault(note, []).append(variant_name(name))
    return " ".join(f"{', '.join(names)}: {note}." for note, names in notes.items())


def runs_note(rows: pd.DataFrame) -> str:
    """The number of runs, by variant if it depends on that, and the missing runs; then the same for pairs of runs."""
    across = rows["other_hardware"].notna() if "other_hardware" in rows else pd.Series(data=False, index=rows.index)
    parts = {"Runs": rows[~across], "Pairs of equal runs on two toolings": rows[across]}
    return " ".join(_counts_note(what, part) for what, part in parts.items() if len(part))


def _counts_note(what: str, rows: pd.DataFrame) -> str:
    cell = [name for name in ("model", "dataset", "hardware", "other_hardware", "variant") if name in rows]
    cells = rows.drop_duplicates(cell)
    counts = {variant: _spread(counted) for variant, counted in cells.groupby("variant", sort=False)["n_runs"]}
    usual = set(counts.values())
    each = ", ".join(f"{count} ({variant_name(variant)})" for variant, count in counts.items())
    missing = int(cells["n_missing"].sum())
    planned = missing + int(cells["n_runs"].sum())
    return f"{what}: {f'{usual.pop()} each' if len(usual) == 1 else each}; {missing or 'none'} of {planned} missing."


def _spread(counts: pd.Series) -> str:
    return " to ".join(str(count) for count in sorted({counts.min(), counts.max()}))


def steps_note(rows: pd.DataFrame) -> str:
    """The conditions of timed steps, from rows of their metric file: images, steps, and the meaning of a kernel."""
    notes = []
    for batch, size, steps in rows[["batch_size", "image_size", "steps"]].drop_duplicates().itertuples(index=False):
        notes.append(f"{steps} training steps a run, each on {batch} synthetic images of {size} x {size} pixels.")
    if "cpu" in set(rows["accelerator"]):
        notes.append("On a CPU, kernels are the framework's operators, by type.")
    return " ".join(notes)


def marks_note(figure: Figure, rows: pd.DataFrame) -> str:
    """The meaning of the lines and marks that occur in the figure."""
    texts = {text.get_text() for panel in figure.axes for text in panel.texts}
    markers = {line.get_marker() for panel in figure.axes for line in panel.lines}
    none = rows["ci_low"].isna() | (rows["ci_low"] == rows["ci_high"]) & (rows["value"] != 0)
    beside = rows["metric"].isin([SD_NULL, SD_ALONE]) if "metric" in rows else pd.Series(data=False, index=rows.index)
    bare = rows["value"].notna() & none & ~beside
    notes = {
        "Thin lines: 95 % intervals.": True,
        "No line: no interval from these runs, or one of no width.": bare.any(),
        "Arrow: the interval goes on.": not markers.isdisjoint("^v<>"),
        "0: exactly zero.": "0" in texts,
        f"{FAR}: unrelated weights, the distance of two random directions.": FAR in texts,
        "n/a: undefined, by too few runs or an SD of 0 to divide by.": "n/a" in texts,
    }
    return " ".join(note for note, occurs in notes.items() if occurs)


def empty_sheet(panels: int, high: float, columns: int, width: float = COLUMN) -> tuple[Figure, Sequence[Axes]]:
    """An empty figure with panels of height `high`, in reading order.

    A figure as wide as a page has `columns` panels side by side, with common lines; a narrower figure has fewer.
    """
    beside = max(1, int(columns * width / PAGE))
    lines = -(-panels // beside)
    figure = _empty(width, high * lines, h_pad=0.06, w_pad=0.05)
    axes = list(figure.subplots(lines, beside, squeeze=False).flat)
    for spare in axes[panels:]:
        spare.set_axis_off()
    return figure, axes[:panels]


def without_panels(width: float = COLUMN) -> Figure:
    """A figure without panels, if nothing can be drawn: its title and notes say so."""
    return _empty(width, 0.1)


def _empty(width: float, height: float, **pads: float) -> Figure:
    matplotlib.rcdefaults()  # a user's own matplotlibrc must not change the bytes
    matplotlib.rcParams.update(sns.axes_style("whitegrid") | STYLE)
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.get_layout_engine().set(**pads)
    return figure


def finish_sheet(
    figure: Figure,
    title: str,
    rows: pd.DataFrame,
    emulated: Sequence[str],
    how: str,
    subtitle: str = "",
    marks: Sequence[Artist] = (),
) -> None:
    """Give a figure its title and caption and, in bands of their own, its legend of `marks` and the number of its runs.

    The title is the finding or the question; the subtitle describes the figure. `rows` are all rows shown. `how`
    describes how the values are computed from runs.
    """
    notes = [f"{how} {marks_note(figure, rows)}", runs_note(rows)]
    notes += filter(None, [draws_note(rows) if "n_draws" in rows else ""])
    if set(emulated) & set(rows["hardware"]):
        notes.append(EMULATED)
    frame_panels(figure, title, notes, marks, subtitle)


def frame_panels(
    figure: Figure, title: str, notes: Sequence[str], keys: Sequence[Artist] = (), subtitle: str = ""
) -> None:
    """Put a legend of `keys` above the panels and the second note, the number of runs, below them.

    Title, subtitle and all notes are stored as the description in every file, and the page shows them. A PNG may be
    shared alone, so it also shows title and subtitle above the figure; a PDF or an SVG leaves them to the caption of a
    paper.
    """
    wide, high = figure.get_size_inches()
    figure.set_label("\n".join([title, subtitle, *notes]))
    lines = [line for note in notes[1:2] for line in textwrap.wrap(note, int(20.6 * wide - 8.5))]
    if wide < PAGE:
        _wrap_titles(figure.axes, wide)
    columns = _columns(keys, wide)
    top = 0.08 + 0.165 * (-(-len(keys) // columns) if keys else 0)
    bottom = 0.12 + 0.139 * len(lines)
    tall = high + top + bottom
    figure.set_size_inches(wide, tall)
    figure.get_layout_engine().set(rect=(0.06 / wide, bottom / tall, 1 - 0.1 / wide, 1 - (top + bottom) / tall))
    left = 0.1 / wide
    small = {"ha": "left", "va": "bottom", "size": 7, "linespacing": 1.4, "color": SOFT}
    figure.text(left, 0.09 / tall, "\n".join(lines), **small)
    place = {"loc": "upper left", "bbox_to_anchor": (left, 1 - 0.04 / tall), "borderaxespad": 0}
    shape = {"ncols": columns, "handlelength": 1.1, "handleheight": 0.9, "columnspacing": 1.5, "fontsize": 7.5}
    if keys:
        figure.legend(handles=keys, borderpad=0, **place, **shape)


def _heading(figure: Figure) -> tuple[list[Text], float]:
    """Title and subtitle as texts above a figure that no page surrounds, and their height in inches."""
    title, subtitle, *_ = figure.get_label().split("\n")
    wide, tall = figure.get_size_inches()
    bold, soft = wrap_text(title, 12.2 * wide - 1), wrap_text(subtitle, 15.7 * wide - 2)
    high = 0.08 + 0.18 * len(bold) + 0.145 * len(soft)
    first = {"ha": "left", "va": "top", "linespacing": 1.25}
    texts = [
        figure.text(0.1 / wide, 1 + (high - 0.04) / tall, "\n".join(bold), size=9.5, weight="bold", **first),
        figure.text(0.1 / wide, 1 + (0.145 * len(soft) - 0.02) / tall, "\n".join(soft), size=7.5, color=SOFT, **first),
    ]
    return texts, high


def wrap_text(text: str, most: float) -> list[str]:
    """The lines of a text; a number and its per cent sign stay together."""
    return [line.replace("\u00a0", " ") for line in textwrap.wrap(text.replace(" %", "\u00a0%"), int(most))]


def _wrap_titles(axes: Sequence[Axes], wide: float) -> None:
    """Break the titles of panels into lines that fit: a column has less room for them than a page."""
    for panel in axes:
        most, title = 11.6 * wide / panel.get_gridspec().ncols, panel.get_title(loc="left")
        for text in panel.get_children():
            if isinstance(text, Text) and title and text.get_text() == title:
                text.set_text("\n".join(part for line in title.split("\n") for part in wrap_text(line, most)))


def _columns(keys: Sequence[Artist], wide: float) -> int:
    """The largest number of legend columns that fit: a column is as wide as its longest label."""
    for columns in range(len(keys), 1, -1):
        # Matplotlib fills column by column.
        longest = [max(len(key.get_label()) for key in part) for part in np.array_split(np.array(keys), columns)]
        if sum(0.056 * size + 0.32 for size in longest) <= wide - 0.2:
            return columns
    return 1


def save(figure: Figure, stem: str) -> "Image":
    """Write stem.pdf, stem.svg and stem.png; the same figure gives the same bytes. Returns an image for a notebook."""
    for suffix in FORMATS:
        save_as(figure, f"{stem}.{suffix}")
    from IPython.display import Image  # slow to import, and not needed where no notebook is rendered

    return Image(f"{stem}.png")


def save_as(figure: Figure, path: str) -> None:
    """Write one file, in the format of its suffix."""
    suffix = path.rpartition(".")[2]
    with matplotlib.rc_context(STYLE):
        if figure.get_layout_engine() is not None:
            figure.draw_without_rendering()  # laid out once, so that all formats agree
            # Not "none", which would leave a placeholder: each format would be drawn three times.
            figure.set_layout_engine(None)
            for panel in figure.axes:
                # The layout's solver depends on memory addresses, so its last digits differ between processes.
                panel.set_position(np.round(panel.get_position(original=True).bounds, 6))
        described = {DESCRIBED[suffix]: figure.get_label()} if figure.get_label() else {}
        shown: dict[str, Any] = {"dpi": 200, "metadata": FORMATS[suffix] | described}
        heading: list[Text] = []
        if suffix == "png" and described:
            heading, high = _heading(figure)
            wide, tall = figure.get_size_inches()
            shown["bbox_inches"] = Bbox([[0, 0], [wide, tall + high]])
        with replacing(path) as scratch:
            figure.savefig(scratch, format=suffix, **shown)
        for text in heading:
            text.remove()


# Shared by all panels: ticks, intervals that stay readable, and short texts


def ratio_ticks(panel: Axes) -> None:
    """Set ticks at round numbers on the horizontal axis of a ratio, which is logarithmic."""
    left, right = panel.get_xlim()
    # Approximate: the layout may still change the width of the panel to make room for labels.
    wide = panel.get_position().width * panel.figure.get_figwidth()
    decades = 10.0 ** np.arange(np.floor(np.log10(left)), np.ceil(np.log10(right)))
    chosen: list[float] = []
    for steps in TICKS:
        ticks = sorted(float(f"{step * decade:.3g}") for step in steps for decade in decades)
        more = [tick for tick in ticks if left <= tick <= right]
        if chosen and np.any(np.diff(np.log(more)) * wide / np.log(right / left) < ROOM):
            break
        chosen = more
    if len(chosen) < FEWEST:
        even = (MaxNLocator(bins, steps=[1, 2, 2.5, 5, 10]).tick_values(left, right) for bins in (3, 4, 5, 6))
        inside = ([float(f"{tick:.4g}") for tick in ticks if left <= tick <= right] for ticks in even)
        chosen = next((ticks for ticks in inside if len(ticks) >= FEWEST), chosen)
    panel.set_xticks(chosen)
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_locator(NullLocator())


def readable_top(rows: pd.DataFrame) -> float:
    """The top of a metric's axis, where intervals are cut off: at most four times the largest value.

    Two runs have an SD interval up to 32 times the SD: shown whole, it would flatten everything else.
    """
    scale = MEASURES[rows["metric"].iloc[0]].scale
    highest, largest = scale * rows[["value", "ci_high"]].max().max(), scale * rows["value"].max()
    return min(highest, 4 * largest) if largest > 0 else highest if highest > 0 else 1.0


def draw_interval(
    panel: Axes,
    at: float,
    low: float,
    high: float,
    top: float,
    bottom: float = -np.inf,
    level: bool = False,
    tint: str = INK,
) -> None:
    """Draw an interval as a thin line with caps; beyond `top` or `bottom` it ends in an arrow.

    With `level` the line is horizontal, and `top` is on the right.
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


def write_over_point(panel: Axes, x: float, y: float, text: str, turned: float = 0) -> None:
    """Write a short text above a point, on a box that covers what lies behind."""
    at = {"textcoords": "offset points", "ha": "center", "va": "bottom", "rotation": turned, "bbox": BEHIND}
    panel.annotate(text, (x, y), (0, 3), size=7, color=SOFT, **at)
