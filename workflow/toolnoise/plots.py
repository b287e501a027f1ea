"""What the figures share: words, colours, panels of bars with intervals, and files with fixed bytes.

Promises: the same rows give the same bytes (PDF, SVG and PNG). A value of exactly zero is marked "0" and an undefined
one "n/a", so neither is taken for the other. Every figure says how many runs it rests on, how many are missing and what
its intervals are. Colours are the Okabe-Ito palette, which stays apart under every common colour blindness; control,
the absence of noise, is grey.
"""

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import MaxNLocator

from toolnoise.errors import BadInput
from toolnoise.files import replacing
from toolnoise.metrics.table import part_of


class Measure(NamedTuple):
    """How a metric is shown: its name, its unit, and the factor from the file's unit to this one."""

    name: str
    unit: str
    scale: float


MEASURES = {
    "accuracy_mean": Measure("Mean test accuracy", "% of test examples", 100),
    "accuracy_sd": Measure("SD of test accuracy", "percentage points", 100),
    "churn": Measure("Churn", "% of test examples", 100),
    "l2_unit": Measure("L2 of unit-norm weights", "distance (no unit)", 1),
    "cka": Measure("CKA", "similarity (1: equal)", 1),
    "cka_debiased": Measure("Debiased CKA", "similarity (1: equal)", 1),
    "accuracy_sd_ratio": Measure("SD of accuracy", "times the SD over all", 1),
    "fpr_sd_ratio": Measure("SD of the false positive rate", "times the SD over all", 1),
    "fnr_sd_ratio": Measure("SD of the false negative rate", "times the SD over all", 1),
    "kernel_ratio": Measure("Time in kernels", "deterministic / default", 1),
    "wall_ratio": Measure("Time by the clock", "deterministic / default", 1),
}
NOISE = ("accuracy_sd", "churn", "l2_unit")  # the three measures of the paper's figures 2, 3, 6, 11 and 13
PARTS = {"all": "over all examples", "class": "by class", "group": "by sub-group"}  # see table.part_of
SD_NULL = "accuracy_sd_independent_null"  # beside the first of them
HOW = (
    "SD: sample SD over runs; dotted: what it would be if examples erred independently, as often as they do. "
    "Churn and L2: mean over pairs of runs."
)

PALETTE = {
    "algo_impl": "#0072B2",
    "algo": "#E69F00",
    "impl": "#009E73",
    "control": "#8C8C8C",
    "init": "#56B4E9",
    "shuffle": "#D55E00",
    "augment": "#CC79A7",
    "dropout": "#F0E442",
    "bit": "#000000",
    "default": "#56B4E9",
    "deterministic": "#D55E00",
}
NAMES = {"algo_impl": "ALGO+IMPL", "algo": "ALGO", "impl": "IMPL", "control": "Control"}
FRAMEWORKS = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}
# For what has no colour of its own, in order of appearance.
CYCLE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#000000")
DAGGER = "†"
EMULATED = f"{DAGGER} implementation noise emulated: reduction order"

WIDEST = 16.5  # inches of a figure: shown on a page, its words can still be read
NARROW = 0.12  # of a place: a bar over which a number is written upwards, beside others
UNSEEN = 0.012  # of an axis: a bar no higher than its line, over which the value is written
MOST_NAMES = 60  # along an axis: of more places only some have their names written
_FLAT = 1e-12  # the height of an axis that shows nothing yet
INK, SOFT = "#222222", "#555555"
STYLE = {
    "font.family": "DejaVu Sans",  # bundled with matplotlib: the same glyphs on every machine
    "font.size": 8.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titlepad": 8,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "xtick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.color": SOFT,
    "ytick.labelcolor": INK,
    "xtick.major.size": 0,
    "xtick.major.pad": 5,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # TrueType: text stays text in the PDF
    "svg.hashsalt": "toolnoise",  # else element ids are random
}
FORMATS = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}  # no dates in the bytes


def variant_name(variant: str) -> str:
    """The variant as the paper writes it; single sources keep their own name."""
    return NAMES.get(variant, variant)


def colour(variant: str, palette: Mapping[str, str] = PALETTE) -> str:
    """The variant's colour, the same in every figure: of sources together the mean of theirs; else light grey."""
    parts = [palette.get(part.partition("_")[0]) for part in variant.split("+")]
    if variant in palette or None in parts:
        return palette.get(variant, "#BBBBBB")
    return to_hex(np.mean([to_rgb(part) for part in parts], axis=0)).upper()


def cycle(names: Sequence[str]) -> dict[str, str]:
    """Colours for names that have none of their own; grey once there are more names than colours."""
    return dict(zip(names, CYCLE, strict=False))


def tooling_name(hardware: str, emulated: Sequence[str]) -> str:
    """The tooling's name, with a dagger if its implementation noise is emulated."""
    return hardware + (DAGGER if hardware in emulated else "")


def framework_name(engine: str, version: str = "") -> str:
    """A framework as its makers write it, and its version."""
    return f"{FRAMEWORKS.get(engine, engine)} {version}".rstrip()


def stacked(*names: str) -> str:
    """A label of a group of bars: one name below the other, long ones broken at their hyphens."""
    return "\n".join(line for name in names for line in textwrap.wrap(name, 12, break_long_words=False))


def select(
    table: pd.DataFrame,
    paths: str | Sequence[str],
    metric: str,
    hardware: Sequence[str],
    tasks: Sequence[Sequence[str]],
    part: str = "all",
) -> pd.DataFrame:
    """Rows of one metric on these toolings and tasks, of one of `PARTS`; each tooling must have some.

    `paths` are the files that the table was read from.
    """
    table = of_tasks(table, tasks)
    for name in hardware:
        mine = table[table["hardware"] == name]
        if mine.empty:
            raise BadInput(named(paths), "hardware", f"no {name!r}", f"it has {_listed(table['hardware'])}")
        mine = mine[mine["group"].map(part_of) == part]
        if metric not in set(mine["metric"]):
            found = f"no {metric!r} {PARTS[part]} on {name}"
            raise BadInput(named(paths), "metric", found, f"it has {_listed(mine['metric'])}")
    wanted = (table["metric"] == metric) & (table["group"].map(part_of) == part)
    return table[wanted & table["hardware"].isin(hardware)]


def named(paths: str | Sequence[str]) -> str:
    """What to call some files in a complaint."""
    first, *more = [paths] if isinstance(paths, str) else paths
    return f"{first} and {len(more)} more" if more else first


def of_tasks(table: pd.DataFrame, tasks: Sequence[Sequence[str]]) -> pd.DataFrame:
    """Rows of some tasks, each a model and a data set."""
    return table[pd.MultiIndex.from_frame(table[["model", "dataset"]]).isin(list(map(tuple, tasks)))]


def _listed(names: pd.Series) -> str:
    return ", ".join(names.unique()) or "nothing"


def unique(names: pd.Series) -> list[str]:
    """The names in order of appearance, which is the study's."""
    return list(names.unique())


def width(rows: pd.DataFrame) -> float:
    """Inches that a panel of bars needs, so that neither its bars nor its labels touch."""
    bars_a_place = rows.groupby("place", sort=False)["variant"].nunique()
    most = bars_a_place.max()
    label = max(len(line) for place in bars_a_place.index for line in place.split("\n"))
    return 0.75 + len(bars_a_place) * max(min(0.2 * most, 0.1 * most + 0.4) + 0.15, 0.078 * label + 0.1)


def grid(lines: int, widths: Sequence[float], height: float = 2.3, share: str = "col") -> tuple[Figure, np.ndarray]:
    """An empty figure of panels that start at zero, as [line][column]; a column (or row) shares its y axis.

    A line that would be wider than a page has its panels below one another.
    """
    _restyle()
    beside = sum(widths) <= WIDEST
    wide, deep = (sum(widths), lines) if beside else (max(widths), lines * len(widths))
    # At least as wide as the title, the legend and the footnote need.
    figure = Figure(figsize=(max(wide, 6.2), height * deep), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.09)
    ratios = list(widths) if beside else [1]
    axes = figure.subplots(deep, len(ratios), squeeze=False, width_ratios=ratios).reshape(lines, len(widths))
    for line, column in np.ndindex(axes.shape):
        panel, first = axes[line, column], axes[0, column] if share == "col" else axes[line, 0]
        if panel is not first:
            panel.sharey(first)
            panel.tick_params(labelleft=share == "col")
        panel.set_ylim(0, _FLAT)
    return figure, axes


def mosaic(lines: Sequence[tuple[float, Sequence[float]]]) -> tuple[Figure, list[Axes]]:
    """An empty figure of lines of panels, each line with its height and its panels' widths; no two share an axis.

    A line that would be wider than a page has its panels below one another.
    """
    _restyle()
    fitting: list[tuple[float, Sequence[float]]] = []
    for high, widths in lines:
        fitting += [(high, widths)] if sum(widths) <= WIDEST else [(high, [wide]) for wide in widths]
    size = max(6.2, *(sum(widths) for _, widths in fitting)), sum(high for high, _ in fitting)
    figure = Figure(figsize=size, layout="constrained")
    figure.get_layout_engine().set(h_pad=0.09)
    outer = figure.add_gridspec(len(fitting), height_ratios=[high for high, _ in fitting])
    panels = []
    for place, (_, widths) in zip(outer, fitting, strict=True):
        # What a narrow line leaves of the page stays empty.
        spare = size[0] - sum(widths)
        ratios = [*widths, *([spare] if spare > 0.1 else [])]
        inner = place.subgridspec(1, len(ratios), width_ratios=ratios)
        panels += [figure.add_subplot(inner[number]) for number in range(len(widths))]
    for panel in panels:
        panel.set_ylim(0, _FLAT)
    return figure, panels


def _restyle() -> None:
    matplotlib.rcdefaults()  # a user's own matplotlibrc must not change the bytes
    matplotlib.rcParams.update(sns.axes_style("whitegrid") | STYLE)


def bars(
    panel: Axes,
    rows: pd.DataFrame,
    title: str = "",
    palette: Mapping[str, str] = PALETTE,
    nulls: Mapping[tuple[str, str], float] | None = None,
) -> None:
    """One metric as bars with intervals: a group a `place`, a bar a variant, in order of appearance.

    `nulls` are the values that a bar would have by chance alone, by place and variant.
    """
    measure = MEASURES[rows["metric"].iloc[0]]
    places = unique(rows["place"])
    slot = 0.84 / rows.groupby("place")["variant"].nunique().max()
    top = head_room(panel, rows)
    # What may be negative is shown down to what there is room for above.
    bottom = max(measure.scale * rows[["value", "ci_low"]].min().min(), -top)
    if bottom < 0:
        panel.set_ylim(bottom=1.1 * bottom)
    for x, place in enumerate(places):
        here = rows[rows["place"] == place]
        for offset, row in enumerate(here.itertuples()):
            centre = x + (offset - (len(here) - 1) / 2) * slot
            tint = colour(row.variant, palette)
            value, low, high = measure.scale * np.array([row.value, row.ci_low, row.ci_high])
            # A bar of height zero gets an edge, drawn over the axis: it is still a line in its colour.
            edge = {"edgecolor": tint, "linewidth": 0 if value else 2, "clip_on": False}
            panel.bar(centre, value, 0.86 * slot, color=tint, zorder=2.6, **edge)
            null = measure.scale * (nulls or {}).get((place, row.variant), np.nan)
            if null > 0:
                ends = [centre - 0.5 * slot, centre + 0.5 * slot]
                panel.plot(ends, [min(null, top)] * 2, color=INK, linewidth=1.1, linestyle=(0, (1, 1)), zorder=2.9)
            interval(panel, centre, low, high, top, bottom)
            mark(panel, centre, row.value)
            if 0 < value < UNSEEN * top:
                write(panel, centre, np.nanmin([np.nanmax([value, high]), top]), f"{value:.1g}", 90 * (slot < NARROW))
    panel.set_xticks(range(len(places)), places)
    panel.set_xlim(-0.55, len(places) - 0.45)
    panel.set_ylabel(measure.unit)
    panel.set_title(title or measure.name)


def along(panel: Axes, rows: pd.DataFrame, title: str) -> None:
    """A similarity as dots with intervals, joined by a line for each variant, along the `place`s in their order.

    A dot at exactly 1 is open, and so is told from one very near.
    """
    measure = MEASURES[rows["metric"].iloc[0]]
    places, variants = unique(rows["place"]), unique(rows["variant"])
    # The axis ends above 1, the most there is, and below what is shown: never further down than the values need.
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
    step = -(-len(places) // MOST_NAMES)
    panel.set_xticks(range(0, len(places), step), places[::step], rotation=90)
    panel.set_xlim(-0.6, len(places) - 0.4)
    panel.set_ylabel(measure.unit)
    panel.set_title(title)


def matrix(
    panel: Axes, names: Sequence[str], values: np.ndarray, words: Sequence[Sequence[Sequence[str]]], title: str
) -> None:
    """A square of values, [row, column], the larger the darker, and in each field its words: a bold line, then others.

    A field whose value is undefined is left blank but for its words.
    """
    highest = np.nanmax(values, initial=0)
    panel.grid(visible=False)
    for row, column in np.ndindex(values.shape):
        value = values[row, column]
        share = value / highest if highest and value > 0 else 0
        # Never so dark that words cannot be read on it.
        tint = matplotlib.colormaps["Blues"](0.05 + 0.4 * share)
        place = (column - 0.5, row - 0.5)
        shape = {"facecolor": "#F4F4F4" if np.isnan(value) else tint, "edgecolor": "white", "linewidth": 1.5}
        panel.add_patch(Rectangle(place, 1, 1, **shape))
        first, *further = words[row][column]
        lines = [(first, {"size": 9, "weight": "bold"}), *((line, {"size": 7}) for line in further)]
        for number, (line, style) in enumerate(lines):
            at = row + 0.19 * (number - (len(lines) - 1) / 2)
            panel.text(column, at, line, ha="center", va="center", **style)
    panel.set_xlim(-0.5, len(names) - 0.5)
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.set_xticks(range(len(names)), names)
    panel.set_yticks(range(len(names)), names)
    panel.spines[:].set_visible(False)
    panel.set_title(title)


def courses(panel: Axes, rows: pd.DataFrame, title: str) -> None:
    """Relative differences in per cent against the `epoch`, a line for each `place`; none where they are exactly 0."""
    if rows.empty:
        panel.set_axis_off()
        return
    panel.set_yscale("log")
    for place, tint in cycle(unique(rows["place"])).items():
        mine = rows[rows["place"] == place]
        apart = 100 * mine["value"].where(mine["value"] > 0)
        panel.plot(mine["epoch"], apart, color=tint, linewidth=1.2, marker="o", markersize=3, label=place)
    panel.autoscale(axis="y")
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    panel.set_xlabel("epoch")
    panel.set_ylabel("%")
    panel.set_title(title)
    panel.legend(fontsize=7, loc="lower right")


def expected(panel: Axes, rows: pd.DataFrame) -> None:
    """Behind the bars of each `place`, in the same order: the values expected, as a line on a band of their range."""
    panel.set_ylim(0, max(panel.get_ylim()[1], 1.1 * rows["value"].max()))
    top = panel.get_ylim()[1]
    for x, (low, value, high) in enumerate(zip(rows["ci_low"], rows["value"], rows["ci_high"], strict=True)):
        if not np.isnan(low):
            panel.fill_between([x - 0.46, x + 0.46], low, min(high, top), color="#DDDDDD", linewidth=0, zorder=1)
        panel.plot([x - 0.46, x + 0.46], [value, value], color=INK, linewidth=1.2, linestyle=(0, (3, 1.5)), zorder=2.8)


def noise_rows(
    table: pd.DataFrame, paths: str | Sequence[str], hardware: Sequence[str], tasks: Sequence[Sequence[str]]
) -> pd.DataFrame:
    """The rows of the three measures of noise, and of `SD_NULL`."""
    return pd.concat([select(table, paths, metric, hardware, tasks) for metric in (*NOISE, SD_NULL)])


def noise(panels: Sequence[Axes], rows: pd.DataFrame, label: str) -> None:
    """The three measures of noise side by side, for what `label` names; the SD with its `SD_NULL`, if that is there."""
    nulls = rows[rows["metric"] == SD_NULL].set_index(["place", "variant"])["value"].to_dict()
    for panel, metric in zip(panels, NOISE, strict=True):
        beside = nulls if metric == "accuracy_sd" else None
        bars(panel, rows[rows["metric"] == metric], f"{MEASURES[metric].name}\n{label}", nulls=beside)


def lines(panel: Axes, rows: pd.DataFrame, label: str, falls: bool = False) -> None:
    """One metric with intervals against the number of `members`: a line a variant, side by side at each number.

    Where it `falls`, a dashed line shows the first value over the square root of the number. Accuracy does not start at
    zero: its axis has room for the values and, at either end, for twice their span.
    """
    measure = MEASURES[rows["metric"].iloc[0]]
    variants = unique(rows["variant"])
    if rows["metric"].iloc[0] == "accuracy_mean":
        least, most = measure.scale * rows["value"].min(), measure.scale * rows["value"].max()
        room = max(2 * (most - least), 0.1)
        bottom = max(least - room, measure.scale * rows[["value", "ci_low"]].min().min())
        top = min(most + room, measure.scale * rows[["value", "ci_high"]].max().max())
        edge = 0.05 * (top - bottom) or 0.1
        low, high = panel.get_ylim()  # of panels above, which share the axis
        ends = (bottom - edge, top + edge) if high <= _FLAT else (min(low, bottom - edge), max(high, top + edge))
        panel.set_ylim(*ends)
    else:
        bottom, top = -np.inf, head_room(panel, rows)
    slot = 0.8 / max(len(variants), 8)
    for place, variant in enumerate(variants):
        mine, tint = rows[rows["variant"] == variant], colour(variant)
        at = mine["members"] + slot * (place - (len(variants) - 1) / 2)
        if falls:
            less = mine["value"].iloc[0] / np.sqrt(mine["members"])
            panel.plot(at, measure.scale * less, color=tint, linewidth=1, linestyle="--", zorder=3.4)
        panel.plot(at, measure.scale * mine["value"], color=tint, linewidth=1.2, marker="o", markersize=3.5, zorder=3.5)
        for x, low, high in zip(at, measure.scale * mine["ci_low"], measure.scale * mine["ci_high"], strict=True):
            interval(panel, x, low, high, top, bottom)
    panel.set_ylabel(measure.unit)
    panel.set_title(f"{measure.name}\n{label}")


def head_room(panel: Axes, rows: pd.DataFrame) -> float:
    """Make room for the values and, up to four times the largest, their intervals; return where those end.

    Two runs have an SD interval up to 32 times the SD: shown whole, it would flatten everything else.
    """
    scale = MEASURES[rows["metric"].iloc[0]].scale
    highest = scale * rows[["value", "ci_high"]].max().max()
    top = min(highest, 4 * scale * rows["value"].max()) if highest > 0 else 1.0
    panel.set_ylim(0, max(1.1 * top, panel.get_ylim()[1]))
    return top


def interval(panel: Axes, x: float, low: float, high: float, top: float, bottom: float = -np.inf) -> None:
    """Draw an interval as a thin line with caps; one that goes on above `top` or below `bottom` ends in an arrow."""
    if low == high == 0 or np.isnan(low):
        return
    for thick, tint in ((2.2, "white"), (1, INK)):  # a white rim, to be seen on dark bars
        line = {"color": tint, "zorder": 3}
        panel.plot([x, x], [max(low, bottom), min(high, top)], linewidth=thick, solid_capstyle="butt", **line)
        for end in (low, high):
            beyond = "^" if end > top else "v" if end < bottom else ""
            sign = {"marker": beyond or "_", "markersize": 4 if beyond else 5}
            panel.plot([x], [min(max(end, bottom), top)], markeredgewidth=thick, linestyle="none", **sign, **line)


def mark(panel: Axes, x: float, value: float) -> None:
    """Write "0" over an exact zero and "n/a" over an undefined value, so that no place is just empty."""
    if value == 0 or np.isnan(value):
        write(panel, x, 0, *(("0", 0) if value == 0 else ("n/a", 90)))


def write(panel: Axes, x: float, y: float, text: str, turned: float = 0) -> None:
    """Write a short text over a point."""
    at = {"textcoords": "offset points", "ha": "center", "va": "bottom", "rotation": turned}
    panel.annotate(text, (x, y), (0, 3), size=7, color=SOFT, **at)


def runs_note(rows: pd.DataFrame) -> str:
    """How many runs the rows rest on, which variants have others, and how many are missing."""
    cell = [name for name in ("model", "dataset", "hardware", "other_hardware", "variant") if name in rows]
    cells = rows.drop_duplicates(cell)
    counts = {variant: _spread(mine) for variant, mine in cells.groupby("variant", sort=False)["n_runs"]}
    usual = counts.popitem()[1] if len(set(counts.values())) == 1 else _spread(cells["n_runs"].mode().iloc[-1:])
    others = [f"{variant_name(variant)}: {count}" for variant, count in counts.items() if count != usual]
    missing = int(cells["n_missing"].sum())
    planned = missing + int(cells["n_runs"].sum())
    note = f"Runs: {usual} each" + (f" ({', '.join(others)})" if others else "")
    return f"{note}; {missing or 'none'} of {planned} missing."


def _spread(counts: pd.Series) -> str:
    return " to ".join(str(count) for count in sorted({counts.min(), counts.max()}))


def steps_note(rows: pd.DataFrame) -> str:
    """What was timed, of rows of a metric file of steps: on which images, for how long, and what a kernel is."""
    notes = []
    for batch, size, steps in rows[["batch_size", "image_size", "steps"]].drop_duplicates().itertuples(index=False):
        notes.append(f"{steps} training steps a run, each on {batch} images of {size} x {size} pixels.")
    if "cpu" in set(rows["accelerator"]):
        notes.append("On a CPU, kernels are TensorFlow's operators, by type.")
    return " ".join(notes)


def marks_note(figure: Figure, rows: pd.DataFrame) -> str:
    """What the lines and marks in the figure mean; only those that occur."""
    texts = {text.get_text() for panel in figure.axes for text in panel.texts}
    markers = {line.get_marker() for panel in figure.axes for line in panel.lines}
    bare = rows["value"].notna() & rows["ci_low"].isna() & (rows.get("metric", "") != SD_NULL)
    notes = {
        "Thin lines: 95 % intervals.": True,
        "No line: no interval from these runs.": bare.any(),
        "Arrow: the interval goes on.": not markers.isdisjoint("^v"),
        "0: exactly zero.": "0" in texts,
        "n/a: undefined, by too few runs or an SD of 0 to divide by.": "n/a" in texts,
    }
    return " ".join(note for note, occurs in notes.items() if occurs)


def finish(
    figure: Figure,
    title: str,
    rows: pd.DataFrame,
    emulated: Sequence[str],
    how: str,
    keys: Sequence[str] | None = None,
    palette: Mapping[str, str] = PALETTE,
) -> None:
    """Put title and legend above the panels and notes below, in bands of their own, so that nothing overlaps.

    `rows` are all those shown; `how` says how the values were made from runs. The legend has the variants of `keys`, or
    all.
    """
    variants = unique(rows["variant"]) if keys is None else keys
    notes = [f"{how} {marks_note(figure, rows)}", runs_note(rows)]
    if set(emulated) & set(rows["hardware"]):
        notes.append(EMULATED)
    patches = [Patch(facecolor=colour(name, palette), label=variant_name(name)) for name in variants]
    frame(figure, title, notes, patches)


def frame(figure: Figure, title: str, notes: Sequence[str], keys: Sequence[Patch] = ()) -> None:
    """Put a title and a legend of `keys` above the panels and notes below, in bands of their own."""
    wide, high = figure.get_size_inches()
    lines = [line for note in notes for line in textwrap.wrap(note, int(20 * wide - 4))]
    columns = max(1, min(len(keys), int(wide // 1.15)))
    top = 0.42 + 0.22 * -(-len(keys) // columns)
    bottom = 0.2 + 0.145 * len(lines)
    tall = high + top + bottom
    figure.set_size_inches(wide, tall)
    figure.get_layout_engine().set(rect=(0, bottom / tall, 1, 1 - (top + bottom) / tall))
    left = 0.1 / wide
    figure.text(left, 1 - 0.1 / tall, title, ha="left", va="top", size=11, weight="bold")
    small = {"ha": "left", "va": "bottom", "size": 7, "linespacing": 1.4, "color": SOFT}
    figure.text(left, 0.09 / tall, "\n".join(lines), **small)
    place = {"loc": "upper left", "bbox_to_anchor": (left, 1 - 0.38 / tall), "borderaxespad": 0}
    shape = {"ncols": columns, "handlelength": 1.1, "handleheight": 0.9, "columnspacing": 1.5}
    if keys:
        figure.legend(handles=keys, borderpad=0, **place, **shape)


def save(figure: Figure, stem: str) -> None:
    """Write stem.pdf, stem.svg and stem.png; the same figure gives the same bytes."""
    for suffix in FORMATS:
        save_as(figure, f"{stem}.{suffix}")


def save_as(figure: Figure, path: str) -> None:
    """Write one file, in the format of its suffix."""
    suffix = path.rpartition(".")[2]
    with matplotlib.rc_context(STYLE):
        if figure.get_layout_engine() is not None:
            figure.draw_without_rendering()  # laid out once, so that all formats agree
            figure.set_layout_engine("none")
        with replacing(path) as scratch:
            figure.savefig(scratch, format=suffix, dpi=200, metadata=FORMATS[suffix])
