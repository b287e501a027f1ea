"""The numbers of the figure `per_class`: each class's SD, with the tests of two questions about it.

Is the SD above that of independent errors? A chi-square test compares it with `independent`, the SD that the class
would have if its examples erred as often as they do, but independently. Is the class unlike all classes together, given
its error rate? The ratio of its SD to theirs is tested (`formulas.groups`); `alike_low` to `alike_high` is the range of
the class's SD in 95 % of studies in which it is not. Both are adjusted for the number of classes (Holm). Where errors
are independent, the first test finds a class above in 1 to 5 % of studies of ten classes (46 to 1,000 examples each, 5
to 12 runs).

For data sets with many labels, figures by sub-group show one label, like the paper's tables, beside all labels
together: Zhuang et al. train 40 labels of CelebA at once. Their code counts the errors of all labels together, but the
counts of their table 3 and the SDs of their table 5 are those of one label.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import stats

from toolnoise.base.metric_files import of_label
from toolnoise.figures import selection
from toolnoise.figures.findings import EVERY
from toolnoise.stats.significance import holm_pvalues

LEVEL = 0.05
NULL = "accuracy_sd_ratio_difficulty_null"
TOGETHER = "all labels"


def judge_classes(
    stability: pd.DataFrame, paths: str | Sequence[str], hardware: Sequence[str], tasks: Sequence[Sequence[str]]
) -> pd.DataFrame:
    """A row per variant and class: its SD with interval, the expected SDs, whether it is `above` and how `unlike`."""

    def of(metric: str, part: str = "class") -> pd.DataFrame:
        return selection.select_rows(stability, paths, metric, hardware, tasks, part)

    by_class = ["variant", "group"]
    columns = {"value": "null", "ci_low": "null_low", "ci_high": "null_high"}
    rows = of("accuracy_sd").merge(of(NULL)[[*by_class, *columns]].rename(columns=columns), on=by_class)
    for metric, name in (("accuracy_sd_ratio", "ratio"), ("accuracy_sd_ratio_difficulty_holm", "pvalue")):
        rows = rows.merge(of(metric)[[*by_class, "value"]].rename(columns={"value": name}), on=by_class)
    for metric, name in (("accuracy_sd", "whole"), (selection.SD_NULL, "whole_independent")):
        rows = rows.merge(of(metric, "all")[["variant", "value"]].rename(columns={"value": name}), on="variant")
    rows["independent"] = rows["null"] * rows["whole_independent"]
    rows["alike_low"], rows["alike_high"] = rows["null_low"] * rows["whole"], rows["null_high"] * rows["whole"]
    free = [selection.freedom_of_sd(runs, draws) for runs, draws in zip(rows["n_runs"], rows["n_draws"], strict=True)]
    squares = (rows["value"] / rows["independent"].where(rows["independent"] > 0)) ** 2
    rows["above"] = (
        pd.Series(stats.chi2.sf(squares * free, free), rows.index)
        .groupby(rows["variant"])
        .transform(lambda pvalues: holm_pvalues(pvalues.to_numpy()))
        < LEVEL
    )
    rows["unlike"] = noisier_or_steadier(rows)
    return rows


def noisier_or_steadier(rows: pd.DataFrame) -> np.ndarray:
    """Whether each `ratio` is noisier or steadier than its null, or neither, from its adjusted `pvalue`.

    Over several draws the p-value is that of the most extreme draw, and the range is that of the mean over draws: both
    must agree.
    """
    outside = (rows["ratio"] < rows["null_low"]) | (rows["ratio"] > rows["null_high"])
    word = np.where(rows["ratio"] > rows["null"], "noisier", "steadier")
    return np.where(outside & (rows["pvalue"] < LEVEL), word, "")


def accuracy_ranges(runs: pd.DataFrame) -> pd.DataFrame:
    """The lowest and highest accuracy of a run by class and on all, under the first variant in which everything varies.

    `runs` are rows of accuracy of one tooling and task.
    """
    spread = runs[runs["metric"] == "accuracy"].groupby(["variant", "group"], sort=False)["value"]
    extremes = spread.agg(low="min", high="max", runs="count").reset_index()
    varying = extremes.groupby("variant", sort=False).filter(lambda rows: (rows["high"] > rows["low"]).any())
    variants = selection.distinct_names(varying["variant"])
    first = next((name for name in (*EVERY, *variants) if name in variants), "")
    return varying[varying["variant"] == first]


def of_classes(judged: pd.DataFrame) -> str:
    """How many classes vary more than independent errors would make them; `judged` are those of one variant."""
    if judged.empty or judged["value"].isna().all():
        return "Are classes noisier than independent errors explain?"
    if judged["value"].max() == 0:
        return "No class varies from run to run"
    above = judged[judged["above"]]
    if above.empty:
        return "No class is seen to vary more than independent errors"
    which = f"Class {above['name'].iloc[0]} varies" if len(above) == 1 else f"{len(above)} classes vary"
    which = "Every class varies" if len(above) == len(judged) else which
    return f"{which} more than independent errors would"


def of_groups(judged: pd.DataFrame) -> str:
    """Which sub-groups are noisier or steadier than their size explains in most of their ratios.

    `judged` has a row per ratio: its `place` and `unlike`, the word if it is outside its range after adjustment. One
    ratio of many is no finding about a group.
    """
    if judged.empty:
        return "Is a sub-group noisier than its size explains?"
    by_place = judged.groupby("place", sort=False)["unlike"]
    for word in ("noisier", "steadier"):
        places = [place for place, words in by_place if (words == word).mean() > 0.5]
        if places:
            which = f"{places[0]} is" if len(places) == 1 else f"{len(places)} sub-groups are"
            return f"{which} {word} than size explains"
    return "In most rates, no sub-group is noisier or steadier than size explains"


def split_by_label(
    table: pd.DataFrame, tasks: Sequence[Sequence[str]], label_of: Mapping[str, str]
) -> tuple[pd.DataFrame, list[list[str]]]:
    """A table and tasks, with each data set of `label_of` as two: one of its label, and one of all labels together.

    Both have the sub-groups, and `all` for all examples.
    """
    if not label_of:
        return table, [list(task) for task in tasks]
    many = table["dataset"].isin(list(label_of))
    names = {dataset: [f"{dataset}: {label}", f"{dataset}: {TOGETHER}"] for dataset, label in label_of.items()}
    of_one, of_all = table[many], table[many & ~table["group"].str.contains(":", regex=False)]
    both = [
        rows.assign(dataset=rows["dataset"].map(lambda dataset, place=place: names[dataset][place]))
        for place, rows in enumerate((of_label(of_one, label_of), of_all))
    ]
    shown = [[model, name] for model, dataset in tasks for name in names.get(dataset, [dataset])]
    return pd.concat([table[~many], *both]), shown
