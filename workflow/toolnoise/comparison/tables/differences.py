"""Arms compared by the metrics of their runs: the tests of comparison and stats, with seeds as draws.

Runs of two arms with one seed are a pair. Student's test of pairs, the partly paired one or Welch's follows from which
seeds both arms have. Where sessions are known, the mean of an arm's runs in one takes the place of a run, and sessions
that of seeds. P-values are adjusted by Holm over all metrics and all pairs of arms that are tested.
"""

import itertools
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.comparison import comparison, designs
from toolnoise.comparison.designs import Design, Way
from toolnoise.comparison.partly_paired import pair_weight
from toolnoise.comparison.tables.arguments import PREVIOUS
from toolnoise.comparison.tables.directions import Metric
from toolnoise.comparison.tables.runs import LEFT, NUMBERED, Run, Runs
from toolnoise.comparison.two_arms import adjusted, hedges_g, probability_of_improvement
from toolnoise.stats.estimates import UNDEFINED, Estimate, mean_t
from toolnoise.stats.spread import sd_chi2
from toolnoise.stats.two_means import Result, most_freedom

RUN_ID = re.compile(r"(?=[A-Za-z0-9]*[0-9])[A-Za-z0-9]{8}")  # in names that loggers give: no two runs have one
ROUNDING = 1e-12  # of the largest number: closer differences are equal but for the rounding of decimals


class MetricArm(NamedTuple):
    """An arm's runs that have the metric; with sessions, the mean and the SD are those of the sessions' means."""

    name: str
    n_runs: int
    n_sessions: int | None
    mean: Estimate
    sd: Estimate


class MetricComparison(NamedTuple):
    """Two arms by one metric. `n_pairs` seeds or sessions are in both, or runs that a user calls pairs (`pairs_are`).
    `n_in_both` runs stand in both.

    `pair_weight` is the share of the pairs' difference. `test` names the test; `probability_of_improvement` counts
    what is better, whichever way that is. If that is not known, `lower_is_better` is None, and what is higher counts as
    `probability_of_higher`.
    """

    metric: str
    lower_is_better: bool | None
    unit: str
    a: MetricArm
    b: MetricArm
    way: Way
    test: str
    n_pairs: int
    pairs_are: Literal["seeds", "runs", "sessions"]
    n_in_both: int
    pair_weight: float
    difference: Estimate
    pvalue: float
    pvalue_holm: float
    sd_ratio: Estimate
    hedges_g: Estimate
    probability_of_improvement: Estimate
    probability_of_higher: Estimate


TESTS = {"paired": "Student's t of pairs", "partly paired": "t of partly paired runs", "independent": "Welch's t"}
TESTS |= dict.fromkeys(designs.UNTESTED, "none")


def compare(runs: Runs, against: str | None = None, *, all_pairs: bool = False) -> list[MetricComparison]:
    """Compare arms by every metric: all with the first or with `against`, each with the one before, or every two."""
    if len(runs.arms) < 2:
        left = " ".join(note for note in runs.notes if note.startswith(LEFT))
        what = f"found {f'{runs.arms[0]} alone' if runs.arms else 'no run'}. {left}"
        raise BadInput("command line", "--by", what.rstrip(". "), "two arms or more, with runs that have the metric")
    found = []
    for a, b in _pairs(runs.arms, against, all_pairs=all_pairs):
        same = runs_in_both(*([run for run in runs.runs if run.arm == arm and run.metrics] for arm in (a, b)))
        for metric in runs.metrics:
            if runs.of(a, metric.name) and runs.of(b, metric.name):
                found.append(_compared(runs, metric, a, b, same))
    return adjusted(found)


def _pairs(arms: Sequence[str], against: str | None, *, all_pairs: bool) -> list[tuple[str, str]]:
    if against is not None and all_pairs:
        raise BadInput("command line", "--against", "found --all-pairs, too", "one of them")
    if against not in (None, PREVIOUS, *arms):
        allowed = f"{PREVIOUS}, or of the arms: {', '.join(arms)}"
        raise BadInput("command line", "--against", f"found {against}", allowed)
    if all_pairs:
        return list(itertools.combinations(arms, 2))
    if against == PREVIOUS and PREVIOUS not in arms:
        return list(itertools.pairwise(arms))
    first = arms[0] if against is None else against
    return [(first, arm) for arm in arms if arm != first]


def runs_in_both(a: Sequence[Run], b: Sequence[Run]) -> int:
    """How many runs stand in both arms, with equal numbers: by their ids, or if all runs of an arm do.

    Some numbers may agree by chance, such as accuracies in whole percent. Seeds, if they are known, must agree, too.
    """
    with_id = [[(run.name, _numbers_of(run)) for run in arm if RUN_ID.search(run.name)] for arm in (a, b)]
    seeded = all(run.seed is not None and not run.seed.startswith(NUMBERED) for run in (*a, *b))
    contents = [[(run.seed if seeded else "", _numbers_of(run)) for run in arm] for arm in (a, b)]
    different = len({_numbers_of(run) for run in min(a, b, key=len)})
    return max(designs.equal_runs(*with_id), designs.copied_runs(*contents, different))


def _numbers_of(run: Run) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(run.metrics.items()))


def plan_of(a: Sequence[Run], b: Sequence[Run]) -> Design:
    """How two arms can be compared: runs of one session, or else of one seed, are one draw, others have their own."""
    numbers: dict[object, int] = {}
    units = []
    for side, of in enumerate((a, b)):
        known = [run.seed if run.session is None else run.session for run in of]
        draws = [(side, place) if draw is None else draw for place, draw in enumerate(known)]
        units.append([numbers.setdefault(draw, len(numbers)) for draw in draws])
    return designs.design(*map(np.array, units))


def tested(plan: Design, a: np.ndarray, b: np.ndarray) -> Result:
    """The test of two arms' numbers; pairs of which all differences are equal have none."""
    if plan.way == "paired":
        of_a, of_b = comparison.unit_means(plan, a, b)
        differences = of_b - of_a
        if np.ptp(differences) <= ROUNDING * max(np.abs(of_a).max(), np.abs(of_b).max()):
            return Result(np.nan, np.nan, Estimate(float(differences.mean())))
    # What the smallest difference of a metric is, is not known.
    return comparison.difference(plan, a, b, np.nan)


def _name_of_test(way: Way, runs_a: int, runs_b: int) -> str:
    """What the test is called; that of few runs is not quite Welch's."""
    most = most_freedom(runs_a, runs_b)
    limit = f", at most {most:g} degrees of freedom" if way == "independent" and most < np.inf else ""
    return TESTS[way] + limit


def _arm(name: str, of_runs: np.ndarray, of_sessions: np.ndarray | None, way: Way) -> MetricArm:
    units = of_runs if of_sessions is None else of_sessions
    mean, sd = mean_t(units, np.nan), sd_chi2(units, np.nan)
    if way == "no sessions":  # runs that share a session say nothing about others
        mean, sd = Estimate(mean.value), Estimate(sd.value)
    return MetricArm(name, len(of_runs), None if of_sessions is None else len(of_sessions), mean, sd)


def _compared(runs: Runs, metric: Metric, name_a: str, name_b: str, same: int) -> MetricComparison:
    of_a, of_b = (runs.of(name, metric.name) for name in (name_a, name_b))
    a, b = (np.array([run.metrics[metric.name] for run in of]) for of in (of_a, of_b))
    plan, in_sessions = plan_of(of_a, of_b), of_a[0].session is not None
    if runs.sessions_missing(metric.name):
        plan = plan._replace(way="no sessions")
    if same:
        plan = plan._replace(way="same runs")
    means = comparison.unit_means(plan, a, b)
    test, untested = tested(plan, a, b), plan.way in designs.UNTESTED
    better = [-values if metric.lower else values for values in means]
    beats = UNDEFINED if untested else probability_of_improvement(*better, plan.shared)
    pairs = plan.shared if in_sessions or plan.way in comparison.PAIRED else 0
    return MetricComparison(
        metric.name,
        metric.lower,
        metric.unit,
        *(
            _arm(name, of, of_sessions if in_sessions else None, plan.way)
            for name, of, of_sessions in zip((name_a, name_b), (a, b), means, strict=True)
        ),
        plan.way,
        _name_of_test(plan.way, *map(len, means)),
        pairs,
        "sessions" if in_sessions else "runs" if (of_a[0].seed or "").startswith(NUMBERED) else "seeds",
        same,
        pair_weight(*means, plan.shared).value if plan.way == "partly paired" else 0.0,
        test.effect,
        test.pvalue,
        test.pvalue,
        UNDEFINED if untested else comparison.sd_ratio(plan, a, b),
        UNDEFINED if untested else hedges_g(*means),
        UNDEFINED if metric.lower is None else beats,
        beats if metric.lower is None else UNDEFINED,
    )
