"""Verdicts in words: a few for a figure, a sentence for a summary."""

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd

from toolnoise.claims.judging import OPEN, PUBLISHED, STUDY, WHOLE

EFFECTS = {"level": "value", "trend": "exponent", "presence": "value"}


def verdict(row: Any) -> str:
    """A verdict with the number of runs that would be needed."""
    if row.verdict != OPEN:
        return row.verdict
    if math.isinf(row.n_needed):
        return f"{OPEN} (n > a million)"
    return f"{OPEN} (n = {row.n_needed:.0f})" if row.n_needed > 0 else OPEN


def paragraphs(verdicts: pd.DataFrame) -> Iterator[str]:
    """The verdicts of a study, as a heading for each paper and two lines for each claim."""
    whole = verdicts[verdicts["part"] == WHOLE]
    here = whole[whole["side"] == STUDY].set_index("claim")
    published = whole[whole["side"] == PUBLISHED].set_index("claim")
    for paper, mine in here.groupby("paper", sort=False):
        counts = mine["verdict"].value_counts(sort=False)
        yield f"{paper}: {', '.join(f'{count} {name}' for name, count in counts.items())}"
        for row in mine.itertuples():
            yield f"  {row.says}."
            yield f"    {sentence(row)} Published: {sentence(published.loc[row.Index], short=True)}"


def sentence(row: Any, *, short: bool = False) -> str:
    """A verdict as a sentence, with its effect, its runs and its toolings."""
    words = row.verdict.capitalize()
    if not math.isnan(row.value):
        words += f": {EFFECTS.get(row.test, 'ratio')} {row.value:.3g}"
        if not math.isnan(row.ci_low):
            words += f" ({row.ci_low:.3g} to {row.ci_high:.3g})"
        if row.n_units > 0:
            words += f", {row.n_units} independent runs per arm"
    if row.verdict == OPEN and row.n_needed > 0:
        needed = "more than a million" if math.isinf(row.n_needed) else f"about {row.n_needed:.0f}"
        words += f"; {needed} would be needed"
    if short:
        return f"{words}."
    if row.hardware:
        words += f"; on {row.hardware}"
    return f"{words}{f' ({row.note})' if row.note else ''}."
