"""What `toolnoise plan` takes from a table of runs: an arm's SD, and of two arms what sharing seeds saves."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from toolnoise.base.errors import BadInput
from toolnoise.comparison import comparison
from toolnoise.comparison.sample_size import SharedSeeds, Spread
from toolnoise.comparison.tables import reading
from toolnoise.comparison.tables.arguments import Asked
from toolnoise.comparison.tables.differences import ROUNDING, plan_of
from toolnoise.comparison.tables.directions import require_directions
from toolnoise.comparison.tables.runs import Run, Runs
from toolnoise.comparison.tables.sessions import require_own_sessions
from toolnoise.stats.estimates import TAIL, Estimate, standard_deviation
from toolnoise.stats.spread import sd_interval


def spread(files: Sequence[str], asked: Asked, arms: Sequence[str] | None = None) -> Spread:
    """The SD of the runs of an arm, or of two: those named, or the only ones."""
    if len(asked.metrics) != 1:
        raise BadInput("command line", "--metric", f"found {', '.join(asked.metrics)}", "one metric to plan for")
    runs = reading.read([[file] for file in files], asked, alone=True)
    require_directions(runs.metrics)  # a gain is better
    require_own_sessions(asked.metrics[0], asked.session)
    chosen = _chosen(runs, arms)
    name = asked.metrics[0]
    values = [np.array([run.metrics[name] for run in runs.of(arm, name)]) for arm in chosen]
    for arm, of in zip(chosen, values, strict=True):
        if len(of) < 2:
            raise BadInput(", ".join(files), arm, f"found {len(of)} run", "an SD needs 2 or more")
    variances = np.array([standard_deviation(of) ** 2 for of in values])
    sd = float(np.sqrt(variances.mean()))
    if not np.isfinite(sd) or sd <= ROUNDING * max(np.abs(of).max() for of in values):
        raise BadInput(", ".join(files), " and ".join(chosen), "its runs are equal: their SD is 0", "runs with noise")
    shared, covariance, pairs = None, 0.0, 0
    if len(chosen) == 2:
        a, b = (runs.of(arm, name) for arm in chosen)
        shared, covariance, pairs = _shared(a, b, *values)
    # Of both arms together, as far as their SDs are alike; runs that agree say the same of it.
    alike = 2 * covariance**2 / max(pairs - 1, 1) if len(chosen) == 2 else 0.0
    freedom = variances.sum() ** 2 / (
        sum(each**2 / (len(of) - 1) for each, of in zip(variances, values, strict=True)) + alike
    )
    # The line on what is better says nothing here.
    notes = tuple(runs.described[:-1])
    source = " and ".join(chosen) + (", each" if len(chosen) == 2 else "")
    counts = list(map(len, values))
    of, unit = sd_interval(sd, freedom + 1), runs.metrics[0].unit
    return Spread(of, sum(counts), source, name, unit, shared, notes, freedom, min(counts))


def _chosen(runs: Runs, arms: Sequence[str] | None) -> list[str]:
    """The arms that the plan is for."""
    for arm in arms or ():
        if arm not in runs.arms:
            raise BadInput("command line", "--arm", f"found {arm}", f"of the arms: {', '.join(runs.arms)}")
    chosen = list(dict.fromkeys(arms or runs.arms))
    if not 1 <= len(chosen) <= 2:
        what = f"found {len(chosen)} arms" if chosen else "found no run with the metric"
        raise BadInput("command line", "--arm", what, f"one or two of {', '.join(runs.arms) or 'some'}")
    return chosen


def _shared(
    a: Sequence[Run], b: Sequence[Run], of_a: np.ndarray, of_b: np.ndarray
) -> tuple[SharedSeeds | None, float, int]:
    """What the seeds say that are in both arms, the covariance of their runs, and how many there are."""
    plan = plan_of(a, b)
    if plan.shared < 2:
        return None, 0.0, plan.shared
    first, second = (means[: plan.shared] for means in comparison.unit_means(plan, of_a, of_b))
    difference, total = (float(standard_deviation(each)) for each in (second - first, first + second))
    if difference <= ROUNDING * max(np.abs(first).max(), np.abs(second).max()):
        return None, 0.0, plan.shared
    remaining = remaining_variance(difference**2, total**2, plan.shared)
    correlation = Estimate(*(1 - part for part in (remaining.value, remaining.high, remaining.low)))
    of_pairs = SharedSeeds(plan.shared, sd_interval(difference, plan.shared), remaining, correlation)
    return of_pairs, float(np.cov(first, second)[0, 1]), plan.shared


def remaining_variance(of_differences: float, of_sums: float, pairs: int) -> Estimate:
    """The variance of a difference in pairs over that of unpaired runs, from those of the pairs' differences and sums.

    It is 2 / (1 + S / D). If both arms have one SD, differences and sums are independent, so S / D has an F interval,
    exact with two pairs as with many; if the SDs differ, it is too wide.
    """
    ratio = of_sums / of_differences
    low, high = ratio / stats.f.ppf([1 - TAIL, TAIL], pairs - 1, pairs - 1)
    return Estimate(*(float(2 / (1 + each)) for each in (ratio, high, low)))
