"""The parts of a claim: each pair of arms, or each series of them, that it is about.

Keys that neither side of a claim names are equal on both sides: `of: {variant: algo}` over `{variant: impl}` compares
the two on each task and tooling. Two equal selectors mean any two subjects, each pair once.
"""

import fnmatch
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy

from toolnoise.base.metric_files import part_of
from toolnoise.base.noise_sources import DRAWN
from toolnoise.formulas.per_run import OWN
from toolnoise.stats import draws
from toolnoise.stats.contrasts import PAIRS, Arm, normal_sd, of_runs
from toolnoise.stats.estimates import TAIL
from toolnoise.study.published import VARIANTS, Number, remedy_of_number
from toolnoise.study.variants import variant_named

Tables = Mapping[str, pd.DataFrame]
OF_PAIRS = ("churn", "churn_normalised", "l2_unit", "l2_raw")  # a run's value is its mean over pairs
TIMES = ("kernel_ratio", "wall_ratio")
SKEW = "kernel_skew"  # the share of the kernels' time that the longest one takes, by mode
TRAINING = "training_relative_diff"  # difference of the longest and the shortest training, over the mean
# Measures that are 1 minus a metric: distances from 1, its value if nothing varies, and the noise that a remedy leaves.
FROM_ONE = {
    "correlation_distance": "correlation_spearman",
    "cka_distance": "cka",
    "variability_left": "variability_reduction",
}
# Metrics over pairs for which a file has an interval, but no values of single runs.
WITH_INTERVALS = ("correlation_spearman", "cka", "ensemble_accuracy_change")
PUBLISHED_AS = {"correlation_spearman": "correlation"}  # Summers & Dinneen do not say which
# The entries of the hardware registry by name; the published numbers have none.
Toolings = Mapping[str, Mapping[str, Any]]
EMULATED = "emulated"
Claim = Mapping[str, Any]
# Selectors of `group` that mean every class, or every sub-group.
PARTS = {"class": "class", "subgroup": "group"}
POSITIVES = "positives"  # a trend along the number of positive training examples of the group
DEFAULTS = {"group": "all", "remedy": ""}


class Subject(NamedTuple):
    """The cell, group and remedy that a quantity describes; `remedy` is empty without one."""

    model: str
    dataset: str
    hardware: str
    variant: str
    group: str = "all"
    remedy: str = ""


Arms = dict[Subject, Arm]


def of_study(measure: str, tables: Tables) -> Arms:
    """The arms of a measure in a study's metric files, which are given by kind."""
    if measure in TIMES:
        return dict(_of_times(measure, tables.get("overhead")))
    if measure == SKEW:
        return dict(_of_kernels(tables.get("kernels")))
    if measure == TRAINING:
        return dict(_of_training(tables.get("identical")))
    metric, stability = FROM_ONE.get(measure, measure), tables.get("stability")
    if metric in WITH_INTERVALS:
        arms = dict(_of_cells(measure, stability, _with_interval))
    else:
        # Values whose spread over units is not known, such as distances of weights in files without those of each run.
        arms = dict(_of_cells(measure, stability, lambda row, units, _: Arm(row.value, units)))
        name, statistic = (metric, PAIRS) if metric in OF_PAIRS else metric.rpartition("_")[::2]
        arms |= _of_runs(name, statistic, tables.get("runs"))
    arm_of = (lambda row, runs, _: normal_sd(row.value, runs)) if measure.endswith("_sd") else _with_interval
    return by_the_papers_names(arms | dict(_of_cells(measure, tables.get("remedies"), arm_of)))


def _of_paper(variant: str) -> str:
    """The variant of Zhuang et al. that corresponds to a study's variant; its own name if none does."""
    return next((name for name, names in VARIANTS.items() if variant in names), variant)


def by_the_papers_names(arms: Arms) -> Arms:
    """The same arms, with the authors' own ALGO as `algo` if a task has no other `algo`."""
    named = {(subject, subject._replace(variant=_of_paper(subject.variant))): arm for subject, arm in arms.items()}
    return {key if named_so != key and named_so in arms else named_so: arm for (key, named_so), arm in named.items()}


def of_published(measure: str, numbers: Sequence[Number]) -> Arms:
    """The arms of a measure among published numbers; the same subject in several items is a mistake of the claim."""
    metric = FROM_ONE.get(measure, measure)
    metric = PUBLISHED_AS.get(metric, metric)
    chosen = {_subject(number): number for number in numbers if number.metric == metric}
    sds = {_subject(number): number for number in numbers if number.metric == f"{measure.removesuffix('_mean')}_sd"}
    arms = {subject: _published(number, sds.get(subject)) for subject, number in chosen.items()}
    if measure not in FROM_ONE:
        return arms
    return {subject: Arm(1 - arm.value, arm.units) for subject, arm in arms.items()}


def sizes_by_null(metric: str, stability: pd.DataFrame | None) -> dict[Subject, float]:
    """The ratio of a part's SD to the SD of all, as expected from the part's size alone, by subject."""
    rows = _rows(stability, f"{metric}_ratio_null")
    return {Subject(*row[:4], row.group): row.value for row in rows if not np.isnan(row.value)}


def _subject(number: Number) -> Subject:
    kind = number.item.partition("/")[0]
    return Subject(*number[1:5], number.group, remedy_of_number(number) if kind.startswith("remedies") else "")


def _published(number: Number, sd: Number | None) -> Arm:
    runs = int(number.n_runs or 0)
    if number.metric.endswith("_sd"):
        return normal_sd(number.amount, runs)
    if number.metric.endswith("_mean") and sd is not None and runs > 1:
        return Arm(number.amount, runs, error=sd.amount / np.sqrt(runs) / number.amount, freedom=runs - 1)
    return Arm(number.amount, runs)


def _of_runs(metric: str, statistic: str, runs: pd.DataFrame | None) -> Arms:
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
    free = {
        subject: run_draws for subject, run_draws in drawn.items() if len(set(draws.units_of_arms(run_draws)[0])) > 1
    }
    labels = dict(zip(free, draws.units_of_arms(*free.values()), strict=True)) if free else {}
    arms = {}
    for subject, numbers in values.items():
        units = labels[subject].tolist() if subject in free else [(subject, run) for run in range(len(numbers))]
        arms[subject] = of_runs(np.array(numbers), units, statistic)._replace(fixed=subject not in free)
    return arms


def _of_cells(
    measure: str, table: pd.DataFrame | None, arm_of: Callable[[tuple, int, int], Arm]
) -> Iterator[tuple[Subject, Arm]]:
    """Arms from the rows of cells; `arm_of` gets a row (for `FROM_ONE`, 1 minus its numbers), units, and units - 1."""
    draw_counts = {row[:4]: int(row.value) for row in _rows(table, "n_draws")}
    for row in _rows(table, FROM_ONE.get(measure, measure)):
        units, subject = draw_counts.get(row[:4], row.n_runs), Subject(*row[:4], row.group, getattr(row, "remedy", ""))
        if measure in FROM_ONE:
            row = row._replace(value=1 - row.value, ci_low=1 - row.ci_high, ci_high=1 - row.ci_low)
        yield subject, arm_of(row, units, units - 1)


def _of_times(measure: str, table: pd.DataFrame | None) -> Iterator[tuple[Subject, Arm]]:
    for row in _rows(table, measure):
        yield Subject(row.model, "", row.hardware, ""), _with_interval(row, row.n_runs, 2 * (row.n_runs - 1))


def _of_kernels(table: pd.DataFrame | None) -> Iterator[tuple[Subject, Arm]]:
    """The share of the longest kernel in each mode, which stands for the variant; its error comes from both times."""
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


def is_emulated(place: Subject, toolings: Toolings) -> bool:
    """Whether the implementation noise of some runs is emulated."""
    varied = variant_named(place.variant) if place.variant else None
    emulates = toolings.get(place.hardware, {}).get("impl_noise") == "reduction-order"
    return emulates and varied is not None and "impl" in varied.varying


class ClaimPart(NamedTuple):
    """A weighted sum of logarithms of arms, by its name; `subjects` are those of the arms."""

    name: str
    terms: tuple[tuple[float, Arm], ...]
    subjects: tuple[Subject, ...]


def parts_of_claim(claim: Claim, arms: Arms, sizes: Mapping[tuple[str, str], float]) -> list[ClaimPart]:
    """Every part of a claim; `sizes` are the numbers of positive training examples by data set and group."""
    sides = [claim["of"], *_sides(claim)]
    named = set().union(*sides, claim["where"])
    where = {key: value for key, value in DEFAULTS.items() if key not in named} | claim["where"]
    subjects = [subject for subject in arms if _fits(subject, where, subject)]
    if claim["test"] == "trend":
        return list(_trends(claim, subjects, arms, sizes))
    if "over" not in claim:
        fitting = [subject for subject in subjects if _fits(subject, claim["of"], subject)]
        return [ClaimPart(_name(subject, ()), ((1, arms[subject]),), (subject,)) for subject in fitting]
    return list(_pairs(claim, subjects, arms))


def about_groups(claim: Claim) -> bool:
    """Whether a claim names a sub-group."""
    named = [side.get("group", []) for side in (claim["of"], *_sides(claim), claim["where"])]
    groups = {group for one in named for group in ([one] if isinstance(one, str) else one)}
    return bool(groups - {"all", "any", "class", "largest", "smallest"})


def _sides(claim: Claim) -> list[dict[str, Any]]:
    over = claim.get("over", [])
    return over if isinstance(over, list) else [over]


def _pairs(claim: Claim, subjects: list[Subject], arms: Arms) -> Iterator[ClaimPart]:
    sides, seen = _sides(claim), set()
    changed = set(claim["of"]).union(*sides)
    kept = [key for key in Subject._fields if key not in changed]
    alike: dict[tuple[str, ...], list[Subject]] = {}
    for subject in subjects:
        alike.setdefault(tuple(getattr(subject, key) for key in kept), []).append(subject)
    for group in alike.values():
        fitting = [[subject for subject in group if _fits(subject, side, subject)] for side in sides]
        for subject, *others in itertools.product(group, *fitting):
            if subject in others or not _fits(subject, claim["of"], others[0]):
                continue
            if not all(_agree(subject, other, claim["of"], side) for other, side in zip(others, sides, strict=True)):
                continue
            both = frozenset((subject, *others)) if claim["of"] == claim.get("over") else (subject, *others)
            if both in seen:
                continue
            seen.add(both)
            largest = max(others, key=lambda other: arms[other].value)
            terms = (1, arms[subject]), (-1, arms[largest])
            yield ClaimPart(_name(subject, (largest,)), terms, (subject, largest))


def _agree(a: Subject, b: Subject, of: Mapping[str, Any], over: Mapping[str, Any]) -> bool:
    """Whether two subjects are equal in each key that neither side names."""
    return all(getattr(a, key) == getattr(b, key) for key in Subject._fields if key not in of and key not in over)


def _trends(
    claim: Claim, subjects: Iterable[Subject], arms: Arms, sizes: Mapping[tuple[str, str], float]
) -> Iterator[ClaimPart]:
    ((key, along),) = claim["along"].items()
    series: dict[Subject, dict[Subject, float]] = {}
    for subject in subjects:
        size = _size(subject, key, along, sizes)
        if size and _fits(subject, claim["of"], subject):
            place = subject._replace(**{key: along if isinstance(along, str) else "size"})
            series.setdefault(place, {})[subject] = size
    for place, by_size in series.items():
        logs = np.log(list(by_size.values()))
        spread = np.sum((logs - logs.mean()) ** 2)
        if spread > 0:
            weights = (logs - logs.mean()) / spread
            terms = tuple((float(weight), arms[subject]) for weight, subject in zip(weights, by_size, strict=True))
            yield ClaimPart(f"{_name(place, ())}: {len(by_size)} sizes", terms, tuple(by_size))


def _size(
    subject: Subject, key: str, along: str | Mapping[str, float], sizes: Mapping[tuple[str, str], float]
) -> float:
    """The size that a trend follows: one stated by name, the positives of a group, or the number in a model's name."""
    if not isinstance(along, str):
        return along.get(getattr(subject, key), 0)
    if along == POSITIVES:
        return 0 if subject.group == "all" else sizes.get((subject.dataset, subject.group), 0)
    before, after = map(re.escape, along.split("{size}"))
    number = re.fullmatch(rf"{before}(\d+){after}", subject.model)
    return float(number[1]) if number else 0


def _fits(subject: Subject, selector: Mapping[str, Any], other: Subject) -> bool:
    return all(_is(key, getattr(subject, key), wanted, other) for key, wanted in selector.items())


def _is(key: str, value: str, wanted: str | list[str], other: Subject) -> bool:
    if isinstance(wanted, list):
        return any(_is(key, value, pattern, other) for pattern in wanted)
    if wanted == "any":
        return True
    if key == "group" and wanted in PARTS:
        return part_of(value) == PARTS[wanted]
    return fnmatch.fnmatchcase(value, wanted.replace("{model}", other.model))


def _name(first: Subject, others: tuple[Subject, ...]) -> str:
    """The place of a part, and how its sides differ."""
    same = [value for key, value in first._asdict().items() if all(getattr(other, key) == value for other in others)]
    place = "/".join(value for value in same if value and value != "all")
    if not others:
        return place
    sides = [_differing(subject, first, others) for subject in (first, *others)]
    return f"{place}: {sides[0]} over {' and '.join(sides[1:])}"


def _differing(subject: Subject, first: Subject, others: tuple[Subject, ...]) -> str:
    keys = [key for key in Subject._fields if any(getattr(other, key) != getattr(first, key) for other in others)]
    return "/".join(getattr(subject, key) or "none" for key in keys)
