"""Spread of runs: the SD with its intervals.

The chi-square interval assumes normal runs. Bonett's does not; both are reported because accuracies are bounded and
discrete. Bounds of an SD are never negative. Both intervals treat an SD of exactly 0 alike (`equal_runs_sd`).
"""

from functools import cache

import numpy as np
import scipy

from toolnoise.stats.estimates import TAIL, UNDEFINED, Estimate, positive_mean_t, standard_deviation
from toolnoise.stats.jackknife import MANY

FURTHEST = 100  # times an SD over draws: an interval that reaches further says nothing of it


def sd_chi2(values: np.ndarray, step: float = np.nan) -> Estimate:
    """SD of the runs with the chi-square interval; all NaN for fewer than two runs."""
    if len(values) < 2:
        return UNDEFINED
    sd = float(standard_deviation(values))
    return sd_interval(sd, len(values)) if sd != 0 else equal_runs_sd(len(values), step)


def sd_interval(sd: float, runs: int) -> Estimate:
    """The chi-square interval of the sample SD of two runs or more."""
    low, high = sd * np.sqrt((runs - 1) / scipy.stats.chi2.ppf([1 - TAIL, TAIL], runs - 1))
    return Estimate(sd, float(low), float(high))


def root_mean_square(sds: np.ndarray) -> Estimate:
    """The root of the mean over draws of the variance within a draw, from the draws' SDs, with an interval over draws.

    It is that of the mean variance, but there is none that would reach more than `FURTHEST` times as far as the SD.
    """
    value, low, high = np.sqrt(positive_mean_t(np.square(sds))).tolist()
    return Estimate(value, low, high) if high < FURTHEST * value else Estimate(value)


def equal_runs_sd(runs: int, step: float) -> Estimate:
    """The SD of runs that all have the same value of a rate, with `step` its smallest difference (see `estimates`).

    It is 0. Its upper bound is the SD at which runs are all equal in a share `TAIL` of studies.
    """
    return Estimate(0.0, 0 * step, _largest_sd_of_equal_runs(runs) * step)


@cache
def _largest_sd_of_equal_runs(runs: int) -> float:
    """The bound of `equal_runs_sd` in steps, if examples deviate rarely and independently, up as often as down.

    The number of deviations up, minus those down, then has Skellam's distribution. With deviations to one side alone,
    as in a class near 100 %, equal runs are rarer at the same SD, so this bound holds for them, too.
    """
    far = np.arange(-200, 201)  # ten SDs at the largest variance tried

    def excess(variance: float) -> float:
        return np.sum(scipy.special.ive(far, variance) ** runs) - TAIL

    return float(np.sqrt(scipy.optimize.brentq(excess, 0, 400)))


def sd_robust(values: np.ndarray, step: float = np.nan) -> Estimate:
    """SD of the runs with Bonett's (2006) interval, which estimates the tails of the distribution from the runs.

    With ten runs it contains the SD in about 95 % of cases, whether the runs are normal or not (bench/error_rates.py).
    The chi-square interval does so for normal runs only. Fewer than five runs have no interval.
    """
    count = len(values)
    sd = float(standard_deviation(values))
    if sd == 0:
        return equal_runs_sd(len(values), step)
    if count < 5 or np.isnan(sd):
        return Estimate(sd)
    normal = scipy.stats.norm.ppf(1 - TAIL)
    shifted = (values - values[0]) / sd
    centre = scipy.stats.trim_mean(shifted, 1 / (2 * np.sqrt(count - 4)))
    kurtosis = count * np.sum((shifted - centre) ** 4) / (count - 1) ** 2
    correction = count / (count - normal)
    error = correction * np.sqrt(max(kurtosis - (count - 3) / count, 0) / (count - 1))
    low, high = sd * np.sqrt(correction * np.exp(np.array([-1, 1]) * normal * error))
    return Estimate(sd, float(low), float(high))


def sd_without_each(values: np.ndarray) -> np.ndarray:
    """The SD without the first run, without the second, and so on."""
    if len(values) > MANY:
        # Each sum of squares from the whole one: no digit of many runs is lost.
        shifted = values - values[0]
        distances, others = np.square(shifted - shifted.mean()), len(values) - 1
        squares = distances.sum() - distances * (len(values) / others)
        return np.sqrt(np.maximum(squares, 0) / (others - 1))
    return np.array([standard_deviation(np.delete(values, run)) for run in range(len(values))])
