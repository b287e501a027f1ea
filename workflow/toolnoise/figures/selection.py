"""The rows of metric files that a figure shows; a file without them is refused with an error of one line."""

from collections.abc import Sequence

import pandas as pd

from toolnoise.base.errors import BadInput
from toolnoise.base.metric_files import CELL, part_of
from toolnoise.study.entries import dataset_name

NOISE = ("accuracy_sd", "churn", "l2_unit")  # the three measures of the paper's figures 2, 3, 6, 11 and 13
# The same with churn relative to the range that the errors of two runs allow, for models of different accuracy.
NOISE_AND_RANGE = ("accuracy_sd", "churn", "churn_normalised", "l2_unit")
PARTS = {"all": "over all examples", "class": "by class", "group": "by sub-group"}  # see metric_files.part_of
# Shown with `accuracy_sd`.
SD_NULL = "accuracy_sd_independent_null"
SD_ALONE = "accuracy_sd_distribution"


def select_rows(
    table: pd.DataFrame,
    paths: str | Sequence[str],
    metric: str,
    hardware: Sequence[str],
    tasks: Sequence[Sequence[str]],
    part: str = "all",
) -> pd.DataFrame:
    """Rows of one metric for these toolings and tasks, from one of `PARTS`; each tooling must have such rows.

    `paths` are the files that the table was read from. The column `n_draws` has the number of algorithmic draws of each
    row's cell, or NaN if the table lacks it.
    """
    table = of_tasks(table, tasks)
    for name in hardware:
        on_it = table[table["hardware"] == name]
        if on_it.empty:
            raise BadInput(file_names(paths), "hardware", f"no {name!r}", f"it has {_listed(table['hardware'])}")
        on_it = on_it[on_it["group"].map(part_of) == part]
        if metric not in set(on_it["metric"]):
            what = f"no {metric!r} {PARTS[part]} on {name}"
            raise BadInput(file_names(paths), "metric", what, f"it has {_listed(on_it['metric'])}")
    wanted = (table["metric"] == metric) & (table["group"].map(part_of) == part)
    rows = table[wanted & table["hardware"].isin(hardware)]
    if "n_draws" in table:
        return rows
    drawn = table[table["metric"] == "n_draws"].set_index(list(CELL))["value"].rename("n_draws")
    return rows.join(drawn, on=list(CELL))


def freedom_of_sd(runs: int, draws: float) -> int:
    """The degrees of freedom of an SD of these runs, which is taken within draws if draws have several runs."""
    return int(runs - draws) if 1 < draws < runs else int(runs - 1)


def ratio_rows(table: pd.DataFrame, hardware: Sequence[str], tasks: Sequence[Sequence[str]]) -> pd.DataFrame:
    """The rows of ratios between cells of these toolings and tasks that have a value."""
    both = of_tasks(table, tasks)
    both = both[both["over_model"].isin(model for model, _ in tasks) & both["hardware"].isin(hardware)]
    return both[both["value"].notna()]


def file_names(paths: str | Sequence[str]) -> str:
    """The name of one or more files in an error message."""
    first, *more = [paths] if isinstance(paths, str) else paths
    return f"{first} and {len(more)} more" if more else first


def of_tasks(table: pd.DataFrame, tasks: Sequence[Sequence[str]]) -> pd.DataFrame:
    """Rows of some tasks, each a model and a data set."""
    return table[pd.MultiIndex.from_frame(table[["model", "dataset"]]).isin(list(map(tuple, tasks)))]


def task_names(table: pd.DataFrame, synthetic: Sequence[str]) -> pd.Series:
    """The name of each row's task."""
    return table["model"].str.cat(table["dataset"].map(lambda name: dataset_name(name, synthetic)), " / ")


def _listed(names: pd.Series) -> str:
    return ", ".join(names.unique()) or "nothing"


def distinct_names(names: pd.Series) -> list[str]:
    """The names in order of appearance, which is the order of the study."""
    return list(names.unique())


def noise_rows(
    table: pd.DataFrame,
    paths: str | Sequence[str],
    hardware: Sequence[str],
    tasks: Sequence[Sequence[str]],
    metrics: Sequence[str] = NOISE,
) -> pd.DataFrame:
    """The rows of some measures of noise, of `SD_NULL` and of `SD_ALONE`."""
    return pd.concat([select_rows(table, paths, metric, hardware, tasks) for metric in (*metrics, SD_NULL, SD_ALONE)])
