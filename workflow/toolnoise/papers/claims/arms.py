"""The quantities that claims are about, by subject: from a study's metric files, or from published numbers.

Of the toolings of subjects a verdict says whether their noise is emulated, and what stands for the word accelerator.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy

from toolnoise.base.noise_sources import DRAWN
from toolnoise.formulas.per_run import OWN
from toolnoise.stats import draws
from toolnoise.stats.estimates import TAIL
from toolnoise.stats.quantities import PAIRS, Arm, normal_sd, of_runs
from toolnoise.study.published import VARIANTS, Number, remedy
from toolnoise.study.variants import variant


class Subject(NamedTuple):
    """What a quantity is of; `remedy` is empty without one."""

    model: str
    dataset: str
    hardware: str
    variant: str
    group: str = "all"
    remedy: str = ""


Arms = dict[Subject, Arm]
Tables = Mapping[str, pd.DataFrame]
OF_PAIRS = ("churn", "churn_normalised", "l2_unit", "l2_raw")  # a run's value is its mean over pairs
TIMES = ("kernel_ratio", "wall_ratio")
SKEW = "kernel_skew"  # the share of the kernels' time that the longest one takes, by mode
TRAINING = "training_relative_diff"  # of the longest and the shortest training, over the mean
# Two networks as resources/claims.yaml spells them: the verdicts in evidence/ were judged by that file as it is.
SPELT = {"inception-v3": "inceptionv3", "efficientnet-b0": "efficientnetb0"}
# The entries of the hardware registry by name; the published numbers have none.
Toolings = Mapping[str, Mapping[str, Any]]
EMULATED = "emulated"
# In what toolings of one device can differ, in words.
_DIFFERENCES = {
    "engine": "frameworks",
    "environment": "versions of a framework",
    "kernels": "kernel libraries",
    "isa": "instruction sets",
    "threads": "numbers of threads",
    "precision": "precisions",
    "tf32": "precisions",
    "formulas": "optimisers' formulas",
}
_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def of_study(measure: str, tables: Tables) -> Arms:
    """The arms of a measure in a study's metric files, which are given by kind."""
    if measure in TIMES:
        return dict(_of_times(measure, tables.get("overhead")))
    if measure == SKEW:
        return dict(_of_kernels(tables.get("kernels")))
    if measure == TRAINING:
        return dict(_of_training(tables.get("identical")))
    metric, _, statistic = (measure, "", PAIRS) if measure in OF_PAIRS else measure.rpartition("_")
    arms = dict(_of_rows(measure, tables.get("stability"))) | dict(_of_runs(metric, statistic, tables.get("runs")))
    return by_the_papers_names(arms | dict(_of_remedies(measure, tables.get("remedies"))))


def _of_paper(variant: str) -> str:
    """The variant of Zhuang et al. that a variant of a study is; its own name if it is none of theirs."""
    return next((name for name, names in VARIANTS.items() if variant in names), variant)


def by_the_papers_names(arms: Arms) -> Arms:
    """The same arms, with the authors' own ALGO as `algo` where a task has no other."""
    named = {(subject, subject._replace(variant=_of_paper(subject.variant))): arm for subject, arm in arms.items()}
    return {key if named_so != key and named_so in arms else named_so: arm for (key, named_so), arm in named.items()}


def of_published(measure: str, numbers: Sequence[Number]) -> Arms:
    """The arms of a measure among published numbers; the same subject in several items is a mistake of the claim."""
    chosen = {_subject(number): number for number in numbers if number.metric == measure}
    sds = {_subject(number): number for number in numbers if number.metric == f"{measure.removesuffix('_mean')}_sd"}
    return {subject: _published(number, sds.get(subject)) for subject, number in chosen.items()}


def sizes_by_null(metric: str, stability: pd.DataFrame | None) -> dict[Subject, float]:
    """The ratio of a part's SD to that of all which follows from its number of examples alone, by subject."""
    rows = _rows(stability, f"{metric}_ratio_null")
    return {Subject(*row[:4], row.group): row.value for row in rows if not np.isnan(row.value)}


def _subject(number: Number) -> Subject:
    kind = number.item.partition("/")[0]
    return Subject(*number[1:5], number.group, remedy(number) if kind.startswith("remedies") else "")


def _published(number: Number, sd: Number | None) -> Arm:
    runs = int(number.n_runs or 0)
    if number.metric.endswith("_sd"):
        return normal_sd(number.amount, runs)
    if number.metric.endswith("_mean") and sd is not None and runs > 1:
        return Arm(number.amount, runs, error=sd.amount / np.sqrt(runs) / number.amount, freedom=runs - 1)
    return Arm(number.amount, runs)


def _of_runs(metric: str, statistic: str, runs: pd.DataFrame | None) -> Iterator[tuple[Subject, Arm]]:
    """Arms from the values of single runs."""
    values: dict[Subject, list[float]] = {}
    drawn: dict[Subject, list[dict[str, str | None]]] = {}
    for row in _rows(runs, metric):
        if not np.isnan(row.value):
            subject = Subject(*row[:4], row.group)
            values.setdefault(subject, []).append(row.value)
            draw = {source: getattr(row, source) for source in DRAWN}
            drawn.setdefault(subject, []).append({source: None if is_ == OWN else is_ for source, is_ in draw.items()})
    # If all runs of a cell share a draw, they are independent given that draw, and the arm holds for it alone.
    free = {subject: each for subject, each in drawn.items() if len(set(draws.units(each)[0])) > 1}
    labels = dict(zip(free, draws.units(*free.values()), strict=True)) if free else {}
    for subject, numbers in values.items():
        units = labels[subject].tolist() if subject in free else [(subject, run) for run in range(len(numbers))]
        yield subject, of_runs(np.array(numbers), units, statistic)._replace(fixed=subject not in free)


def _of_rows(measure: str, table: pd.DataFrame | None) -> Iterator[tuple[Subject, Arm]]:
    """Values whose spread over units is not known, such as distances of weights in files without those of each run."""
    drawn = {row[:4]: int(row.value) for row in _rows(table, "n_draws")}
    for row in _rows(table, measure):
        yield Subject(*row[:4], row.group), Arm(row.value, drawn.get(row[:4], row.n_runs))


def _of_remedies(measure: str, table: pd.DataFrame | None) -> Iterator[tuple[Subject, Arm]]:
    for row in _rows(table, measure):
        subject = Subject(*row[:4], row.group, row.remedy)
        if measure.endswith("_sd"):
            yield subject, normal_sd(row.value, row.n_runs)
        else:
            yield subject, _with_interval(row, row.n_runs, row.n_runs - 1)


def _of_times(measure: str, table: pd.DataFrame | None) -> Iterator[tuple[Subject, Arm]]:
    for row in _rows(table, measure):
        yield (
            Subject(SPELT.get(row.model, row.model), "", row.hardware, ""),
            _with_interval(row, row.n_runs, 2 * (row.n_runs - 1)),
        )


def _of_kernels(table: pd.DataFrame | None) -> Iterator[tuple[Subject, Arm]]:
    """The share of the longest kernel in each mode, which stands for the variant; its error is that of both times."""
    if table is None:
        return
    for (model, hardware, mode), times in table.groupby(["model", "hardware", "mode"], sort=False):
        first = times["rank"] == "1"
        errors = (times["ci_high"] - times["value"]) / scipy.stats.t.ppf(1 - TAIL, times["n_runs"] - 1)
        longest, rest = (float(times["value"][which].sum()) for which in (first, ~first))
        runs = int(times["n_runs"].min())
        if longest > 0 and runs > 1:
            squares = (errors[first].sum() / longest) ** 2, (errors[~first].pow(2).sum()) / rest**2 if rest else 0.0
            share = longest / (longest + rest)
            error = float((1 - share) * np.sqrt(sum(squares)))
            yield Subject(model, "", hardware, mode), Arm(share, runs, error=error, freedom=runs - 1)


def _of_training(table: pd.DataFrame | None) -> Iterator[tuple[Subject, Arm]]:
    """The range of the time of training over its mean; it does not depend on the criterion."""
    for row in [] if table is None else table.itertuples(index=False):
        yield Subject(row.network, row.dataset, row.hardware, row.variant), Arm(row.training_relative_diff, row.no_try)


def _with_interval(row: tuple, units: int, freedom: int) -> Arm:
    """An arm from its interval, whose upper half is never clipped."""
    error = np.nan
    if row.value > 0 and freedom > 0 and not np.isnan(row.ci_high):
        error = np.log(row.ci_high / row.value) / scipy.stats.t.ppf(1 - TAIL, freedom)
    return Arm(row.value, units, error=float(error), freedom=freedom)


def _rows(table: pd.DataFrame | None, metric: str) -> list[tuple]:
    return [] if table is None else list(table[table["metric"] == metric].itertuples(index=False))


def injected(place: Subject, toolings: Toolings) -> bool:
    """Whether the implementation noise of some runs is put into them, and not found there."""
    known = variant(place.variant) if place.variant else None
    emulates = toolings.get(place.hardware, {}).get("impl_noise") == "reduction-order"
    return emulates and known is not None and "impl" in known.varying


def stand_for_accelerators(names: Sequence[str], toolings: Toolings) -> str:
    """What is compared if the toolings are all of one device: `two kernel libraries of one CPU`; else nothing."""
    entries = [toolings[name] for name in names if name in toolings]
    devices = {(entry["accelerator"], entry.get("device", "")) for entry in entries}
    if len(entries) < 2 or len(devices) > 1:
        return ""
    ((accelerator, device),) = devices
    what = dict.fromkeys(word for key, word in _DIFFERENCES.items() if len({entry.get(key) for entry in entries}) > 1)
    # Another framework brings its own kernels.
    words = [word for word in what if word != "kernel libraries" or "frameworks" not in what] or ["toolings"]
    count = _NUMBERS.get(len(entries), str(len(entries)))
    listed = words[0] if len(words) == 1 else f"toolings ({', '.join(words)})"
    return f"{count} {listed} of one {device or accelerator.upper()}"


def names_of(places: Iterable[Subject]) -> tuple[str, ...]:
    """The toolings of some places, each once."""
    return tuple(dict.fromkeys(place.hardware for place in places if place.hardware))
