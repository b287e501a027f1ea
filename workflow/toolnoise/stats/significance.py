"""Is one arm better than the other? Welch's test of two means, many tests at once, and the runs that a test needs.

Differences are second arm minus first, as in papers/frameworks/pair.py.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats

from toolnoise.stats.estimates import UNDEFINED, Estimate, equal_reach, standard_deviation, t_interval

LEVEL, POWER = 0.05, 0.8
MOST_RUNS = 1_000_000
# The most degrees of freedom of a test with a small arm, by its runs. With these, at most 6 % of studies name a false
# winner, whatever the other arm and the ratio of the SDs (bench/error_rates.py integrates it); more runs need no limit.
SMALL_ARMS = {2: 1.2, 3: 2.5, 4: 4.5}


class Result(NamedTuple):
    """A two-sided test. `effect` is the tested quantity, a difference or a ratio, with its 95 % interval."""

    statistic: float
    pvalue: float
    effect: Estimate


UNDECIDED = Result(np.nan, np.nan, UNDEFINED)


def mean_difference(a: np.ndarray, b: np.ndarray, steps: tuple[float, float] = (0.0, 0.0)) -> Result:
    """Welch's test of two means, whose SDs need not be equal, with his interval of their difference.

    A small arm limits the degrees of freedom (`cautious_freedom`). `steps` are those of the arms (stats/estimates.py).
    If all runs of each arm are equal, there is no SD to test with. Two accuracies that differ by one example in two
    runs are no evidence, so `equal_arms` is used then.
    """
    if min(len(a), len(b)) < 2:
        return UNDECIDED
    difference = float(b.mean() - a.mean())
    squares = np.array([standard_deviation(arm) ** 2 / len(arm) for arm in (a, b)])
    error = float(np.sqrt(squares.sum()))
    if error == 0:
        return equal_arms(difference, float(np.max([steps[0] / len(a), steps[1] / len(b)])))
    freedom = cautious_freedom(error**4 / np.sum(squares**2 / [len(a) - 1, len(b) - 1]), len(a), len(b))
    return t_test(difference, error, freedom)


def t_test(difference: float, error: float, freedom: float) -> Result:
    """Student's two-sided test of a difference with this standard error."""
    statistic = difference / error
    return Result(statistic, float(2 * stats.t.sf(abs(statistic), freedom)), t_interval(difference, error, freedom))


def cautious_freedom(freedom: float, runs_a: int, runs_b: int) -> float:
    """Satterthwaite's degrees of freedom, or fewer if an arm has two runs, or three or four and the other has more.

    Satterthwaite's are too many if the SD of a few runs happens to be small and their mean decides: 2 runs against 10
    have up to 11.8 % false winners. With 3 or 4 runs in each arm, the other arm's SD makes up for a small one.
    """
    return min(freedom, most_freedom(runs_a, runs_b))


def most_freedom(runs_a: int, runs_b: int) -> float:
    """The most degrees of freedom of a test with so few runs; infinite if there is no limit."""
    return np.inf if runs_a == runs_b > 2 else SMALL_ARMS.get(min(runs_a, runs_b), np.inf)


def equal_arms(difference: float, step_per_run: float) -> Result:
    """The test of two arms whose runs are all equal, from the larger step per run of the arms.

    With equal means, such arms differ only if deviations that no run shows shift the mean of one, as in `equal_reach`;
    the p-value inverts its interval. Bit-equal arms either differ or do not: p is 0 or 1.
    """
    statistic = float(np.copysign(np.inf, difference)) if difference else 0.0
    reach = float(equal_reach(1, step_per_run))
    if step_per_run == 0:
        pvalue = float(difference == 0)
    else:
        pvalue = float(np.minimum(1, 2 * np.exp(-abs(difference) / step_per_run)))
    return Result(statistic, pvalue, Estimate(difference, difference - reach, difference + reach))


def holm_pvalues(pvalues: np.ndarray) -> np.ndarray:
    """P-values adjusted for the number of tests, across classes, sub-groups or tasks, by Holm's (1979) steps.

    Comparing them with a level keeps the chance of any false positive below that level, under any dependence between
    the tests. An undefined p-value is no test: it stays NaN and does not count.
    """
    pvalues = np.asarray(pvalues, float)
    adjusted = np.full(pvalues.shape, np.nan)
    defined = np.flatnonzero(~np.isnan(pvalues))
    order = defined[np.argsort(pvalues[defined], kind="stable")]
    ordered = pvalues[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(ordered * np.arange(len(ordered), 0, -1)), 1)
    return adjusted


def runs_needed(power_of: Callable[[int], float], power: float = POWER) -> int | None:
    """The smallest number of runs per arm with this power, at least 2; None if a million are too few."""
    if power_of(MOST_RUNS) < power:
        return None
    low, high = 1, 2
    while power_of(high) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(middle) >= power else (middle, high)
    return high
