"""The titles of the figures after the papers' own: what each found, or its question where the rows decide nothing."""

from collections.abc import Sequence

import pandas as pd

from toolnoise.figures.findings import EVERY, churn, direction, listed, share
from toolnoise.stats.two_means import Result

LEVEL = 0.05  # of a test


def of_batch_norm(ratios: pd.DataFrame, accuracies: Sequence[Result]) -> str:
    """What batch normalisation does to churn where all sources vary, and to accuracy.

    `ratios` are those of M-bn over M, in the order of the variants shown. The title says one variant, chosen before
    any is seen: the one of many intervals that leaves 1 out would be the luck of the others.
    """
    ratios = ratios[(ratios["metric"] == "churn") & ratios["value"].notna()]
    if ratios.empty:
        return "Does batch normalisation make runs more alike?"
    variants = list(dict.fromkeys(ratios["variant"]))
    first = next((name for name in EVERY if name in variants), variants[0])
    words = {
        "below": "lowers churn",
        "above": "raises churn",
        "some below": "lowers churn of some models",
        "some above": "raises churn of some models",
        "both": "lowers or raises churn, by model",
    }
    changes = words.get(direction(ratios[ratios["variant"] == first]), "")
    said = listed(list(filter(None, [_accuracy(accuracies), changes])))
    return f"Batch normalisation {said}" if said else "No effect of batch normalisation seen"


def _accuracy(changes: Sequence[Result]) -> str:
    """Whether accuracy rises or falls in every pair of models."""
    firm = [result.effect.value for result in changes if result.pvalue < LEVEL]
    if not firm or len(firm) < len(changes):
        return ""
    return "raises accuracy" if min(firm) > 0 else "lowers accuracy" if max(firm) < 0 else ""


def of_order(rows: pd.DataFrame, full: pd.Series) -> str:
    """How many answers the order of the data changes; with the full set in one batch, rounding is all that is left."""
    ordered, rounded = churn(rows[~full], "shuffle"), churn(rows[full], "shuffle")
    if ordered.empty and rounded.empty:
        return "How many answers does the order of the data change?"
    if ordered.empty:
        return f"With one batch, rounding alone changes {share(rounded)}"
    return f"The order of the data changes {share(ordered)}"


def of_ensembles(rows: pd.DataFrame) -> str:
    """How many answers differ between averages of as many runs as have an interval."""
    known = churn(rows, "algo_impl", "algo", "impl")
    known = known[known["ci_low"].notna()]
    most = int(known.groupby(["model", "dataset", "hardware"])["members"].max().min()) if len(known) else 1
    if most == 1:
        return "How much noise is left after averaging the logits of k runs?"
    return f"Averages of runs still differ in {share(known[known['members'] == most])}"


def of_bit(moved: pd.DataFrame) -> str:
    """How many answers one changed bit changes, by the `epoch` after which it is changed: the first."""
    known = moved[(moved["metric"] == "churn") & moved["value"].notna()]
    if known.empty:
        return "What does one changed bit do?"
    return f"One bit of one weight changes {share(known[known['epoch'] == known['epoch'].min()])}"
