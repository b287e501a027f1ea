"""The paper's numbers compared with a study's own: whether they agree, and how the runs differ.

A number is compared with the study's number of the same model, data set and variant, on the same tooling or, if the
study has not run that, on another with an accelerator of the same kind. The two agree if the published number is within
the range expected if both are draws from the same distribution: in 95 % of cases such a range contains the value of
another study with `others` runs. Only the published numbers of that study are available, not its runs.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from toolnoise.base import metric_files
from toolnoise.base.metric_files import part_of
from toolnoise.formulas.declared import METRICS
from toolnoise.stats.estimates import TAIL, Estimate
from toolnoise.study.published import ACCELERATOR, LARGEST, OVERHEAD_AT, SCALES, SMALLEST, Number
from toolnoise.study.variants import variant_named


class Conditions(NamedTuple):
    """The conditions of a study that matter to a comparison, besides its metric files.

    `accelerators` maps its toolings to their kind of accelerator, `emulated` are those whose implementation noise is
    emulated, `differences` maps model/dataset to how its recipe differs from the paper's. `label_of` maps a data set
    with many labels to the label that tables 3 and 5 are about.
    """

    accelerators: Mapping[str, str]
    emulated: Sequence[str] = ()
    differences: Mapping[str, Sequence[str]] = {}
    label_of: Mapping[str, str] = {}

    def toolings(self, published: str) -> list[str]:
        """The toolings that a published one is compared with: itself, then others of its kind."""
        alike = [name for name, kind in self.accelerators.items() if kind == ACCELERATOR and name != published]
        return [*(name for name in self.accelerators if name == published), *alike]


class BesidePublished(NamedTuple):
    """A published number and, if the study has one, its own with the range for the published one.

    `n_runs`, `hardware` and `variant` are those of the study's number, `differs_by` is how these and its recipe differ
    from the published ones.
    """

    number: Number
    ours: Estimate | None = None
    n_runs: int = 0
    hardware: str = ""
    variant: str = ""
    differs_by: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """Whether the two numbers agree, in a word or two."""
        if self.ours is None:
            return "not run"
        if np.isnan(self.ours.low):
            return "n/a"
        return "yes" if self.ours.low <= self.number.amount <= self.ours.high else "no"


def compare(
    numbers: Sequence[Number],
    conditions: Conditions,
    stability: pd.DataFrame,
    data: pd.DataFrame,
    overhead: pd.DataFrame | None = None,
) -> list[BesidePublished]:
    """Pair each published number with the corresponding number in a study's metric files."""
    labels = data["dataset"].map(lambda dataset: dataset in conditions.label_of) & data["group"].str.endswith(":all")
    label_counts = data[labels & (data["label"] == "all")].groupby("dataset")["group"].nunique().to_dict()
    stability, data = (metric_files.of_label(table, conditions.label_of) for table in (stability, data))
    spreads = {number[1:5]: number for number in numbers if number.metric == "accuracy_sd" and number.item == "table2"}
    return [
        _classes(number, data, label_counts)
        if number.metric == "classes"
        else _compared(number, spreads, conditions, stability, data, overhead)
        for number in numbers
    ]


def _compared(
    number: Number,
    spreads: Mapping[tuple[str, ...], Number],
    conditions: Conditions,
    stability: pd.DataFrame,
    data: pd.DataFrame,
    overhead: pd.DataFrame | None,
) -> BesidePublished:
    if number.metric in ("count", "share"):
        return _counted(number, data)
    timed = number.metric == "kernel_ratio"
    rows = _times(number, overhead) if timed else _rows(number, stability)
    by_tooling = [rows[rows["hardware"] == name] for name in conditions.toolings(number.hardware)]
    row = next((mine.iloc[0] for mine in by_tooling if not mine.empty), None)
    if row is None:
        return BesidePublished(number)
    ours, runs, others = Estimate(row["value"], row["ci_low"], row["ci_high"]), int(row["n_runs"]), number.n_runs
    if number.metric == "accuracy_mean":
        theirs = spreads[number[1:5]]
        sds = _rows(theirs, stability)
        spread = sds[(sds["hardware"] == row["hardware"]) & (sds["variant"] == row["variant"])].iloc[0]["value"]
        ours = mean_range(ours.value, spread, runs, theirs.amount, int(others)).within(*METRICS[number.metric].range)
    elif number.metric.endswith("_sd"):
        highest = METRICS[number.metric].range[1] * np.sqrt(1 + 1 / (int(others) - 1))  # of a sample SD, with n - 1
        ours = sd_range(ours.value, runs, int(others)).within(0, highest)
    elif number.metric.endswith("_sd_ratio") and number.group != LARGEST:
        ours = sd_ratio_range(ours.value, runs, int(others))
    ran = "" if timed else row["variant"]
    return BesidePublished(
        number, ours, runs, row["hardware"], ran, tuple(_differences(number, conditions, row["hardware"], ran))
    )


def _differences(number: Number, conditions: Conditions, hardware: str, ran: str) -> list[str]:
    device = [f"device ({hardware})"] if hardware != number.hardware else []
    emulated = ["emulated"] if hardware in conditions.emulated and ran and "impl" in variant_named(ran).varying else []
    return [*device, *conditions.differences.get(f"{number.model}/{number.dataset}", ()), *emulated]


def _rows(number: Number, stability: pd.DataFrame) -> pd.DataFrame:
    """The study's rows for a published number, on any tooling; the preferred row comes first."""
    rows = stability[(stability["metric"] == number.metric) & stability["variant"].isin(number.variants)]
    for column in ("model", "dataset"):
        rows = rows[rows[column] == getattr(number, column)]
    if number.group == LARGEST:
        return rows[rows["group"].map(part_of) == "class"].sort_values("value", ascending=False, kind="stable")
    rows = rows[rows["group"] == number.group]
    return rows.sort_values("variant", key=lambda names: names.map(number.variants.index), kind="stable")


def _times(number: Number, overhead: pd.DataFrame | None) -> pd.DataFrame:
    """The study's rows for a published ratio of times, on any tooling; the smallest comes first."""
    if overhead is None:
        return pd.DataFrame(columns=["hardware"])
    rows = overhead[overhead["metric"] == number.metric]
    for column, size in OVERHEAD_AT.items():
        rows = rows[rows[column] == size]
    if number.group == SMALLEST:
        return rows[~rows["model"].str.startswith("mediumcnn")].sort_values("value", kind="stable")
    return rows[rows["model"] == number.model]


def _classes(number: Number, data: pd.DataFrame, label_counts: Mapping[str, int]) -> BesidePublished:
    """The number of classes, or of labels if an example has many."""
    classes = set(data[data["dataset"] == number.dataset]["label"]) - {"all"}
    count = float(label_counts.get(number.dataset, len(classes)))
    return BesidePublished(number, Estimate(count, count, count)) if count else BesidePublished(number)


def _counted(number: Number, data: pd.DataFrame) -> BesidePublished:
    rows = data[(data["dataset"] == number.dataset) & (data["split"] == number.split)]
    whole = rows[rows["group"] == "all"]
    count = rows[(rows["group"] == number.group) & (rows["label"] == number.label)]["count"]
    if count.empty:
        return BesidePublished(number)
    amount = float(count.iloc[0])
    if number.metric == "count":
        return BesidePublished(number, Estimate(amount, amount, amount))
    share = amount / float(whole[whole["label"] == "all"]["count"].iloc[0])
    digit = 0.1 ** len(number.value.partition(".")[2]) / SCALES[number.unit]  # the last printed digit
    return BesidePublished(number, Estimate(share, share - digit, share + digit))


def mean_range(mean: float, sd: float, runs: int, other_sd: float, others: int) -> Estimate:
    """Range of another mean of normal runs, by Welch's interval: the two SDs need not be equal."""
    if runs < 2:
        return Estimate(mean, np.nan, np.nan)
    ours, theirs = sd**2 / runs, other_sd**2 / others
    if ours + theirs == 0:
        return Estimate(mean, mean, mean)
    freedom = (ours + theirs) ** 2 / (ours**2 / (runs - 1) + theirs**2 / (others - 1))
    half = stats.t.ppf(1 - TAIL, freedom) * np.sqrt(ours + theirs)
    return Estimate(mean, float(mean - half), float(mean + half))


def sd_range(sd: float, runs: int, others: int) -> Estimate:
    """Range of another sample SD of normal runs: the ratio of two variances follows the F distribution."""
    if runs < 2:
        return Estimate(sd, np.nan, np.nan)
    low, high = sd * np.sqrt(stats.f.ppf([TAIL, 1 - TAIL], others - 1, runs - 1))
    return Estimate(sd, float(low), float(high))


def sd_ratio_range(ratio: float, runs: int, others: int) -> Estimate:
    """Range of another ratio of a part's SD to the whole's, on a log scale, as if both were independent.

    Part and whole are not independent, so the range is too wide rather than too narrow. The extent of their dependence
    is not published.
    """
    if runs < 2:
        return Estimate(ratio, np.nan, np.nan)
    half = stats.norm.ppf(1 - TAIL) * np.sqrt(1 / (runs - 1) + 1 / (others - 1))
    return Estimate(ratio, float(ratio * np.exp(-half)), float(ratio * np.exp(half)))
