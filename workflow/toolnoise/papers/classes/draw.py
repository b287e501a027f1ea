"""The numbers of the figure `per_class`: each class's SD with what answers two questions about it.

Is it above what independent errors give? That is a chi-square test of the SD against `independent`, the SD that the
class would have if its examples erred as often as they do, but independently. Is the class unlike all classes together,
for its errors? That is the test of its SD over theirs (`formulas.sd_ratio`); `alike_low` to `alike_high` is the range
of the class's SD in 95 % of studies in which it is not. Both are adjusted for the number of classes (Holm). Where
errors are independent, the first test finds a class above in 1 to 5 % of studies of ten classes (46 to 1,000 examples
each, 5 to 12 runs).
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from toolnoise.figures import selection, style
from toolnoise.figures.findings import EVERY, listed, ratio
from toolnoise.stats.multiplicity import holm

LEVEL = 0.05
NULL = "accuracy_sd_ratio_difficulty_null"


def judged(
    stability: pd.DataFrame, paths: str | Sequence[str], hardware: Sequence[str], tasks: Sequence[Sequence[str]]
) -> pd.DataFrame:
    """A row per variant and class: its SD with interval, what it would be, whether it is `above` and how `unlike`."""

    def of(metric: str, part: str = "class") -> pd.DataFrame:
        return selection.select(stability, paths, metric, hardware, tasks, part)

    by_class = ["variant", "group"]
    columns = {"value": "null", "ci_low": "null_low", "ci_high": "null_high"}
    rows = of("accuracy_sd").merge(of(NULL)[[*by_class, *columns]].rename(columns=columns), on=by_class)
    for metric, name in (("accuracy_sd_ratio", "ratio"), ("accuracy_sd_ratio_difficulty_holm", "pvalue")):
        rows = rows.merge(of(metric)[[*by_class, "value"]].rename(columns={"value": name}), on=by_class)
    for metric, name in (("accuracy_sd", "whole"), (selection.SD_NULL, "whole_independent")):
        rows = rows.merge(of(metric, "all")[["variant", "value"]].rename(columns={"value": name}), on="variant")
    rows["independent"] = rows["null"] * rows["whole_independent"]
    rows["alike_low"], rows["alike_high"] = rows["null_low"] * rows["whole"], rows["null_high"] * rows["whole"]
    free = [selection.freedom(runs, draws) for runs, draws in zip(rows["n_runs"], rows["n_draws"], strict=True)]
    squares = (rows["value"] / rows["independent"].where(rows["independent"] > 0)) ** 2
    rows["above"] = (
        pd.Series(stats.chi2.sf(squares * free, free), rows.index)
        .groupby(rows["variant"])
        .transform(lambda pvalues: holm(pvalues.to_numpy()))
        < LEVEL
    )
    rows["unlike"] = unlike(rows)
    return rows


def unlike(rows: pd.DataFrame) -> np.ndarray:
    """Whether each `ratio` is noisier or steadier than its null, or neither, from its adjusted `pvalue`.

    Over several draws the p-value is that of the most extreme draw, and the range that of the mean over draws: both
    must agree.
    """
    outside = (rows["ratio"] < rows["null_low"]) | (rows["ratio"] > rows["null_high"])
    word = np.where(rows["ratio"] > rows["null"], "noisier", "steadier")
    return np.where(outside & (rows["pvalue"] < LEVEL), word, "")


def ranges(runs: pd.DataFrame) -> pd.DataFrame:
    """The lowest and highest accuracy of a run on each class and on all, under the first variant in which all varies.

    `runs` are rows of accuracy of one tooling and task.
    """
    spread = runs[runs["metric"] == "accuracy"].groupby(["variant", "group"], sort=False)["value"]
    found = spread.agg(low="min", high="max", runs="count").reset_index()
    varying = found.groupby("variant", sort=False).filter(lambda rows: (rows["high"] > rows["low"]).any())
    variants = selection.unique(varying["variant"])
    first = next((name for name in (*EVERY, *variants) if name in variants), "")
    return varying[varying["variant"] == first]


def of_classes(ranges: pd.DataFrame, judged: pd.DataFrame) -> str:
    """Between which shares the most variable class is right, and all are, and how its variant's classes are `judged`.

    `ranges` has the lowest and highest accuracy over runs of all and of each class (`classes.ranges`).
    """
    if ranges.empty:
        still = len(judged) and judged["value"].max() == 0
        return "No class varies from run to run" if still else "Are classes noisier than independent errors explain?"
    single, every = ranges[ranges["group"] != "all"], ranges[ranges["group"] == "all"]
    widest = single.loc[[(single["high"] - single["low"]).idxmax()]]
    (name, runs, variant), *_ = widest[["name", "runs", "variant"]].to_numpy()
    count = int(judged["above"].sum())
    above = f"{count} of {len(judged)} classes vary" if count else "No class is shown to vary"
    unlike = listed([f"{names} {_is(names)} {word}" for word, names in unlike_all(judged).items()])
    given = f"{'their' if ' and ' in unlike else 'its'} errors"
    last = f"{unlike} than all classes together, given {given}" if unlike else "none is shown to be unlike the others"
    return (
        f"Accuracy on class {name} runs from {_between(widest)}, on all classes from {_between(every)} ({runs} runs, "
        f"{style.variant_name(variant)}). {above} more than independent errors would; {last}"
    )


def _between(rows: pd.DataFrame) -> str:
    return f"{100 * rows['low'].item():.1f} to {100 * rows['high'].item():.1f} %"


def _is(names: str) -> str:
    return "are" if " and " in names else "is"


def unlike_all(judged: pd.DataFrame) -> dict[str, str]:
    """The names of the classes that are noisier, for their errors, than all classes together, and of the steadier."""
    words = {word: judged[judged["unlike"] == word]["name"] for word in ("noisier", "steadier")}
    return {word: listed(list(names)) for word, names in words.items() if len(names)}


def of_groups(judged: pd.DataFrame) -> str:
    """Which sub-groups are noisier or steadier than their size explains, in which rate and under which sources.

    `judged` has a row per ratio: its `place`, the `name` of its rate, its range by size from `null_low` to `null_high`,
    and `unlike`, the word if it is outside after adjustment.
    """
    if judged.empty:
        return "Is a sub-group noisier than its size explains?"
    firm = judged[judged["unlike"] != ""]
    if firm.empty:
        return f"No sub-group is shown to be noisier or steadier than its size explains ({len(judged)} ratios)"
    judged_rates = firm.groupby(["place", "unlike", "name"], sort=False)
    if judged_rates.ngroups > 2:
        words = {word: listed(list(dict.fromkeys(rows["place"]))) for word, rows in firm.groupby("unlike", sort=False)}
        return "; ".join(f"{names} {_is(names)} {word} than size explains" for word, names in words.items())
    return ". ".join(_of_group(*key, rows) for key, rows in judged_rates)


def _of_group(place: str, word: str, name: str, rows: pd.DataFrame) -> str:
    """The ratios of one rate of a sub-group, with the range that decides, which is not the interval of the ratio."""
    values = [f"{ratio(row.value)} ({style.variant_name(row.variant)})" for row in rows.itertuples()]
    by_size = [f"{ratio(low)} to {ratio(high)}" for low, high in zip(rows["null_low"], rows["null_high"], strict=True)]
    by_size = " and ".join(dict.fromkeys(by_size))
    ratio_to_all = f"{name} is {listed(values)} times that of all"
    return f"{place} is {word} than its size explains: {ratio_to_all}; size gives {by_size}"
