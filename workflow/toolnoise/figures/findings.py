"""What a figure found, in a sentence: its title. Where the rows decide nothing, the title is the question.

A sentence says only what holds for every cell shown. An estimate stands with its 95 % interval, worded by `said`, and
two quantities are compared by their ratio, never by whether their intervals overlap.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from toolnoise.study.published import VARIANTS

# The variants in which all sources, or all of the algorithm, vary.
EVERY = (*VARIANTS["algo_impl"], *VARIANTS["algo"])
MOST = 3  # so many estimates are said one by one


def number(value: float) -> str:
    """A number with two digits that count, or as many as stand before the point."""
    if value == 0:
        return "0"
    return f"{value:#.2g}" if abs(value) < 9.95 else f"{value:.0f}"


def ratio(value: float) -> str:
    """A ratio with two digits behind the point, by which 1.05 is not 1.0, or with two digits that count."""
    return f"{value:.2f}" if 0.0995 <= value < 9.95 else number(value)


def percent(value: float) -> str:
    """A share in per cent."""
    return number(100 * value)


def change(value: float) -> str:
    """A ratio as a change in per cent: 1.41 is +41."""
    return f"{100 * (value - 1):+#.2g}" if abs(value - 1) < 0.0995 else f"{100 * (value - 1):+.0f}"


def listed(parts: Sequence[str]) -> str:
    """Some things in a sentence: a, b and c."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def said(row: pd.Series, worded: Callable[[float], str], unit: str = "") -> str:
    """An estimate with its interval, such as 0.63 (0.47 to 0.83). Every estimate of a title is worded here."""
    value, low, high = row["value"], row["ci_low"], row["ci_high"]
    interval = f" ({worded(low)} to {worded(high)})" if low < high else ""
    return f"{worded(value)}{unit}{interval}" + (" (no interval)" if np.isnan(low) and value != 0 else "")


def each(rows: pd.DataFrame, worded: Callable[[float], str], unit: str = "") -> str:
    """Some estimates one by one, or, of many, the smallest and the largest."""
    if len(rows) <= MOST:
        return listed([said(row, worded, unit) for _, row in rows.iterrows()])
    ends = dict.fromkeys(worded(end) for end in (rows["value"].min(), rows["value"].max()))
    return f"{' to '.join(ends)}{unit}"


def share(rows: pd.DataFrame) -> str:
    """How many answers differ: some shares in per cent."""
    return "no answers" if rows["value"].max() == 0 else f"{each(rows, percent, ' %')} of answers"


def decided(ratios: pd.DataFrame) -> pd.DataFrame:
    """The ratios whose interval leaves 1 out."""
    return ratios[(ratios["ci_low"] > 1) | (ratios["ci_high"] < 1)]


def times(ratios: pd.DataFrame, than: str) -> str:
    """Some ratios to `than`, one by one, or how many of them are below and above 1."""
    if len(ratios) <= MOST:
        return f"{each(ratios, ratio)} times {than}"
    firm = decided(ratios)["value"]
    counts = f"less than {than} in {(firm < 1).sum()} of {len(ratios)} tasks, more in {(firm > 1).sum()}"
    return counts + (f", undecided in {len(ratios) - len(firm)}" if len(firm) < len(ratios) else "")


def churn(rows: pd.DataFrame, *variants: str) -> pd.DataFrame:
    """Churn under the first of these variants that has any; under the authors' own ALGO where there is no other."""
    known = rows[(rows["metric"] == "churn") & rows["value"].notna()]
    names = (name for variant in variants for name in VARIANTS.get(variant, (variant,)))
    return next((chosen for name in names if len(chosen := known[known["variant"] == name])), known[:0])


def of_noise(rows: pd.DataFrame, ratios: pd.DataFrame, emulated: bool = False) -> str:
    """How many answers the implementation changes alone, and how many times the churn of all sources that is."""
    alone, whole = churn(rows, "impl"), churn(rows, "algo_impl", "algo")
    if alone.empty and whole.empty:
        fixed = churn(rows, "control")["value"]
        if len(fixed) and fixed.max() == 0:
            return "With every source fixed, runs give the same answers"
        return "How far do runs of one training end apart?"
    if alone.empty:
        return f"Two runs of one training differ in {share(whole)}"
    says = f"{'Emulated implementation noise' if emulated else 'The implementation'} alone changes {share(alone)}"
    if whole.empty:
        return says
    every = "all sources" if whole["variant"].iloc[0] in VARIANTS["algo_impl"] else "a new seed"
    if every == "all sources" and rows["variant"].str.split("+").map(lambda sources: "data" in sources).any():
        every = "ALGO+IMPL"  # which leaves the data as they are
    over = churn(ratios[ratios["over_variant"] == whole["variant"].iloc[0]], "impl")
    if alone["value"].max() == 0 or over["ci_low"].isna().all():
        return f"{says}, {every} {share(whole).removesuffix(' of answers')}"
    return f"{says}: {times(over, f'the churn of {every}')}"
