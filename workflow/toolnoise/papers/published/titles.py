"""The titles of the figures after the papers' own: what each found, or its question where the rows decide nothing."""

from collections.abc import Sequence

import pandas as pd

from toolnoise.figures.findings import EVERY, churn, decided, each, listed, percent, ratio, said, share
from toolnoise.figures.style import variant_name
from toolnoise.stats.two_means import Result

LEVEL = 0.05  # of a test
# The ratios that the figure of batch normalisation shows, by metric.
NOISE = {"accuracy_sd": "SD of accuracy", "churn": "churn", "churn_normalised": "normalised churn"}


def of_batch_norm(ratios: pd.DataFrame, accuracies: Sequence[Result]) -> str:
    """By how much batch normalisation changes noise where all sources vary, with the change of accuracy of each pair.

    `ratios` are those of M-bn over M, in the order of the variants shown. The title says one variant, chosen before
    any is seen: the one of many intervals that leaves 1 out would be the luck of the others.
    """
    ratios = ratios[ratios["metric"].isin(NOISE) & ratios["value"].notna()]
    if ratios.empty:
        return "Does batch normalisation make runs more alike?"
    variants = list(dict.fromkeys(ratios["variant"]))
    first = next((name for name in EVERY if name in variants), variants[0])
    main = ratios[ratios["variant"] == first]
    by_name = {name: main[main["metric"] == metric] for metric, name in NOISE.items() if metric in set(main["metric"])}
    under = f", under {variant_name(first)}"
    if main["metric"].value_counts().max() > 1:
        changes = f"{'; '.join(_counted(*part) for part in by_name.items())}{under}"
    else:
        ratios_of = listed([f"{each(rows, ratio)} times the {name}" for name, rows in by_name.items()])
        shown = "" if len(decided(main)) else ": no change is shown"
        changes = f"runs have {ratios_of} of those without{under}{shown}"
    return f"With batch normalisation {'; '.join(filter(None, [_accuracy(accuracies), changes]))}"


def _counted(name: str, rows: pd.DataFrame) -> str:
    """In how many pairs of models a measure falls and rises."""
    firm = decided(rows)["value"]
    return f"{name} falls in {(firm < 1).sum()} of {len(rows)} pairs and rises in {(firm > 1).sum()}"


def _accuracy(changes: Sequence[Result]) -> str:
    """By how many points accuracy changes, where it does."""
    firm = [result.effect for result in changes if result.pvalue < LEVEL]
    higher = sum(effect.value > 0 for effect in firm)
    if len(changes) > 1 and firm:
        return f"accuracy rises in {higher} of {len(changes)} pairs of models and falls in {len(firm) - higher}"
    if not firm:
        return ""
    ends = firm[0] if higher else (-firm[0].value, -firm[0].high, -firm[0].low)
    row = pd.Series(dict(zip(("value", "ci_low", "ci_high"), ends, strict=True)))
    return f"accuracy {'rises' if higher else 'falls'} by {said(row, percent)} points"


def of_order(rows: pd.DataFrame, full: pd.Series) -> str:
    """How many answers the order of the data changes; with the full set in one batch, rounding is all that is left."""
    ordered, rounded = churn(rows[~full], "shuffle"), churn(rows[full], "shuffle")
    if ordered.empty and rounded.empty:
        return "How many answers does the order of the data change?"
    if rounded.empty:
        return f"The order of the data changes {share(ordered)}"
    says = f"ith the full set in one batch, rounding alone changes {share(rounded)}"
    return f"W{says}" if ordered.empty else f"The order of the data changes {share(ordered)}; w{says}"


def of_ensembles(rows: pd.DataFrame) -> str:
    """How many answers differ between single runs, and between averages of as many as have an interval."""
    known = churn(rows, "algo_impl", "algo", "impl")
    known = known[known["ci_low"].notna()]
    most = int(known.groupby(["model", "dataset", "hardware"])["members"].max().min()) if len(known) else 1
    if most == 1:
        return "How much noise is left after averaging the logits of k runs?"
    single, several = (share(known[known["members"] == size]) for size in (1, most))
    return f"Single runs differ in {single}, averages of {most} in {several.removesuffix(' of answers')}"


def of_bit(moved: pd.DataFrame) -> str:
    """How many answers one changed bit changes, by the `epoch` after which it is changed: the first and the last."""
    known = moved[(moved["metric"] == "churn") & moved["value"].notna()]
    if known.empty:
        return "What does one changed bit do?"
    ends = {epoch: share(known[known["epoch"] == epoch]) for epoch in sorted(set(known["epoch"]))}
    (first, early), *_, (last, late) = [*ends.items()] * 2
    when = f"after {first} epochs" if first else "at the start"
    says = f"One bit changed {when} changes {early}"
    return says if first == last else f"{says}; changed after {last} epochs, {late}"
