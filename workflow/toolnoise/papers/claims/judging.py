"""Verdicts on claims: on the numbers that the papers published, and on a study.

A claim is supported if its interval lies wholly on its side, and refuted if it lies wholly on the other, after Holm's
adjustment within its paper: its two-sided p-value, adjusted, is below 5 %. Otherwise it is undecided, and the number of
units per arm that would decide it is given: for 80 % power at the observed effect and the level of Holm's first step.
Claims that cannot be false are shown, but neither judged nor counted.
"""

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Implied, Inputs, Output, Values, Words
from toolnoise.base.metric_files import Columns
from toolnoise.papers.claims.arms import (
    EMULATED,
    Arms,
    Claim,
    Tables,
    Toolings,
    about_groups,
    is_emulated,
    of_published,
    of_study,
    sizes_by_null,
)
from toolnoise.papers.claims.effects import (
    PUBLISHED,
    STUDY,
    WHOLE,
    ShownEffect,
    Side,
    Sizes,
    examine_claim,
    units_needed,
)
from toolnoise.stats.contrasts import FEWEST
from toolnoise.stats.estimates import TOO_FEW, Estimate
from toolnoise.stats.significance import LEVEL, holm_pvalues
from toolnoise.study import published
from toolnoise.study.entries import dataset_name

# A row is about a claim as a whole (`part` is all), or about a part. `scale` has the unit of the values. `ci_low` and
# `ci_high` are the 95 % interval. `pvalue` is for the claim, `against` is against it; the smaller one is adjusted by
# Holm: that of a claim within its paper, that of a part within its claim. `decides_low` and `decides_high` are the
# wider interval that decides after the adjustment, the one of the adjusted p-value. By the claim, the value is between
# `claimed_low` and `claimed_high`. `n_units` are the independent units of the first side and, where they differ, of the
# other; the smallest where there are several arms.
CLAIMS: Columns = {
    **dict.fromkeys(("paper", "claim", "says", "source", "test", "side", "part", "verdict", "scale"), str),
    **dict.fromkeys(
        ("value", "ci_low", "ci_high", "decides_low", "decides_high", "claimed_low", "claimed_high"), float
    ),
    **dict.fromkeys(("pvalue", "against", "adjusted"), float),
    "n_units": str,
    "n_needed": float,
    **dict.fromkeys(("needed_to", "hardware", "emulated", "note"), str),
}
SUPPORTED, REFUTED, OPEN, CERTAIN = "supported", "refuted", "undecided", "cannot fail"
OPEN_BEFORE = "cannot be told"  # in files of earlier versions
ABSENT = {PUBLISHED: "not published", STUDY: "not run"}
# The verdicts in the order in which they are shown.
ORDER = (SUPPORTED, REFUTED, OPEN, CERTAIN, *ABSENT.values())
NUMBERS = (published.FILE, published.SOURCES, published.REMEDIES, published.IDENTICAL)
BEFORE = ("ratio", "exponent", "value")  # scales that are named before the number; others are units after it


def read_verdicts(path: str | Path) -> pd.DataFrame:
    """Read the verdicts in a file; refuse a repeated verdict, and a claim with one side only."""
    verdict_rows = metric_files.read_metrics(path, CLAIMS).replace({"verdict": {OPEN_BEFORE: OPEN}})
    keys = verdict_rows[["claim", "part", "side"]]
    if keys.duplicated().any():
        raise BadInput(path, "claim", f"found {'/'.join(keys[keys.duplicated()].iloc[0])} twice", "each verdict once")
    if unknown := sorted(set(verdict_rows["verdict"]) - set(ORDER)):
        raise BadInput(path, "verdict", f"found {unknown[0][:60]!r}", f"one of {', '.join(ORDER)}")
    whole = verdict_rows[verdict_rows["part"] == WHOLE]
    here, published = (set(whole[whole["side"] == side]["claim"]) for side in (STUDY, PUBLISHED))
    if lone := sorted(here ^ published):
        raise BadInput(path, "side", f"found one side of {lone[0]}", f"{PUBLISHED} and {STUDY} of each claim")
    return verdict_rows


def judge(
    claims: list[dict[str, Any]],
    toolings: Values,
    columns: Implied,
    label_of: Values = MappingProxyType({}),
    synthetic: Words = (),
    judged: Words = (),
    stability: Inputs = (),
    runs: Inputs = (),
    overhead: Inputs = (),
    remedies: Inputs = (),
    counts: Inputs = (),
    kernels: Inputs = (),
    identical: Inputs = (),
    *,
    out: Output,
) -> None:
    """Write the verdicts on claims, by the published numbers and by a study's metric files; a kind may have no file.

    Only the claims named in `judged` are judged, or all if it is empty. `toolings` has the study's hardware entries,
    `columns` the places where the columns of each kind are defined. `label_of` maps each data set with many labels to
    the label that claims on sub-groups are about, and `synthetic` has the names of synthetic data sets.
    """
    metrics = {
        "stability": stability,
        "runs": runs,
        "overhead": overhead,
        "remedies": remedies,
        "counts": counts,
        "kernels": kernels,
        "identical": identical,
    }
    tables = read_tables({kind: paths for kind, paths in metrics.items() if paths}, columns)
    sides = (by_publication(), by_study(tables, toolings, label_of, synthetic))
    claims = [claim for claim in claims if not judged or claim["name"] in judged]
    metric_files.write_metrics(out, CLAIMS, [row for side in sides for row in rows_of_verdicts(claims, side)])


def read_tables(metrics: Mapping[str, list[str]], columns: Mapping[str, str]) -> Tables:
    """The metric files of each kind as one table."""
    return {
        kind: metric_files.read_metrics(paths, metric_files.columns_at(columns[kind]))
        for kind, paths in metrics.items()
    }


def by_publication() -> Side:
    """The side of the published numbers."""
    numbers = [number for path in NUMBERS for number in published.read_published(path)]

    def arms(claim: Claim) -> Arms:
        settings = claim.get("published", {})
        chosen = [number for number in numbers if _item(number) in settings.get("items", ())]
        return of_published(settings.get("measure", claim["measure"]), chosen)

    counts = [number for number in numbers if (number.metric, number.split, number.label) == ("count", "train", "1")]
    sizes = {(number.dataset, number.group): number.amount for number in counts}
    return Side(PUBLISHED, arms, sizes, lambda claim, _: claim["published"].get("reference", math.nan), {})


def by_study(
    tables: Tables,
    toolings: Toolings,
    label_of: Mapping[str, str] = MappingProxyType({}),
    synthetic: Sequence[str] = (),
) -> Side:
    """The side of a study, from its metric files by kind and its toolings."""
    sizes: Sizes = {}
    grouped = {kind: tables[kind] for kind in ("counts", "stability", "runs") if kind in tables}
    if label_of:
        grouped = {kind: metric_files.of_label(table, label_of) for kind, table in grouped.items()}
    if "counts" in tables:
        counts = grouped["counts"]
        several = set(counts[counts["label"] == "2"]["dataset"])  # with more than two classes, none is the positive one
        label = counts["dataset"].isin(several).map({True: "all", False: "1"})
        train = counts[(counts["split"] == "train") & (counts["label"] == label)]
        sizes = {(row.dataset, row.group): row.n for row in train.rename(columns={"count": "n"}).itertuples()}
    read = functools.cache(lambda measure, parts: of_study(measure, tables | grouped if parts else tables))

    def arms(claim: Claim) -> Arms:
        return read(claim["measure"], bool(label_of) and about_groups(claim))

    null = functools.cache(lambda measure: sizes_by_null(measure, grouped.get("stability")))
    return Side(
        *(STUDY, arms, sizes, lambda claim, subject: null(claim["measure"]).get(subject, math.nan)),
        *(toolings, tuple(synthetic)),
    )


def rows_of_verdicts(claims: Sequence[Claim], side: Side) -> Iterator[tuple[Any, ...]]:
    """The rows of all claims on one side: each claim, then its parts. Holm's families are the claims of a paper."""
    examined = [examine_claim(claim, side) for claim in claims]
    papers = np.array([claim["paper"] for claim in claims])
    smallest = np.array([math.nan if whole is None else _smallest(whole) for whole, _ in examined])
    adjusted, families = np.full(len(claims), math.nan), dict.fromkeys(papers.tolist(), 0)
    for paper in families:
        adjusted[papers == paper] = holm_pvalues(smallest[papers == paper])
        families[paper] = max(1, int((~np.isnan(smallest[papers == paper])).sum()))
    for claim, (whole, effects), pvalue in zip(claims, examined, adjusted.tolist(), strict=True):
        if whole is None:
            about = claim["paper"], claim["name"], claim["says"], claim["source"], claim["test"]
            nothing = [*[math.nan] * 10, "", math.nan, "", "", "", claim["note"]]
            yield (*about, side.name, WHOLE, ABSENT[side.name], "", *nothing)
            continue
        *row, note = _row(claim, side, whole, pvalue, LEVEL / families[claim["paper"]], effects)
        judged = list(zip(effects, holm_pvalues(np.array([_smallest(part) for part in effects])).tolist(), strict=True))
        hidden = _disagreement([_verdict(*part) for part in judged]) if claim["parts"] == "pooled" else ""
        yield (*row, "; ".join(filter(None, (hidden, note))))
        for part, of_part in judged:
            yield _row(claim, side, part, of_part, LEVEL / len(effects), [part])


def _smallest(shown: ShownEffect) -> float:
    """The smaller of the two-sided p-values for a claim and against it; NaN if it is not tested."""
    tested = shown.finding is not None and shown.contrast is not None and not shown.cannot_fail
    return min(shown.finding.pvalues) if tested else math.nan


def _row(
    claim: Claim, side: Side, shown: ShownEffect, adjusted: float, level: float, effects: Sequence[ShownEffect]
) -> tuple[Any, ...]:
    """The row of a claim or of a part; `effects` are the parts that it rests on, and `level` is that of one test."""
    pvalues = shown.finding.pvalues if not math.isnan(_smallest(shown)) else (math.nan, math.nan)
    verdict = _verdict(shown, adjusted)
    side_of_it, units = _needed(claim, shown, effects, level) if verdict == OPEN else ("", math.nan)
    # The level at which this claim was tested: its interval excludes what the verdict excludes.
    tested_at = LEVEL * min(pvalues) / adjusted if 0 < adjusted < 1 else LEVEL if math.isnan(adjusted) else level
    decides = shown.interval(tested_at)
    limits = (*shown.effect, decides.low, decides.high, *shown.claimed)
    about = ("", "") if shown.name != WHOLE else (claim["says"], claim["source"])
    toolings = dict.fromkeys(place.hardware for place in shown.subjects if place.hardware)
    emulated = EMULATED if any(is_emulated(place, side.toolings) for place in shown.subjects) else ""
    return (
        *(claim["paper"], claim["name"], *about, claim["test"], side.name, shown.name, verdict, shown.scale.name),
        *(*limits, *pvalues, adjusted, _sides(shown.units), units, side_of_it),
        *(", ".join(toolings), emulated, _note(claim, side, shown, effects, decides)),
    )


def _verdict(shown: ShownEffect, adjusted: float) -> str:
    if shown.cannot_fail:
        return CERTAIN
    if shown.finding is None or not (shown.contrast is None or adjusted < LEVEL):
        return OPEN
    if shown.finding.agrees:
        return SUPPORTED
    return REFUTED if shown.finding.reversed.agrees else OPEN


def _needed(claim: Claim, shown: ShownEffect, effects: Sequence[ShownEffect], level: float) -> tuple[str, float]:
    """The verdict that more units would give, and about how many it needs per arm."""
    if shown.finding is None or shown.contrast is None or shown.short_of:
        return "", math.nan
    # The contrasts that decide the claim the way its effect points: all of them, or the best.
    pooled = shown.name != WHOLE or claim["parts"] == "pooled"
    tested = [part for part in ([shown] if pooled else effects) if part.finding]
    agrees = (any if claim["parts"] == "any" else all)(part.finding.agrees for part in tested)
    deciding = [part for part in tested if part.finding.agrees == agrees]
    every = agrees != (claim["parts"] == "any")
    at = level if every or pooled else level / len(deciding)
    units = [units_needed(part.contrast, part.distance, at) for part in deciding]
    if not units or np.isnan(units).any():
        return "", math.nan
    return "support" if agrees else "refute", max(units) if every else min(units)


def _sides(units: Sequence[int]) -> str:
    """The units of both sides, such as `10 and 4`; nothing where they are not stated."""
    return " and ".join(map(str, units)) if all(units) else ""


def _note(claim: Claim, side: Side, shown: ShownEffect, effects: Sequence[ShownEffect], decides: Estimate) -> str:
    notes = [reason for reason in (_data(side, shown), shown.cannot_fail, shown.short_of) if reason]
    if shown.finding is None and not shown.cannot_fail:
        notes.append("no spread is published" if side.name == PUBLISHED else _not_estimated(shown))
    elif shown.finding is not None and shown.contrast is not None and math.isnan(decides.low):
        notes.append(f"no interval: {TOO_FEW}")
    fixed = [part for part in effects if part.contrast is not None and part.contrast.fixed]
    if fixed:
        where = f"in {len(fixed)} of {len(effects)} parts, " if len(fixed) < len(effects) else ""
        notes.append(f"{where}for one draw of what the runs share")
    if shown.name == WHOLE and claim["note"]:
        notes.append(claim["note"])
    return "; ".join(notes)


def _data(side: Side, shown: ShownEffect) -> str:
    """The data sets of an effect, if one of them is synthetic."""
    datasets = list(dict.fromkeys(subject.dataset for subject in shown.subjects if subject.dataset))
    if not set(datasets) & set(side.synthetic):
        return ""
    return f"on {' and '.join(dataset_name(dataset, side.synthetic) for dataset in datasets)}"


def _not_estimated(shown: ShownEffect) -> str:
    """Why a study's effect has no error."""
    arms = [arm for part in shown.parts for _, arm in part.terms]
    if any(arm.value == 0 for arm in arms):
        return "a value of 0"
    if any(arm.units < FEWEST for arm in arms):
        return "too few runs"
    if len(arms) > 1 and all(arm.value == arms[0].value and arm.moves == arms[0].moves for arm in arms):
        return "the runs of both sides have equal values"
    return "no values of single runs, or a value of 0 without one of them"


def _disagreement(verdicts_of_parts: Sequence[str]) -> str:
    """The contradiction that the mean of several parts hides; empty if there is none."""
    supported, refuted = map(verdicts_of_parts.count, (SUPPORTED, REFUTED))
    if not supported or not refuted:
        return ""
    return f"of {len(verdicts_of_parts)} parts, {supported} supported and {refuted} refuted"


def _item(number: published.Number) -> str:
    return number.item.partition("/")[0]


def verdict_text(row: Any) -> str:
    """A verdict, marked if its noise is emulated, with the number of units that would be needed."""
    words = row.verdict if not row.emulated else f"{row.verdict}, {row.emulated}"
    return f"{words} ({needed_units(row)})" if row.verdict == OPEN and needed_units(row) else words


def needed_units(row: Any) -> str:
    """About how many units per arm are needed, and for which verdict; empty if that is not known."""
    if not row.needed_to:
        return ""
    return f"{'n > 1000' if math.isinf(row.n_needed) else f'n ≈ {row.n_needed:.0f}'} to {row.needed_to}"


def count_verdicts(verdicts: pd.DataFrame) -> dict[str, int]:
    """The number of claims with each verdict, in the order of verdicts, without claims that cannot fail."""
    by_name = verdicts["verdict"].value_counts()
    return {name: int(by_name[name]) for name in ORDER if name in by_name and name != CERTAIN}


def paragraphs_of_verdicts(verdicts: pd.DataFrame) -> Iterator[str]:
    """The verdicts of a study, as a heading for each paper and two lines for each claim."""
    whole = verdicts[verdicts["part"] == WHOLE]
    here = whole[whole["side"] == STUDY].set_index("claim")
    published = whole[whole["side"] == PUBLISHED].set_index("claim")
    for paper, rows in here.groupby("paper", sort=False):
        certain = int((rows["verdict"] == CERTAIN).sum())
        apart = f" (and {certain} that cannot fail)" if certain else ""
        counts = ", ".join(f"{count} {name}" for name, count in count_verdicts(rows).items())
        yield f"{paper}: {counts or 'none judged'}{apart}"
        for row in rows.sort_values("verdict", key=lambda names: names.map(ORDER.index), kind="stable").itertuples():
            yield f"  {row.says} ({row.source})."
            in_paper = sentence_of_verdict(published.loc[row.Index], short=True)
            yield f"    {sentence_of_verdict(row)} Published: {in_paper}"


def sentence_of_verdict(row: Any, *, short: bool = False) -> str:
    """A verdict as a sentence, with its effect, its units and its toolings."""
    words = row.verdict.capitalize()
    if not short and row.emulated:
        words += f", {row.emulated}"
    if not math.isnan(row.value):
        words += f": {effect_text(row)}"
        if not math.isnan(row.adjusted):
            words += f", {claimed_values(row)}, adjusted p {pvalue_text(row.adjusted)}"
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


def effect_text(row: Any) -> str:
    """An effect with its scale and the interval that decides, which is that of its adjusted p-value."""
    interval = "" if math.isnan(row.decides_low) else f" ({row.decides_low:.3g} to {row.decides_high:.3g})"
    if row.scale in BEFORE:
        return f"{row.scale} {row.value:.3g}{interval}"
    return f"{row.value:.3g} {row.scale}{interval}"


def claimed_values(row: Any) -> str:
    """The values that a claim allows."""
    if row.test == "equivalence":
        return f"claimed {row.claimed_low:.3g} to {row.claimed_high:.3g}"
    if math.isinf(row.claimed_high):
        return f"claimed above {row.claimed_low:.3g}"
    return f"claimed below {row.claimed_high:.3g}"


def pvalue_text(value: float) -> str:
    """A p-value with three decimals."""
    return "< 0.001" if value < 0.0005 else f"{value:.3f}"
