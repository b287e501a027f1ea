"""The finding of a figure in a sentence: its title, of at most twelve words and one number.

A sentence says only what holds for every cell shown. Two quantities are compared by the interval of their ratio, never
by whether their intervals overlap. If the interval contains 1, no difference was seen; without any interval, the title
is the question. Intervals and further numbers are in the figure and in the metric files.
"""

from collections.abc import Callable, Sequence

import pandas as pd

from toolnoise.figures.style import variant_name
from toolnoise.stats.significance import Result
from toolnoise.study.published import VARIANTS

# The variants in which all sources, or all algorithmic sources, vary.
EVERY = (*VARIANTS["algo_impl"], *VARIANTS["algo"])
LEVEL = 0.05  # significance level of a test


def number_text(value: float) -> str:
    """A number with two significant digits, or rounded to an integer from 10 on."""
    if value == 0:
        return "0"
    return f"{value:#.2g}" if abs(value) < 9.95 else f"{value:.0f}"


def percent_text(value: float) -> str:
    """A share in per cent."""
    return number_text(100 * value)


def list_text(parts: Sequence[str]) -> str:
    """Parts joined for a sentence: a, b and c."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def largest_text(rows: pd.DataFrame, worded: Callable[[float], str], unit: str) -> str:
    """One estimate, or the largest of several, in words: 5.0 %, up to 5.0 %."""
    values = {worded(value) for value in rows["value"]}
    return f"{'up to ' * (len(values) > 1)}{worded(rows['value'].max())}{unit}"


def share_text(rows: pd.DataFrame, of: str = "answers") -> str:
    """The share of answers that differ, in words."""
    return f"no {of}" if rows["value"].max() == 0 else f"{largest_text(rows, percent_text, ' %')} of {of}"


def decided_ratios(ratios: pd.DataFrame) -> pd.DataFrame:
    """The ratios whose interval excludes 1."""
    return ratios[(ratios["ci_low"] > 1) | (ratios["ci_high"] < 1)]


def direction_of_ratios(ratios: pd.DataFrame) -> str:
    """The side of 1 on which ratios lie significantly: "below" or "above" for all, "some below", "some above", or "".

    It is "both" if some ratios lie below 1 and some above, and "none" if no ratio has an interval.
    """
    known = ratios[ratios["ci_low"].notna()]
    firm = decided_ratios(known)["value"]
    if known.empty:
        return "none"
    if (firm < 1).any() and (firm > 1).any():
        return "both"
    word = "" if firm.empty else "below" if firm.iloc[0] < 1 else "above"
    return f"some {word}" if word and len(firm) < len(known) else word


def churn_rows(rows: pd.DataFrame, *variants: str) -> pd.DataFrame:
    """Churn under the first of these variants that has any; `VARIANTS` lists the substitutes of a variant."""
    known = rows[(rows["metric"] == "churn") & rows["value"].notna()]
    names = (name for variant in variants for name in VARIANTS.get(variant, (variant,)))
    return next((chosen for name in names if len(chosen := known[known["variant"] == name])), known[:0])


def of_noise(rows: pd.DataFrame, ratios: pd.DataFrame, emulated: bool = False) -> str:
    """Whether the implementation alone changes fewer answers than all sources, or the share of answers that differ."""
    alone, whole = churn_rows(rows, "impl"), churn_rows(rows, "algo_impl", "algo")
    if alone.empty and whole.empty:
        fixed = churn_rows(rows, "control")["value"]
        if len(fixed) and fixed.max() == 0:
            return "With every source fixed, runs give the same answers"
        return "How far do runs of one training end apart?"
    if alone.empty:
        return f"Two runs differ in {share_text(whole)}"
    noise = "Emulated noise" if emulated else "The implementation"
    every = "a new seed"
    over = ratios[:0]
    if len(whole):
        variant = whole["variant"].iloc[0]
        # ALGO+IMPL does not vary the data.
        has_data = rows["variant"].str.split("+").map(lambda sources: "data" in sources).any()
        every = ("ALGO+IMPL" if has_data else "all sources") if variant in VARIANTS["algo_impl"] else every
        over = churn_rows(ratios[ratios["over_variant"] == variant], "impl")
    words = {
        "below": f"{noise} alone changes fewer answers than {every}",
        "above": f"{noise} alone changes more answers than {every}",
        "": f"No difference seen between {noise[0].lower()}{noise[1:]} and {every}",
        "some below": f"In some tasks, {noise[0].lower()}{noise[1:]} changes fewer answers",
        "some above": f"In some tasks, {noise[0].lower()}{noise[1:]} changes more answers",
        "both": f"{noise} changes fewer answers in some tasks, more in others",
    }
    decides = direction_of_ratios(over) if alone["value"].max() > 0 else "none"
    return words.get(decides, f"{noise} alone changes {share_text(alone)}")


def of_batch_norm(ratios: pd.DataFrame, accuracies: Sequence[Result]) -> str:
    """The effect of batch normalisation on churn where all sources vary, and on accuracy.

    `ratios` are those of M-bn over M, in the order of the variants shown. The title is about one variant that is chosen
    before any is seen: among many intervals, one would exclude 1 by chance.
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
    changes = words.get(direction_of_ratios(ratios[ratios["variant"] == first]), "")
    said = list_text(list(filter(None, [_accuracy(accuracies), changes])))
    if said:
        return f"Batch normalisation {said}"
    where = " between seeds" if first in EVERY else ""
    return f"No effect of batch normalisation on churn{where}, or on accuracy"


def _accuracy(changes: Sequence[Result]) -> str:
    """Whether accuracy rises or falls significantly in every pair of models; empty if it does not."""
    firm = [result.effect.value for result in changes if result.pvalue < LEVEL]
    if not firm or len(firm) < len(changes):
        return ""
    return "raises accuracy" if min(firm) > 0 else "lowers accuracy" if max(firm) < 0 else ""


def of_order(rows: pd.DataFrame, full: pd.Series) -> str:
    """The share of answers that the order of the data changes; with the full set in one batch only rounding differs."""
    ordered, rounded = churn_rows(rows[~full], "shuffle"), churn_rows(rows[full], "shuffle")
    if ordered.empty and rounded.empty:
        return "How many answers does the order of the data change?"
    if ordered.empty:
        return f"With one batch, rounding alone changes {share_text(rounded)}"
    return f"The order of the data changes {share_text(ordered)}"


def of_ensembles(rows: pd.DataFrame) -> str:
    """The share of answers that differ between averages of as many runs as have an interval in every cell."""
    known = churn_rows(rows, "algo_impl", "algo", "impl")
    known = known[known["ci_low"].notna()]
    most = int(known.groupby(["model", "dataset", "hardware"])["members"].max().min()) if len(known) else 1
    if most == 1:
        return "How much noise is left after averaging runs?"
    return f"Averages of runs still differ in {share_text(known[known['members'] == most])}"


def of_growth(rows: pd.DataFrame) -> str:
    """The distance between runs from one start after the last step: the median of all lines."""
    apart = rows[(rows["metric"] == "l2_unit") & (rows["step"] > 0) & (rows["value"] > 0)]
    if apart.empty:
        return "How do differences from equal starts grow?"
    last = apart[apart["step"] == apart["step"].max()]["value"]
    return f"Weights that start equal end {number_text(last.median())} apart"


def of_layers(rows: pd.DataFrame) -> str:
    """The layer and the variant in which runs are least alike."""
    alike = rows[(rows["metric"] == "cka") & rows["value"].notna()]
    if alike.empty:
        return "In which layers do runs represent the same examples differently?"
    least = alike.loc[alike["value"].idxmin()]
    if least["value"] == 1:
        return "Runs represent the examples equally in every layer"
    return f"Runs are least alike in {least['place']} under {variant_name(least['variant'])}"


def of_pairs(across: pd.DataFrame) -> str:
    """The share of answers that change with the tooling alone."""
    same = churn_rows(across, "algo", "control")
    if same.empty:
        return "How far does the same run differ between toolings?"
    return f"The tooling alone changes {share_text(same)}"


def of_parts(rows: pd.DataFrame) -> str:
    """The share of answers that change with the framework of inference alone."""
    rows = rows[rows["value"].notna()]
    # As in the figure `across_toolings`.
    rows = rows[rows["source"] == "algo"] if "algo" in set(rows["source"]) else rows
    inference, training = rows[rows["variant"].str.startswith("inference")], rows[rows["variant"] == "training"]
    if inference.empty or training.empty:
        return "Do frameworks part in inference or in training?"
    trains = "; training does" if inference["value"].max() == 0 < training["value"].max() else ""
    return f"Inference alone changes {share_text(inference)}{trains}"


def _slower(ratios: pd.DataFrame, what: str, time: str) -> str:
    """The finding from some ratios of times: how much slower the slowest is, or that no difference was seen."""
    words = {
        "below": f"Determinism makes {what} faster",
        "some above": f"Determinism makes {what} of some networks slower",
        "some below": f"Determinism makes {what} of some networks faster",
        "both": f"Determinism makes some {what} slower and some faster",
        "": f"No difference in {time} seen",
    }
    more = ratios.assign(value=100 * (ratios["value"] - 1))
    return words.get(
        direction_of_ratios(ratios), f"Determinism makes {what} {largest_text(more, number_text, ' %')} slower"
    )


def of_cost(rows: pd.DataFrame) -> str:
    """The slowdown of a step by determinism, in time by the clock."""
    clock = rows[(rows["metric"] == "wall_ratio") & rows["ci_low"].notna()]
    return "What does determinism cost?" if clock.empty else _slower(clock, "steps", "step time")


def of_kernels(ratios: pd.DataFrame) -> str:
    """The change in kernel time by determinism."""
    if ratios["ci_low"].isna().all():
        return "Which kernels take the time of a step?"
    return _slower(ratios, "kernels", "kernel time")
