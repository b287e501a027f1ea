"""The paper's numbers compared with a study's own, and whether they agree.

resources/published.csv has each number as it was printed, its unit, its runs and its divisor (ddof 1 is n - 1; empty if
unknown), the evidence for it ([P]aper's text, authors' [C]ode, [R]eplication, public [W]eb page, [D]erived) and its
source. It is compared with the study's number of the same model, data set, tooling and variant, by name. The two agree
if the published number is within the range expected if both are draws from the same distribution.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable
from toolnoise.base.metric_files import part_of
from toolnoise.stats.agreement import mean_range, sd_range, sd_ratio_range
from toolnoise.stats.estimates import Estimate

FILE = Path(__file__).parents[3] / "resources/published.csv"
SOURCES = FILE.with_name("published-sources.csv")  # of Summers & Dinneen and their replication: each source alone
SOURCES_MODEL = "resnet14"  # the model of most of those numbers
IDENTICAL = FILE.with_name("published-identical.csv")  # of Pham et al.: the headlines of identical runs
REMEDIES = FILE.with_name("published-remedies.csv")  # of Summers & Dinneen: the noise that remains with a remedy
SCALES = {"percent": 100, "points": 100, "ratio": 1, "examples": 1, "nats": 1}
LARGEST, SMALLEST = "largest", "smallest"  # in the column `group`: of all classes, or of all networks
PUBLISHED_VARIANTS = ("algo_impl", "algo", "impl")
OVERHEAD_AT = {"batch_size": 64, "image_size": 224}  # of figures 8 and 9
EVIDENCE = ("P", "C", "R", "W", "D")  # a number from memory is never quoted


class Number(NamedTuple):
    """One published number; `value` as printed. Names that do not apply are empty."""

    item: str
    model: str
    dataset: str
    hardware: str
    variant: str
    split: str
    group: str
    label: str
    metric: str
    value: str
    unit: str
    n_runs: str
    ddof: str
    evidence: str
    source: str

    @property
    def amount(self) -> float:
        """The value in the unit of metric files; an SD with the divisor n - 1."""
        amount = float(self.value) / SCALES[self.unit]
        runs = int(self.n_runs or 0)
        return amount * math.sqrt(runs / (runs - 1)) if self.ddof == "0" else amount


class BesidePublished(NamedTuple):
    """A published number and, if the study has one, its own with the range for the published one, and its runs."""

    number: Number
    ours: Estimate | None = None
    n_runs: int = 0

    @property
    def verdict(self) -> str:
        """Whether the two numbers agree, in a word or two."""
        if self.ours is None:
            return "not run"
        if np.isnan(self.ours.low):
            return "n/a"
        return "yes" if self.ours.low <= self.number.amount <= self.ours.high else "no"


def read(path: str | Path = FILE) -> list[Number]:
    """Every published number of a file."""
    with readable(path, "published numbers"):
        rows = list(csv.reader(Path(path).read_text("utf-8").splitlines()))
    if not rows or tuple(rows[0]) != Number._fields:
        raise BadInput(path, "line 1", "unexpected columns", f"expected {','.join(Number._fields)}")
    return [_number(path, line, row) for line, row in enumerate(rows[1:], 2)]


def remedy(number: Number) -> str:
    """The remedy of a number of `REMEDIES`, under its name in metric files."""
    return number.item.partition("/")[2].replace("snapshot5", "snapshots").replace("_", "+").replace("crop", "crops")


def compare(
    numbers: Sequence[Number], stability: pd.DataFrame, data: pd.DataFrame, overhead: pd.DataFrame | None = None
) -> list[BesidePublished]:
    """Pair each published number with the corresponding number in a study's metric files."""
    spreads = {number[1:5]: number for number in numbers if number.metric == "accuracy_sd" and number.item == "table2"}
    return [_compared(number, spreads, stability, data, overhead) for number in numbers]


def _compared(
    number: Number,
    spreads: Mapping[tuple[str, ...], Number],
    stability: pd.DataFrame,
    data: pd.DataFrame,
    overhead: pd.DataFrame | None,
) -> BesidePublished:
    if number.metric in ("count", "share"):
        return _counted(number, data)
    rows = _times(number, overhead) if number.metric == "kernel_ratio" else _rows(number, stability)
    if rows.empty:
        return BesidePublished(number)
    row = rows.iloc[0]
    found, runs, others = Estimate(row["value"], row["ci_low"], row["ci_high"]), int(row["n_runs"]), number.n_runs
    if number.metric == "accuracy_mean":
        spread = _rows(spreads[number[1:5]], stability).iloc[0]["value"]
        found = mean_range(found.value, spread, runs, spreads[number[1:5]].amount, int(others))
    elif number.metric.endswith("_sd"):
        found = sd_range(found.value, runs, int(others))
    elif number.metric.endswith("_sd_ratio") and number.group != LARGEST:
        found = sd_ratio_range(found.value, runs, int(others))
    return BesidePublished(number, found, runs)


def _rows(number: Number, stability: pd.DataFrame) -> pd.DataFrame:
    """The study's rows for a published number, or none; the largest comes first."""
    rows = stability[stability["metric"] == number.metric]
    for column in ("model", "dataset", "hardware"):
        rows = rows[rows[column] == getattr(number, column)]
    if number.group == LARGEST:
        rows = rows[rows["variant"].isin(PUBLISHED_VARIANTS) & (rows["group"].map(part_of) == "class")]
        return rows.sort_values("value", ascending=False, kind="stable")
    return rows[(rows["variant"] == number.variant) & (rows["group"] == number.group)]


def _times(number: Number, overhead: pd.DataFrame | None) -> pd.DataFrame:
    """The study's rows for a published ratio of times, or none; the smallest comes first."""
    if overhead is None:
        return pd.DataFrame()
    rows = overhead[(overhead["metric"] == number.metric) & (overhead["hardware"] == number.hardware)]
    for column, size in OVERHEAD_AT.items():
        rows = rows[rows[column] == size]
    if number.group == SMALLEST:
        return rows[~rows["model"].str.startswith("mediumcnn")].sort_values("value", kind="stable")
    return rows[rows["model"] == number.model]


def _counted(number: Number, data: pd.DataFrame) -> BesidePublished:
    rows = data[(data["dataset"] == number.dataset) & (data["split"] == number.split)]
    count = rows[(rows["group"] == number.group) & (rows["label"] == number.label)]["count"]
    if count.empty:
        return BesidePublished(number)
    found = float(count.iloc[0])
    if number.metric == "count":
        return BesidePublished(number, Estimate(found, found, found))
    share = found / float(rows[(rows["group"] == "all") & (rows["label"] == "all")]["count"].iloc[0])
    digit = 0.1 ** len(number.value.partition(".")[2]) / SCALES[number.unit]  # the last printed digit
    return BesidePublished(number, Estimate(share, share - digit, share + digit))


def _number(path: str | Path, line: int, row: Sequence[str]) -> Number:
    if len(row) != len(Number._fields):
        raise BadInput(path, f"line {line}", f"{len(row)} fields", f"expected {len(Number._fields)}")
    number = Number(*row)
    for key, allowed in (("unit", SCALES), ("evidence", EVIDENCE), ("ddof", ("", "0", "1"))):
        if (value := getattr(number, key)) not in allowed:
            raise BadInput(path, f"line {line}, {key}", f"found {value!r}", f"allowed: {', '.join(allowed)}")
    try:
        float(number.value), int(number.n_runs or 0)
    except ValueError as error:
        raise BadInput(path, f"line {line}", str(error), "a number, and a number of runs or nothing") from None
    return number
