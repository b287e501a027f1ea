"""Shared parts of the figures: wording, colours, the places of panels, notes, and files with fixed bytes.

The same rows give the same bytes (PDF, SVG and PNG). Every figure states its number of runs, its number of missing runs
and the kind of its intervals. Colours are the Okabe-Ito palette, which stays distinguishable under every common colour
blindness. Control, the absence of noise, is grey.
"""

import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import matplotlib
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from toolnoise.base.errors import BadInput
from toolnoise.base.files import replacing
from toolnoise.base.metric_files import CELL, part_of
from toolnoise.study.variants import has_draws, variant


class Measure(NamedTuple):
    """The display of a metric: its name, its unit, and the factor from the file's unit to this one."""

    name: str
    unit: str
    scale: float


MEASURES = {
    "accuracy_mean": Measure("Mean test accuracy", "% of test examples", 100),
    "accuracy_sd": Measure("SD of test accuracy", "percentage points", 100),
    "churn": Measure("Churn", "% of test examples", 100),
    "churn_normalised": Measure("Normalised churn", "% of what errors allow", 100),
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
# The same with churn relative to what the errors of two runs allow, for models of unlike accuracy.
NOISE_AND_RANGE = ("accuracy_sd", "churn", "churn_normalised", "l2_unit")
PARTS = {"all": "over all examples", "class": "by class", "group": "by sub-group"}  # see metric_files.part_of
# Shown with the first of them.
SD_NULL = "accuracy_sd_independent_null"
SD_ALONE = "accuracy_sd_distribution"
HOW = (
    "SD: sample SD over runs, and what it would be if examples erred independently, as often as they do; for an "
    "infinite test set it is 0 where the estimated variance is negative. Churn and L2: mean over pairs of runs. A run: "
    "how far its accuracy is from the mean of the runs with its draws, and its mean churn with them."
)
RANGE = "Normalised churn: 0 is the least and 100 % the most that the errors of the two runs allow."

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
LATEST = "#C0A8FF"  # the colour that a bit tends to the later it is moved
# For names without a colour of their own, in order of appearance.
CYCLE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
GREY = "#BBBBBB"
FAR = "√2"  # the distance of unit-norm weights that have nothing in common
DAGGER = "†"
EMULATED = f"{DAGGER} implementation noise emulated: reduction order"

WIDEST = 16.5  # inches of a figure: its text can still be read on a page
PAGE = 7.0  # inches: the width of a page of a paper
FLAT = 1e-12  # the height of an axis that shows nothing yet
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
    "svg.hashsalt": "toolnoise",  # without it, element ids are random
}
FORMATS = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {}}  # no dates in the bytes


def variant_name(variant: str) -> str:
    """The variant as the paper writes it; single sources keep their own name."""
    return NAMES.get(variant, variant)


def colour(variant: str, palette: Mapping[str, str] = PALETTE) -> str:
    """The variant's colour, the same in every figure: the mean colour for combined sources, light grey if unknown."""
    if variant in palette:
        return palette[variant]
    parts = [_tint(part, palette) for part in variant.split("+")]
    return GREY if any(part is None for part in parts) else to_hex(np.mean(parts, axis=0)).upper()


def _tint(source: str, palette: Mapping[str, str]) -> np.ndarray | None:
    """The colour of a single source; a bit that is moved after N epochs (bit_N) is lighter the later it is moved."""
    name, _, epochs = source.partition("_")
    if name not in palette or (epochs and not epochs.isdigit()):
        return None
    late = min(np.log2(1 + int(epochs or 0)) / 8, 1)
    return (1 - late) * np.array(to_rgb(palette[name])) + late * np.array(to_rgb(LATEST))


def cycle(names: Sequence[str], tints: Sequence[str] = CYCLE) -> dict[str, str]:
    """Colours for names that have none of their own; grey once there are more names than colours."""
    return {name: tints[place] if place < len(tints) else GREY for place, name in enumerate(names)}


def tooling_name(hardware: str, emulated: Sequence[str]) -> str:
    """The tooling's name, with a dagger if its implementation noise is emulated."""
    return hardware + (DAGGER if hardware in emulated else "")


def framework_name(engine: str, version: str = "") -> str:
    """A framework's name in its makers' spelling, and its version."""
    return f"{FRAMEWORKS.get(engine, engine)} {version}".rstrip()


def select(
    table: pd.DataFrame,
    paths: str | Sequence[str],
    metric: str,
    hardware: Sequence[str],
    tasks: Sequence[Sequence[str]],
    part: str = "all",
) -> pd.DataFrame:
    """Rows of one metric for these toolings and tasks, of one of `PARTS`; each tooling must have some.

    `paths` are the files that the table was read from. The column `n_draws` has the number of algorithmic draws of each
    row's cell, NaN if the table does not say it.
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
    rows = table[wanted & table["hardware"].isin(hardware)]
    if "n_draws" in table:
        return rows
    drawn = table[table["metric"] == "n_draws"].set_index(list(CELL))["value"].rename("n_draws")
    return rows.join(drawn, on=list(CELL))


def named(paths: str | Sequence[str]) -> str:
    """The name of some files in an error message."""
    first, *more = [paths] if isinstance(paths, str) else paths
    return f"{first} and {len(more)} more" if more else first


def of_tasks(table: pd.DataFrame, tasks: Sequence[Sequence[str]]) -> pd.DataFrame:
    """Rows of some tasks, each a model and a data set."""
    return table[pd.MultiIndex.from_frame(table[["model", "dataset"]]).isin(list(map(tuple, tasks)))]


def _listed(names: pd.Series) -> str:
    return ", ".join(names.unique()) or "nothing"


def unique(names: pd.Series) -> list[str]:
    """The names in order of appearance, which is the order of the study."""
    return list(names.unique())


def grid(lines: int, widths: Sequence[float], height: float = 2.3, share: str = "col") -> tuple[Figure, np.ndarray]:
    """An empty figure of panels that start at zero, as [line][column]; a column (or row) shares its y axis.

    If a line would be wider than a page, its panels are placed below one another.
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
        panel.set_ylim(0, FLAT)
    return figure, axes


def mosaic(lines: Sequence[tuple[float, Sequence[float]]]) -> tuple[Figure, list[Axes]]:
    """An empty figure of lines of panels, each line with its height and its panels' widths; no two share an axis.

    If a line would be wider than a page, its panels are placed below one another.
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
        # The rest of the page beside a narrow line stays empty.
        spare = size[0] - sum(widths)
        ratios = [*widths, *([spare] if spare > 0.1 else [])]
        inner = place.subgridspec(1, len(ratios), width_ratios=ratios)
        panels += [figure.add_subplot(inner[number]) for number in range(len(widths))]
    for panel in panels:
        panel.set_ylim(0, FLAT)
    return figure, panels


def sheet(columns: int, high: float, wide: float, lines: int = 1) -> tuple[Figure, Sequence[Axes]]:
    """An empty figure of that size in inches with panels that are read along common lines, in the order of reading."""
    _restyle()
    figure = Figure(figsize=(wide, high * lines), layout="constrained")
    figure.get_layout_engine().set(h_pad=0.06, w_pad=0.05)
    return figure, list(figure.subplots(lines, columns, squeeze=False).flat)


def _restyle() -> None:
    matplotlib.rcdefaults()  # a user's own matplotlibrc must not change the bytes
    matplotlib.rcParams.update(sns.axes_style("whitegrid") | STYLE)


def noise_rows(
    table: pd.DataFrame,
    paths: str | Sequence[str],
    hardware: Sequence[str],
    tasks: Sequence[Sequence[str]],
    metrics: Sequence[str] = NOISE,
) -> pd.DataFrame:
    """The rows of some measures of noise, of `SD_NULL` and of `SD_ALONE`."""
    return pd.concat([select(table, paths, metric, hardware, tasks) for metric in (*metrics, SD_NULL, SD_ALONE)])


def draws_note(rows: pd.DataFrame) -> str:
    """Of how many draws of what they fix the variants' values speak; nothing if no variant fixes a draw."""
    notes: dict[str, list[str]] = {}
    counted = rows.dropna(subset=["n_draws"]).drop_duplicates(list(CELL))
    for name, cells in counted.groupby("variant", sort=False):
        if not has_draws(variant(name)):
            continue
        single, several = cells[cells["n_draws"] == 1], cells[cells["n_draws"] > 1]
        note = "given one draw of what is fixed"
        if len(several):
            tasks = dict.fromkeys(single["model"].str.cat(single["dataset"], " / "))
            note = f"{note} for {', '.join(tasks)}, else " if tasks else ""
            note += f"means over {_spread(several['n_draws'].astype(int))} draws of what is fixed"
        notes.setdefault(note, []).append(variant_name(name))
    return " ".join(f"{', '.join(names)}: {note}." for note, names in notes.items())


def runs_note(rows: pd.DataFrame) -> str:
    """The number of runs, the variants with another number, and the missing runs; then the same for pairs of runs."""
    across = rows["other_hardware"].notna() if "other_hardware" in rows else pd.Series(data=False, index=rows.index)
    parts = {"Runs": rows[~across], "Pairs of equal runs on two toolings": rows[across]}
    return " ".join(_counts_note(what, part) for what, part in parts.items() if len(part))


def _counts_note(what: str, rows: pd.DataFrame) -> str:
    cell = [name for name in ("model", "dataset", "hardware", "other_hardware", "variant") if name in rows]
    cells = rows.drop_duplicates(cell)
    counts = {variant: _spread(mine) for variant, mine in cells.groupby("variant", sort=False)["n_runs"]}
    usual = counts.popitem()[1] if len(set(counts.values())) == 1 else _spread(cells["n_runs"].mode().iloc[-1:])
    others = [f"{variant_name(variant)}: {count}" for variant, count in counts.items() if count != usual]
    missing = int(cells["n_missing"].sum())
    planned = missing + int(cells["n_runs"].sum())
    note = f"{what}: {usual} each" + (f" ({', '.join(others)})" if others else "")
    return f"{note}; {missing or 'none'} of {planned} missing."


def _spread(counts: pd.Series) -> str:
    return " to ".join(str(count) for count in sorted({counts.min(), counts.max()}))


def steps_note(rows: pd.DataFrame, kernels: bool = True) -> str:
    """The conditions of timed steps, from rows of their metric file: images, steps, and the meaning of a kernel."""
    notes = []
    for batch, size, steps in rows[["batch_size", "image_size", "steps"]].drop_duplicates().itertuples(index=False):
        notes.append(f"{steps} training steps a run, each on {batch} images of {size} x {size} pixels.")
    if kernels and "cpu" in set(rows["accelerator"]):
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


def finish(
    figure: Figure,
    title: str,
    rows: pd.DataFrame,
    emulated: Sequence[str],
    how: str,
    keys: Sequence[str] | None = None,
    palette: Mapping[str, str] = PALETTE,
    subtitle: str = "",
    marks: Sequence[Artist] = (),
) -> None:
    """Put title and legend above the panels and notes below, in bands of their own, so that nothing overlaps.

    The title is what was found, or the question; the subtitle says what is shown. `rows` are all rows shown. `how`
    describes how the values were made from runs. The legend has the variants of `keys`, or all variants, and `marks`.
    """
    variants = unique(rows["variant"]) if keys is None else keys
    notes = [f"{how} {marks_note(figure, rows)}", runs_note(rows)]
    notes += filter(None, [draws_note(rows) if "n_draws" in rows else ""])
    if set(emulated) & set(rows["hardware"]):
        notes.append(EMULATED)
    patches = [Patch(facecolor=colour(name, palette), label=variant_name(name)) for name in variants]
    frame(figure, title, notes, [*patches, *marks], subtitle)


def frame(figure: Figure, title: str, notes: Sequence[str], keys: Sequence[Artist] = (), subtitle: str = "") -> None:
    """Put a title, a subtitle and a legend of `keys` above the panels and notes below, in bands of their own."""
    wide, high = figure.get_size_inches()
    lines = [line for note in notes for line in textwrap.wrap(note, int(20 * wide - 4))]
    heading, below = _wrapped(title, 10.8 * wide), _wrapped(subtitle, 15.5 * wide)
    columns = _columns(keys, wide)
    above = 0.06 + 0.19 * len(heading) + 0.155 * len(below) + 0.05
    top = above + 0.12 + 0.165 * (-(-len(keys) // columns) if keys else 0)
    bottom = 0.15 + 0.139 * len(lines)
    tall = high + top + bottom
    figure.set_size_inches(wide, tall)
    figure.get_layout_engine().set(rect=(0.06 / wide, bottom / tall, 1 - 0.1 / wide, 1 - (top + bottom) / tall))
    left = 0.1 / wide
    first = {"ha": "left", "va": "top", "linespacing": 1.25}
    figure.text(left, 1 - 0.08 / tall, "\n".join(heading), size=10.5, weight="bold", **first)
    figure.text(left, 1 - (0.1 + 0.19 * len(heading)) / tall, "\n".join(below), size=8.5, color=SOFT, **first)
    small = {"ha": "left", "va": "bottom", "size": 7, "linespacing": 1.4, "color": SOFT}
    figure.text(left, 0.09 / tall, "\n".join(lines), **small)
    place = {"loc": "upper left", "bbox_to_anchor": (left, 1 - (above + 0.02) / tall), "borderaxespad": 0}
    shape = {"ncols": columns, "handlelength": 1.1, "handleheight": 0.9, "columnspacing": 1.5, "fontsize": 7.5}
    if keys:
        figure.legend(handles=keys, borderpad=0, **place, **shape)


def _wrapped(text: str, most: float) -> list[str]:
    """The lines of a text; a number and its per cent sign stay together."""
    return [line.replace("\u00a0", " ") for line in textwrap.wrap(text.replace(" %", "\u00a0%"), int(most))]


def _columns(keys: Sequence[Artist], wide: float) -> int:
    """As many entries of a legend beside one another as fit: a column is as wide as its longest label."""
    for columns in range(len(keys), 1, -1):
        # Matplotlib fills column by column.
        longest = [max(len(key.get_label()) for key in part) for part in np.array_split(np.array(keys), columns)]
        if sum(0.056 * size + 0.32 for size in longest) <= wide - 0.2:
            return columns
    return 1


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
            # Not "none", which would leave a placeholder: each format would be drawn three times.
            figure.set_layout_engine(None)
            for panel in figure.axes:
                # The layout's solver goes by addresses in memory, so its last digits differ from process to process.
                panel.set_position(np.round(panel.get_position(original=True).bounds, 6))
        with replacing(path) as scratch:
            figure.savefig(scratch, format=suffix, dpi=200, metadata=FORMATS[suffix])
