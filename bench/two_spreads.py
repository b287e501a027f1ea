"""Do two arms have equal spread? Three tests of equality, and one of equivalence within a margin.

All are two-sided: the side is never chosen after seeing which arm varies more. The effect is the first arm's SD over
the second's. An arm of equal runs has no ratio, and the test is then undecided: accuracies are discrete, so an observed
SD of 0 does not mean a true SD of 0.

The F test holds its significance level for normal runs only. The Brown-Forsythe test and the permutation test hold it
for other distributions too, with slightly less power.
"""

import numpy as np
from scipy import stats

from toolnoise import streams
from toolnoise.analyses.overhead.metric import ratio_of_means
from toolnoise.stats.estimates import TAIL, Estimate, standard_deviation, t_interval
from toolnoise.stats.jackknife import standard_error
from toolnoise.stats.spread import RESAMPLES, ROUNDING, sd_without_each
from toolnoise.stats.two_means import UNDECIDED, Result


def f_test(a: np.ndarray, b: np.ndarray) -> Result:
    """The F test of two variances, with the interval of the ratio of SDs that is exact for normal runs."""
    return f_test_from_sds(float(standard_deviation(a)), len(a), float(standard_deviation(b)), len(b))


def f_test_from_sds(sd_a: float, runs_a: int, sd_b: float, runs_b: int) -> Result:
    """`f_test` for studies that published only SDs and numbers of runs."""
    if not (sd_a > 0 and sd_b > 0):
        return UNDECIDED
    ratio = sd_a / sd_b
    null = stats.f(runs_a - 1, runs_b - 1)
    low, high = ratio / np.sqrt(null.ppf([1 - TAIL, TAIL]))
    pvalue = min(1.0, 2 * min(null.cdf(ratio**2), null.sf(ratio**2)))
    return Result(ratio**2, float(pvalue), Estimate(ratio, float(low), float(high)))


def brown_forsythe(a: np.ndarray, b: np.ndarray) -> Result:
    """Brown and Forsythe's test: do runs lie equally far from the median of their arm, on average?

    Its effect is the ratio of those mean distances. The median makes one distance of an arm, or the difference of two
    distances, zero by construction. With these zeros and ten runs, the plain test rejects in 3 % of cases, not in 5 %.
    The zeros are left out (Hines and Hines 2000).
    """
    if min(len(a), len(b)) < 2 or len(a) + len(b) < 5:
        return UNDECIDED
    one, other = _distances(a), _distances(b)
    freedom = len(one) + len(other) - 2
    squares = sum(np.sum(np.square(distances - distances.mean())) for distances in (one, other))
    if not (squares > 0 and one.any() and other.any()):
        return UNDECIDED
    error = np.sqrt(squares / freedom * (1 / len(one) + 1 / len(other)))
    statistic = float((one.mean() - other.mean()) / error) ** 2
    return Result(statistic, float(stats.f.sf(statistic, 1, freedom)), ratio_of_means(one, other))


def permutation_test(a: np.ndarray, b: np.ndarray, stream: int) -> Result:
    """Is the ratio of SDs extreme among those of the same runs, randomly reassigned to the arms?

    Runs are centred on the mean of their arm, since their means are not in question. The interval of the ratio is the
    jackknife interval of its logarithm.
    """
    sds = [standard_deviation(arm) for arm in (a, b)]
    if not all(sd > 0 for sd in sds):
        return UNDECIDED
    size = len(a) + len(b)
    # Deviations from the arm's mean are smaller in an arm of fewer runs; the factor corrects this.
    pool = np.concatenate([(arm - arm.mean()) * np.sqrt(len(arm) / (len(arm) - 1)) for arm in (a, b)]) / max(sds)
    dealt = pool[np.argsort(streams.raw(stream, RESAMPLES * size).reshape(RESAMPLES, size), axis=1)]
    logs = np.log(sds[0] / sds[1])
    with np.errstate(divide="ignore"):  # an arm of equal runs is as extreme as possible
        others = np.log(standard_deviation(dealt[:, : len(a)])) - np.log(standard_deviation(dealt[:, len(a) :]))
    extreme = int(np.count_nonzero(np.abs(others) >= abs(logs) - ROUNDING))
    return Result(float(logs), (extreme + 1) / (RESAMPLES + 1), _jackknife_ratio(a, b, float(sds[0] / sds[1])))


def equivalence(a: np.ndarray, b: np.ndarray, margin: float) -> Result:
    """Two one-sided tests that the ratio of SDs of normal runs lies between 1 / margin and margin.

    A small p-value supports equivalence. It is below 5 % exactly if the 90 % interval of the ratio lies within the
    margin.
    """
    found = f_test(a, b)
    null = stats.f(len(a) - 1, len(b) - 1)
    too_large, too_small = null.cdf(found.statistic / margin**2), null.sf(found.statistic * margin**2)
    return Result(float(np.log(found.effect.value)), float(np.maximum(too_large, too_small)), found.effect)


def _distances(arm: np.ndarray) -> np.ndarray:
    """Distances of the runs from their median, without the value that is zero by construction: one fewer than runs."""
    distances = np.sort(np.abs(arm - np.median(arm)))[1:]
    if len(arm) % 2 == 0:
        # The two middle distances are equal: their sum over sqrt(2) is kept, their difference is dropped.
        distances[0] *= np.sqrt(2)
    return distances


def _jackknife_ratio(a: np.ndarray, b: np.ndarray, ratio: float) -> Estimate:
    without = [sd_without_each(arm) for arm in (a, b)]
    if not all(np.all(sds > 0) for sds in without):
        return Estimate(ratio, np.nan, np.nan)
    squares = np.square([standard_error(np.log(sds)) for sds in without])
    freedom = squares.sum() ** 2 / np.sum(squares**2 / [len(a) - 1, len(b) - 1]) if squares.any() else 1
    logarithm = t_interval(np.log(ratio), np.sqrt(squares.sum()), freedom)
    with np.errstate(over="ignore"):  # an interval too wide for a float ends at infinity, which is true
        return Estimate(ratio, float(np.exp(logarithm.low)), float(np.exp(logarithm.high)))
