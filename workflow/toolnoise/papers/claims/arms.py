"""The quantities that claims are about, by subject: from a study's metric files, or from published numbers.

Of the toolings of subjects a verdict says whether their noise is emulated.
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
# Distances from 1 of what is 1 where nothing varies, and what a remedy leaves of the noise: 1 minus a metric.
FROM_ONE = {
    "correlation_distance": "correlation_spearman",
    "cka_distance": "cka",
    "variability_left": "variability_reduction",
}
# Metrics over pairs of which a file has no values of single runs, but an interval.
WITH_INTERVALS = ("correlation_spearman", "cka", "ensemble_accuracy_change")
PUBLISHED_AS = {"correlation_spearman": "correlation"}  # Summers & Dinneen do not say which
# The entries of the hardware registry by name; the published numbers have none.
Toolings = Mapping[str, Mapping[str, Any]]
EMULATED = "emulated"


def of_study(measure: str, tables: Tables) -> Arms:
    """The arms of a measure in a study's metric files, which are given by kind."""
    if measure in TIMES:
        return dict(_of_times(measure, tables.get("overhead")))
    if measure == SKEW:
        return dict(_of_kernels(tables.get("kernels")))
    if measure == TRAINING:
        return dict(_of_training(tables.get("identical")))
    metric = FROM_ONE.get(measure, measure)
    if metric in WITH_INTERVALS:
        arms = dict(_of_intervals(measure, tables.get("stability")))
    else:
        name, _, statistic = (metric, "", PAIRS) if metric in OF_PAIRS else metric.rpartition("_")
        arms = dict(_of_rows(metric, tables.get("stability"))) | dict(_of_runs(name, statistic, tables.get("runs")))
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
    metric = FROM_ONE.get(measure, measure)
    metric = PUBLISHED_AS.get(metric, metric)
    chosen = {_subject(number): number for number in numbers if number.metric == metric}
    sds = {_subject(number): number for number in numbers if number.metric == f"{measure.removesuffix('_mean')}_sd"}
    arms = {subject: _published(number, sds.get(subject)) for subject, number in chosen.items()}
    return {subject: _from_one(arm) if measure in FROM_ONE else arm for subject, arm in arms.items()}


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
    for row in _rows(table, FROM_ONE.get(measure, measure)):
        subject = Subject(*row[:4], row.group, row.remedy)
        yield (
            subject,
            normal_sd(row.value, row.n_runs) if measure.endswith("_sd") else _measured(measure, row, row.n_runs),
        )


def _of_intervals(measure: str, table: pd.DataFrame | None) -> Iterator[tuple[Subject, Arm]]:
    drawn = {row[:4]: int(row.value) for row in _rows(table, "n_draws")}
    for row in _rows(table, FROM_ONE.get(measure, measure)):
        yield Subject(*row[:4], row.group), _measured(measure, row, drawn.get(row[:4], row.n_runs))


def _measured(measure: str, row: tuple, units: int) -> Arm:
    """An arm from a row with an interval; of a distance from 1, of that distance."""
    if measure not in FROM_ONE:
        return _with_interval(row, units, units - 1)
    turned = row._replace(value=1 - row.value, ci_low=1 - row.ci_high, ci_high=1 - row.ci_low)
    return _with_interval(turned, units, units - 1)


def _from_one(arm: Arm) -> Arm:
    return Arm(1 - arm.value, arm.units)


def _of_times(measure: str, table: pd.DataFrame | None) -> Iterator[tuple[Subject, Arm]]:
    for row in _rows(table, measure):
        yield (
            Subject(row.model, "", row.hardware, ""),
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


def names_of(places: Iterable[Subject]) -> tuple[str, ...]:
    """The toolings of some places, each once."""
    return tuple(dict.fromkeys(place.hardware for place in places if place.hardware))
