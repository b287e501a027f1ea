"""The findings of a study in sentences: how much each source of noise changes, from the study's own metric file."""

import math
from collections.abc import Iterator, Mapping, Sequence

from toolnoise.base import metric_files
from toolnoise.formulas.stability import STABILITY
from toolnoise.study.cells import Cell

# A sentence's subject by the variant.
SUBJECTS = {
    "algo_impl": "Training again with everything free (ALGO+IMPL)",
    "algo": "Drawing anew what the algorithm draws (ALGO)",
    "impl": "The implementation alone (IMPL)",
    "init": "Drawing the initial weights anew (init)",
    "shuffle": "Ordering the data anew (shuffle)",
    "augment": "Drawing the augmentation anew (augment)",
    "dropout": "Drawing the dropout masks anew (dropout)",
    "bit": "Changing one bit of one weight (bit)",
}
CONTROL = "control"

UNKNOWN = (math.nan,)
# The rows of a cell over all examples, by metric.
Rows = Mapping[str, tuple[float, float, float, int, int]]


def cells(stability: str) -> dict[Cell, Rows]:
    """The measures of every cell over all examples."""
    table = metric_files.read(stability, STABILITY)
    return {
        Cell(*cell): {
            row.metric: (row.value, row.ci_low, row.ci_high, row.n_runs, row.n_missing) for row in rows.itertuples()
        }
        for cell, rows in table[table["group"] == "all"].groupby(list(Cell._fields), sort=False)
    }


def sentences(
    rows_by_cell: Mapping[Cell, Rows], bit_equal: Mapping[Cell, bool | None], emulated: Sequence[str]
) -> Iterator[dict[str, object]]:
    """One sentence per variant and kind of measure, each with the cell that its numbers come from."""
    by_variant: dict[tuple[str, str], list[Cell]] = {}
    for cell, rows in rows_by_cell.items():
        # Errors and losses have sentences of their own: by a cell's first measure.
        by_variant.setdefault((cell.variant, "" if cell.variant == CONTROL else next(iter(rows))), []).append(cell)
    for (variant, _), of_variant in by_variant.items():
        says = _nothing(of_variant, bit_equal) if variant == CONTROL else _changes(of_variant, rows_by_cell, emulated)
        yield {"variant": variant, "cell": list(of_variant[0]), "says": says}


def _changes(of_variant: Sequence[Cell], rows_by_cell: Mapping[Cell, Rows], emulated: Sequence[str]) -> str:
    first = of_variant[0]
    subject = SUBJECTS.get(first.variant, f"Training again with {first.variant} free")
    if first.hardware in emulated and "impl" in first.variant:
        subject = f"{subject.removesuffix(')')}, emulated)"
    rows = rows_by_cell[first]
    if "churn" not in rows:
        return _spreads(subject, first, rows)
    churn, sd = rows["churn"], rows.get("accuracy_sd", UNKNOWN)
    runs = f"{churn[3]} run{'' if churn[3] == 1 else 's'}" + (f", {churn[4]} diverged" if churn[4] else "")
    where = f"{first.model} on {first.dataset}, {first.hardware}"
    if math.isnan(churn[0]):
        return f"{subject}: too few runs to say what it changes ({where}; {runs})."
    changed = f"changes {_percent(churn[0])} % of predictions{_interval(churn)}"
    spread = "" if math.isnan(sd[0]) else f" and spreads accuracy by an SD of {_percent(sd[0])} points{_interval(sd)}"
    churns = (rows_by_cell[cell].get("churn", UNKNOWN)[0] for cell in of_variant)
    others = [share for share in churns if not math.isnan(share)]
    # A range is no interval: it says what the other cells of the variant show.
    over = (
        f" Churn over all {len(others)} such cells: {_percent(min(others))} to {_percent(max(others))} %."
        if others[1:]
        else ""
    )
    return f"{subject} {changed}{spread}: {where}, {runs}.{over}"


def _spreads(subject: str, cell: Cell, rows: Rows) -> str:
    """Of a training program that leaves no classes: how far its numbers lie apart."""
    named = [name for name in ("mean_absolute_difference", *rows) if name in rows and not name.startswith("l2_")]
    # Where nothing else is known: how far the weights lie apart.
    names = named or list(rows)
    name = next((name for name in names if name == "mean_absolute_difference" or name.endswith("_sd")), names[0])
    value, low, high, count, _ = rows[name]
    words = name.replace("_", " ")
    over = "" if math.isnan(low) else f" ({low:.3g} to {high:.3g})"
    return f"{subject}: {words} {value:.3g}{over}: {cell.model} on {cell.dataset}, {cell.hardware}, {count} runs."


def _nothing(of_variant: Sequence[Cell], bit_equal: Mapping[Cell, bool | None]) -> str:
    checked = [cell for cell in of_variant if bit_equal.get(cell) is not None]
    equal = sum(bool(bit_equal[cell]) for cell in checked)
    if not checked:
        return "Under Control, nothing was checked: no cell has two runs."
    if equal == len(checked):
        every = f"the runs of all {equal} cells are" if equal > 1 else "all runs are"
        return f"Under Control, nothing changes: {every} bit-equal."
    return f"Under Control, runs differ in {len(checked) - equal} of {len(checked)} cells."


def _interval(row: tuple[float, float, float, int, int]) -> str:
    return "" if math.isnan(row[1]) else f" ({_percent(row[1])} to {_percent(row[2])})"


def _percent(share: float) -> str:
    """Hundredths of a per cent; what that would round to zero has an exponent, and a plain 0 is exact."""
    text = f"{100 * share:.2f}"
    return "0" if share == 0 else text if float(text) else f"{100 * share:.1e}".replace("e-0", "e-")
