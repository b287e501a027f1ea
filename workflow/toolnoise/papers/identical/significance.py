"""Tests between sets of identical runs, those of the analysis of Pham et al. (2020; their 4_4_analyze_stat_test.py).

Levene's test asks whether two sets spread equally, Mann and Whitney's whether one lies above the other. They compare
fixed-seed with default runs, networks, criteria of convergence, and frameworks (here any two toolings). Two differences
from theirs: their SciPy gave half of the two-sided p-value of Mann and Whitney's test, on the side that the data
suggest; and of several configurations they take the one with the largest variance, ours are compared one by one.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from toolnoise.papers.identical.metric import COUNTED

FIXED, DEFAULT = "impl", "algo_impl"
LOWEST_LOSS, BEST_ACCURACY = "lowest-loss", "best-accuracy"


class RunSet(NamedTuple):
    """What a set of runs has in common."""

    network: str
    dataset: str
    hardware: str
    variant: str
    stopping_type: str


class TestedSets(NamedTuple):
    """Two sets of runs compared in one quantity; `mann_whitney` is NaN where their analysis has Levene's test alone."""

    comparison: str
    quantity: str
    a: RunSet
    b: RunSet
    n_a: int
    n_b: int
    levene: float
    mann_whitney: float


def levene(a: np.ndarray, b: np.ndarray) -> float:
    """The p-value of Levene's test around medians, as SciPy has it by default and as they use it.

    With few runs it rejects too rarely. Without the zeros that the median leaves it would keep its level (Hines and
    Hines 2000).
    """
    distances = [np.abs(arm - np.median(arm)) for arm in (a, b) if len(arm) > 1]
    if len(distances) < 2 or all(np.ptp(arm) == 0 for arm in distances):
        return np.nan
    return float(stats.levene(a, b, center="median").pvalue)


def mann_whitney(a: np.ndarray, b: np.ndarray) -> float:
    """The two-sided p-value of Mann and Whitney's test; undefined, as with them, where all runs are equal."""
    if not (len(a) and len(b)) or np.ptp(np.concatenate([a, b])) == 0:
        return np.nan
    return float(stats.mannwhitneyu(a, b, alternative="two-sided", method="asymptotic").pvalue)


def tests(rows: Iterable[Mapping[str, Any]]) -> list[TestedSets]:
    """Every comparison of their analysis that these rows of `CONVERGENCE` have the runs for."""
    arms: dict[RunSet, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row["status"] == COUNTED and row["variant"] in (FIXED, DEFAULT):
            arms.setdefault(RunSet(*(row[name] for name in RunSet._fields)), []).append(row)
    return list(_tests(arms))


def _tests(arms: Mapping[RunSet, Sequence[Mapping[str, Any]]]) -> Iterator[TestedSets]:
    criteria = list(dict.fromkeys(arm.stopping_type for arm in arms))
    accuracies, convergence = ("accuracy", "class_accuracy"), ("convergent", "convergent_epoch")
    # Accuracies at the end of training are the same by every criterion; theirs are those at the lowest loss.
    once = [arm for arm in arms if arm.stopping_type == (LOWEST_LOSS if LOWEST_LOSS in criteria else criteria[0])]
    fixed = [arm for arm in once if arm.variant == FIXED]
    for arm in fixed:
        if (other := arm._replace(variant=DEFAULT)) in arms:
            yield from _compared("seeds", arms, arm, other, accuracies, ranks=False)
    for arm, other in itertools.combinations(fixed, 2):
        if arm.hardware == other.hardware:
            yield from _compared("networks", arms, arm, other, accuracies, ranks=False)
    for arm in arms:
        if arm.stopping_type == LOWEST_LOSS and (other := arm._replace(stopping_type=BEST_ACCURACY)) in arms:
            yield from _compared("criteria", arms, arm, other, convergence)
    for arm, other in itertools.combinations(fixed, 2):
        if arm._replace(hardware=other.hardware) == other:
            yield from _compared("toolings", arms, arm, other, ("accuracy", "convergent_epoch"))


def _compared(
    comparison: str,
    arms: Mapping[RunSet, Sequence[Mapping[str, Any]]],
    first: RunSet,
    other: RunSet,
    quantities: Sequence[str],
    ranks: bool = True,
) -> Iterator[TestedSets]:
    for quantity in quantities:
        values = (np.array([row[quantity] for row in arms[arm]], float) for arm in (first, other))
        a, b = (arm[~np.isnan(arm)] for arm in values)
        whole = mann_whitney(a, b) if ranks else np.nan
        yield TestedSets(comparison, quantity, first, other, len(a), len(b), levene(a, b), whole)
