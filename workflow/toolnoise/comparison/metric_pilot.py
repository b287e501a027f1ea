"""What `toolnoise plan` takes from runs in tables: an arm's SD, and of two arms what sharing seeds saves."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from toolnoise.base.errors import BadArgument, BadInput
from toolnoise.comparison import comparison
from toolnoise.comparison.compared_metrics import ROUNDING, plan_of
from toolnoise.comparison.metric_names import require_directions
from toolnoise.comparison.metric_runs import Runs, require_own_sessions
from toolnoise.comparison.sample_size import SharedSeeds, Spread
from toolnoise.stats.estimates import TAIL, Estimate, standard_deviation
from toolnoise.stats.spread import sd_interval


def spread(runs: Runs, file: str, arms: Sequence[str] | None = None) -> Spread:
    """The SD of the runs of an arm, or of two: those named, or the only ones; `file` is for messages."""
    metric, *more = runs.metrics
    if more:
        named = ", ".join(each.name for each in runs.metrics)
        raise BadArgument("metric", f"found {named}", "one metric to plan for")
    require_directions([metric])  # a gain is better
    require_own_sessions(metric.name, runs.session)
    chosen = _chosen(runs, arms)
    of_arms = [runs.of(arm, metric.name) for arm in chosen]
    values = [of["value"].to_numpy() for of in of_arms]
    for arm, of in zip(chosen, values, strict=True):
        if len(of) < 2:
            raise BadInput(file, arm, f"found {len(of)} run", "an SD needs 2 or more")
    variances, counts = np.array([standard_deviation(of) ** 2 for of in values]), list(map(len, values))
    sd = float(np.sqrt(variances.mean()))
    if not np.isfinite(sd) or sd <= ROUNDING * max(np.abs(of).max() for of in values):
        raise BadInput(file, " and ".join(chosen), "its runs are equal: their SD is 0", "runs with noise")
    shared, covariance, pairs = _shared(*of_arms) if len(chosen) == 2 else (None, 0.0, 2)
    # Of both arms together, as far as their SDs are alike; runs that agree say the same of it.
    alike = 2 * covariance**2 / max(pairs - 1, 1)
    freedom = variances.sum() ** 2 / (sum(variances**2 / (np.array(counts) - 1)) + alike)
    # The line on what is better says nothing here.
    notes, source = tuple(runs.described[:-1]), " and ".join(chosen) + (", each" if len(chosen) == 2 else "")
    of = sd_interval(sd, freedom + 1)
    return Spread(of, sum(counts), source, metric.name, metric.unit, shared, notes, freedom, min(counts))


def _chosen(runs: Runs, arms: Sequence[str] | None) -> list[str]:
    """The arms that the plan is for."""
    for arm in arms or ():
        if arm not in runs.arms:
            raise BadArgument("arm", f"found {arm}", f"of the arms: {', '.join(runs.arms)}")
    chosen = list(dict.fromkeys(arms or runs.arms))
    if not 1 <= len(chosen) <= 2:
        what = f"found {len(chosen)} arms" if chosen else "found no run with the metric"
        raise BadArgument("arm", what, f"one or two of {', '.join(runs.arms) or 'some'}")
    return chosen


def _shared(a: pd.DataFrame, b: pd.DataFrame) -> tuple[SharedSeeds | None, float, int]:
    """What the seeds say that are in both arms, the covariance of their runs, and how many there are."""
    plan = plan_of(a, b)
    means = comparison.unit_means(plan, a["value"].to_numpy(), b["value"].to_numpy())
    first, second = (of_arm[: plan.shared] for of_arm in means)
    if plan.shared < 2:
        return None, 0.0, plan.shared
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
