"""Describes in words what varies between the runs of a cell and how much it changes, for `summary` and the page."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from toolnoise.formulas.equal_runs import BIT_EQUAL
from toolnoise.formulas.outcomes import ALL
from toolnoise.study.cells import Cell

# What varies in each variant; other variants are shown by name.
VARIES = {
    "control": "everything fixed (Control)",
    "impl": "the implementation alone (IMPL)",
    "bit": "one bit of one weight (bit)",
    "data": "the examples trained on (data)",
    "init": "the initial weights (init)",
    "shuffle": "the order of the data (shuffle)",
    "augment": "the augmentation (augment)",
    "dropout": "the dropout masks (dropout)",
    "algo": "a new seed (ALGO)",
    "algo_impl": "a new seed and the implementation",
}
CONTROL = "control"
# The share of answers that change, or the measure in its place if a program outputs numbers.
CHURN, APART = "churn", "mean_absolute_difference"
DRAWS = "n_draws"


class Row(NamedTuple):
    """A measure of a cell, with its interval and the numbers of runs, of diverged runs, and of draws.

    If `bit_equal`, the runs are equal bit by bit, so they have no interval.
    """

    value: float
    low: float
    high: float
    runs: int
    missing: int = 0
    draws: int = 1
    bit_equal: bool = False

    @property
    def repeated(self) -> bool:
        """Whether there are several draws with several runs: then draws are the units of an interval."""
        return 1 < self.draws < self.runs

    @property
    def pairs(self) -> int:
        """The number of pairs that are compared; if there are several draws with several runs, pairs within draws."""
        draws = self.draws if self.repeated else 1
        return draws * (self.runs // draws) * (self.runs // draws - 1) // 2


UNKNOWN = Row(math.nan, math.nan, math.nan, 0)
Rows = Mapping[str, Row]


def rows_by_cell(stability: pd.DataFrame) -> dict[Cell, dict[str, Row]]:
    """The measures of each cell over all examples, by their names."""
    rows: dict[Cell, dict[str, Row]] = {}
    for names, of_cell in stability[stability["group"] == ALL].groupby(list(Cell._fields), sort=False):
        values = dict(zip(of_cell["metric"], of_cell["value"], strict=True))
        of_all = max(1, int(values.get(DRAWS, 1))), values.get(BIT_EQUAL) == 1
        rows[Cell(*names)] = {
            row.metric: Row(row.value, row.ci_low, row.ci_high, int(row.n_runs), int(row.n_missing), *of_all)
            for row in of_cell.itertuples(index=False)
        }
    return rows


def by_variant(cells: Collection[Cell]) -> dict[str, list[Cell]]:
    """The cells of each variant; the variants that vary least come first."""
    order = [*VARIES, *dict.fromkeys(cell.variant for cell in cells if cell.variant not in VARIES)]
    found = {variant: [cell for cell in cells if cell.variant == variant] for variant in order}
    return {variant: of_variant for variant, of_variant in found.items() if of_variant}


def measure_of_spread(rows: Rows) -> str:
    """The name of the measure of a cell's spread; for a program that outputs metrics, the SD of its first metric."""
    return next((name for name in (CHURN, APART, *(name for name in rows if name.endswith("_sd"))) if name in rows), "")


def changes_text(changed: Sequence[Row], *, shares: bool) -> str:
    """The amount of change, in words: a value with its interval, or the range over tasks."""
    if all(row.bit_equal for row in changed):
        pairs = sum(row.pairs for row in changed)
        return f"nothing: {pairs} of {pairs} pairs bit-equal"
    scale, unit = (100, " %") if shares else (1, "")
    known = [[scale * number for number in row[:3]] for row in changed if not math.isnan(row.value)]
    if not known:
        return "one run: not known"
    found = f"{extent_text([value for value, *_ in known])}{unit}"
    if len(known) > 1:
        return f"{found} in {len(known)} tasks"
    (_, *interval), *_ = known
    return f"{found} ({extent_text(interval)})" if interval[0] < interval[1] else found


def nothing_text(verdicts: Sequence[bool | None]) -> str:
    """The change if everything is fixed, in words, from the verdicts on cells; None for a cell with a single run."""
    checked = [verdict for verdict in verdicts if verdict is not None]
    if not checked:
        return "one run: not checked"
    if all(checked):
        return "nothing: bit-equal" + (f" in {len(checked)} of {len(checked)} tasks" if len(checked) > 1 else "")
    return "runs differ" + (f" in {checked.count(False)} of {len(checked)} tasks" if len(checked) > 1 else "")


def extent_text(values: Sequence[float]) -> str:
    """A value, or the smallest and the largest of several."""
    known = [value for value in values if not math.isnan(value)]
    ends = (min(known), max(known)) if known else ()
    return " to ".join(dict.fromkeys(f"{end:#.3g}".rstrip(".") if end else "0" for end in ends)) or "n/a"
