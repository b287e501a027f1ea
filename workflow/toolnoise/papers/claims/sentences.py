"""Verdicts in words: a few for a figure or a table, a sentence for a summary."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from toolnoise.papers.claims.judging import CERTAIN, OPEN, ORDER, PUBLISHED, STUDY, WHOLE
from toolnoise.study.entries import dataset_name

BEFORE = ("ratio", "exponent", "value")  # scales that are named before the number; others are units after it


def verdict(row: Any) -> str:
    """A verdict with what it speaks of, and with the number of units that would be needed."""
    words = row.verdict if not row.emulated else f"{row.verdict}, {row.emulated}"
    return f"{words} ({needed(row)})" if row.verdict == OPEN and needed(row) else words


def needed(row: Any) -> str:
    """About how many units per arm would be needed for which verdict, if that is known."""
    if not row.needed_to:
        return ""
    return f"{'n > 1000' if math.isinf(row.n_needed) else f'n ≈ {row.n_needed:.0f}'} to {row.needed_to}"


def counts(verdicts: pd.DataFrame) -> dict[str, int]:
    """How many claims as a whole have each verdict, in the order of verdicts; what cannot fail is no verdict."""
    by_name = verdicts["verdict"].value_counts()
    return {name: int(by_name[name]) for name in ORDER if name in by_name and name != CERTAIN}


def paragraphs(verdicts: pd.DataFrame) -> Iterator[str]:
    """The verdicts of a study, as a heading for each paper and two lines for each claim."""
    whole = verdicts[verdicts["part"] == WHOLE]
    here = whole[whole["side"] == STUDY].set_index("claim")
    published = whole[whole["side"] == PUBLISHED].set_index("claim")
    for paper, rows in here.groupby("paper", sort=False):
        certain = int((rows["verdict"] == CERTAIN).sum())
        apart = f" (and {certain} that cannot fail)" if certain else ""
        yield f"{paper}: {', '.join(f'{count} {name}' for name, count in counts(rows).items()) or 'none judged'}{apart}"
        for row in rows.sort_values("verdict", key=lambda names: names.map(ORDER.index), kind="stable").itertuples():
            yield f"  {row.says} ({row.source})."
            yield f"    {sentence(row)} Published: {sentence(published.loc[row.Index], short=True)}"


def sentence(row: Any, *, short: bool = False) -> str:
    """A verdict as a sentence, with its effect, its units and its toolings."""
    words = row.verdict.capitalize()
    if not short and row.emulated:
        words += f", {row.emulated}"
    if not math.isnan(row.value):
        words += f": {effect(row)}"
        if not math.isnan(row.adjusted):
            words += f", {claimed(row)}, adjusted p {pvalue(row.adjusted)}"
        if row.n_units:
            words += f", {row.n_units} independent runs per arm"
    if row.verdict == OPEN and row.needed_to:
        number = "more than 1000" if math.isinf(row.n_needed) else f"about {row.n_needed:.0f}"
        words += f"; {number} would be needed to {row.needed_to} it"
    if short:
        return f"{words}."
    if row.hardware:
        words += f"; on {row.hardware}"
    return f"{words}{f' ({row.note})' if row.note else ''}."


def on_synthetic(row: Any, synthetic: Sequence[str]) -> bool:
    """Whether a verdict rests on one of these synthetic data sets: its note says so."""
    return any(dataset_name(dataset, synthetic) in row.note for dataset in synthetic)


def effect(row: Any) -> str:
    """An effect with its scale and the interval that decides, which is that of its adjusted p-value."""
    interval = "" if math.isnan(row.decides_low) else f" ({row.decides_low:.3g} to {row.decides_high:.3g})"
    if row.scale in BEFORE:
        return f"{row.scale} {row.value:.3g}{interval}"
    return f"{row.value:.3g} {row.scale}{interval}"


def claimed(row: Any) -> str:
    """The values that a claim allows."""
    if row.test == "equivalence":
        return f"claimed {row.claimed_low:.3g} to {row.claimed_high:.3g}"
    if math.isinf(row.claimed_high):
        return f"claimed above {row.claimed_low:.3g}"
    return f"claimed below {row.claimed_high:.3g}"


def pvalue(value: float) -> str:
    """A p-value with three decimals."""
    return "< 0.001" if value < 0.0005 else f"{value:.3f}"
