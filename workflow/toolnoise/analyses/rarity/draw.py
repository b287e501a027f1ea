"""The numbers of the figure `rarity`: a group's noise against its share of the training set, with two nulls.

The null of size takes all test examples as equally noisy, the null of difficulty knows how often the group's examples
err (`stats.sd_ratio`). For the SD of a rate both scale the SD over all examples of the same runs. Churn is a mean over
examples, so size leaves it as it is over all examples; the null of difficulty puts it at the same place, as over all
examples, of the range that the errors of two runs allow.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from toolnoise.base.metric_files import CELL, NUMBERS, part_of
from toolnoise.figures import selection
from toolnoise.stats.estimates import Estimate
from toolnoise.stats.sd_ratio import Null

SIZE, DIFFICULTY = "size", "difficulty"
COLUMNS = (*CELL, "group", "share", "quantity", *NUMBERS, "n_runs", "n_missing", "n_draws")


def against_share(
    stability: pd.DataFrame, counts: pd.DataFrame, hardware: Sequence[str], tasks: Sequence
) -> pd.DataFrame:
    """The rows of the figure, by share: `rate`, `sd` and `churn` of the group and of all, and the nulls of the two."""
    mine = selection.of_tasks(stability, tasks)
    mine = mine[mine["hardware"].isin(hardware)]
    rows = []
    for cell, found in mine.groupby(list(CELL), sort=False):
        values = {(row.metric, row.group): Estimate(row.value, row.ci_low, row.ci_high) for row in found.itertuples()}
        draws = values["n_draws", "all"].value
        about = found["n_runs"].iloc[0], found["n_missing"].iloc[0], draws
        for group in selection.unique(found["group"]):
            if part_of(group) == "group":
                share = train_share(counts, cell[1], group)
                shown = _quantities(values, counts, cell[1], group, selection.freedom(*about[::2]))
                rows += [(*cell, group, share, name, *estimate, *about) for name, estimate in shown.items()]
    return pd.DataFrame(rows, columns=list(COLUMNS)).sort_values("share", kind="stable")


def train_share(counts: pd.DataFrame, dataset: str, group: str) -> float:
    """The group's share of the training set."""
    return _count(counts, dataset, "train", group) / _count(counts, dataset, "train", "all")


def _count(counts: pd.DataFrame, dataset: str, split: str, group: str, label: str = "all") -> int:
    columns = ("dataset", "split", "group", "label")
    wanted = zip(columns, (dataset, split, group, label), strict=True)
    return int(counts[np.logical_and.reduce([counts[column] == value for column, value in wanted])]["count"].iloc[0])


def _quantities(
    values: dict[tuple[str, str], Estimate], counts: pd.DataFrame, dataset: str, group: str, freedom: int
) -> dict[str, Estimate]:
    rate, label = ("fnr", "1") if ("fnr_mean", group) in values else ("accuracy", "all")
    mine, everyone = (_count(counts, dataset, "test", name, label) for name in (group, "all"))
    found = {
        f"{name}{suffix}": values[metric, part]
        for name, metric in (("rate", f"{rate}_mean"), ("sd", f"{rate}_sd"), ("churn", "churn"))
        for suffix, part in (("", group), (" of all", "all"))
    }
    expected = values[f"{rate}_sd_ratio_null", group].value, values[f"{rate}_sd_ratio_difficulty_null", group].value
    for null, ratio in zip((SIZE, DIFFICULTY), expected, strict=True):
        bounds = Null(ratio, (ratio * mine / everyone) ** 2).range(freedom)
        found[f"sd by {null}"] = Estimate(*(found["sd of all"].value * np.array(bounds)).tolist())
    found[f"churn by {SIZE}"] = values["churn", "all"]
    found[f"churn by {DIFFICULTY}"] = _churn_by_errors(
        found["churn"].value,
        values["churn_normalised", group].value,
        found["rate"].value,
        values["churn_normalised", "all"],
    )
    return found


def _churn_by_errors(churn: float, place: float, rate: float, wanted: Estimate) -> Estimate:
    """The churn at another place of the range between the least and the most that errors allow."""
    most = 2 * min(rate, 1 - rate)
    if not (place < 1 and most > 0):
        return Estimate(np.nan, np.nan, np.nan)
    least = (churn - place * most) / (1 - place)
    return Estimate(*(least + np.array(wanted) * (most - least)).tolist())
