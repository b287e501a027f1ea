"""Notes below the figures: in every one the number of runs and of missing runs, and what its lines and marks mean."""

import pandas as pd
from matplotlib.figure import Figure

from toolnoise.base.metric_files import CELL
from toolnoise.figures.selection import SD_ALONE, SD_NULL
from toolnoise.figures.style import FAR, variant_name
from toolnoise.study.variants import has_draws, variant

HOW = (
    "SD: sample SD over runs, and what it would be if examples erred independently, as often as they do; for an "
    "infinite test set it is 0 where the estimated variance is negative. Churn and L2: mean over pairs of runs. A run: "
    "how far its accuracy is from the mean of the runs with its draws, and its mean churn with them."
)
RANGE = "Normalised churn: 0 is the least and 100 % the most that the errors of the two runs allow."


def draws_note(rows: pd.DataFrame) -> str:
    """Of how many draws of what they fix the variants' values speak; nothing if no variant fixes a draw."""
    notes: dict[str, list[str]] = {}
    counted = rows.dropna(subset=["n_draws"]).drop_duplicates(list(CELL))
    for name, cells in counted.groupby("variant", sort=False):
        if not has_draws(variant(name)):
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


def steps_note(rows: pd.DataFrame, kernels: bool = True) -> str:
    """The conditions of timed steps, from rows of their metric file: images, steps, and the meaning of a kernel."""
    notes = []
    for batch, size, steps in rows[["batch_size", "image_size", "steps"]].drop_duplicates().itertuples(index=False):
        notes.append(f"{steps} training steps a run, each on {batch} synthetic images of {size} x {size} pixels.")
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
