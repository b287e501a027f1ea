"""A value with its interval: the mean of runs, their SD, and a share of examples.

Every statistic of this package is an `Estimate`. A quantity that the available runs cannot determine is NaN, never a
guess or a warning: one run has a mean but no interval.

Equal values do not prove that nothing varies: five runs that are right on a whole class may err on it next time. So a
method for runs takes a `step`, the smallest difference that two values can have: 1 / N for a rate over N examples.
Equal values without a step have no interval: those of a quantity without a smallest difference, and those of bit-equal
runs. A value without an error has no interval either, so every interval has a width.

An SD has two intervals. The chi-square one assumes normal runs. Bonett's does not; both are reported because accuracies
are bounded and discrete. Bounds of an SD are never negative.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import scipy

LEVEL = 0.95
TAIL = (1 - LEVEL) / 2


class Estimate(NamedTuple):
    """A value and the bounds of its interval at `LEVEL`; NaN where undefined."""

    value: float
    low: float = np.nan
    high: float = np.nan

    def within(self, lowest: float, highest: float) -> "Estimate":
        """Clip the bounds to the range of the quantity, or to a value beyond it; the value is unchanged.

        The sample SD of a share over few runs may be above 0.5, and an unbiased similarity above 1.
        """
        low, high = np.clip([self.low, self.high], min(lowest, self.value), max(highest, self.value))
        return Estimate(self.value, float(low), float(high))


UNDEFINED = Estimate(np.nan)
WIDEST = 20
TOO_FEW = "too few runs to tell"
FURTHEST = 100  # times an SD over draws: an interval that reaches further is uninformative


def unless_too_wide(ratio: Estimate) -> Estimate:
    """A ratio of two SDs, without an interval whose upper end is more than `WIDEST` times the lower: `TOO_FEW`."""
    return ratio if ratio.high <= WIDEST * ratio.low else Estimate(ratio.value)


def t_interval(value: float, error: float, freedom: float) -> Estimate:
    """`value` plus and minus its standard error times Student's t; no interval without an error."""
    if error == 0:
        return Estimate(float(value))
    half = scipy.stats.t.ppf(1 - TAIL, freedom) * error
    return Estimate(float(value), float(value - half), float(value + half))


def mean_t(values: np.ndarray, step: float = np.nan) -> Estimate:
    """Mean of the runs with Student's interval; one run has no interval, no run has no mean.

    Equal values of a rate have the interval of `equal_reach`.
    """
    count = len(values)
    if count == 0:
        return UNDEFINED
    # Computed relative to the first value, so that the mean of equal values is exactly that value.
    mean = values[0] + np.mean(values - values[0])
    if count == 1:
        return Estimate(float(mean))
    sd = standard_deviation(values)
    if sd == 0:
        reach = equal_reach(count, step)
        return Estimate(float(mean), float(mean - reach), float(mean + reach))
    return t_interval(mean, sd / np.sqrt(count), count - 1)


def positive_mean_t(values: np.ndarray, further_variance: float = 0.0) -> Estimate:
    """Mean over draws of a quantity that is never negative, with Student's interval of the logarithm of the mean.

    Draws differ by factors, and few draws rarely include the largest. If values are log-normal and their square roots
    have a coefficient of variation c, the square of the values' coefficient is (1 + c^2)^4 - 1. The roots of a few
    draws show it far better than the values themselves. If only a share q of draws is above 0, and c is the coefficient
    of their roots, the square is (1 + c^2)^4 / q - 1. The standard error of the logarithm follows from it by the delta
    method, with the divisor D - 1. `further_variance` is a relative variance of the mean, not from these draws.

    There is no interval with two draws, or with fewer than two above 0. Otherwise there is one, however wide: if the
    widest were left out, the others would cover too rarely (bench/coverage.py at 365ea18e).
    """
    mean, draws, roots = mean_t(values).value, len(values), np.sqrt(values[values > 0])
    if draws < 3 or len(roots) < 2:
        return Estimate(mean)
    squared = (standard_deviation(roots) / roots.mean()) ** 2
    relative = ((1 + squared) ** 4 * draws / len(roots) - 1) / (draws - 1)
    return log_t_interval(mean, np.sqrt(relative + further_variance), draws - 1)


def wilson_interval(count: int, examples: int) -> Estimate:
    """The share `count` / `examples` with Wilson's (1927) score interval, which has a width even at 0 and at 1.

    It is the range for other examples drawn in the same way.
    """
    if not examples:
        return UNDEFINED
    interval = scipy.stats.binomtest(int(count), int(examples)).proportion_ci(LEVEL, method="wilson")
    low, high = np.clip([interval.low, interval.high], 0, 1)
    return Estimate(count / examples, float(low), float(high))


def log_t_interval(value: float, error: float, freedom: float) -> Estimate:
    """`value` times and divided by exp(Student's t times its logarithm's error); no interval without an error."""
    if error == 0:
        return Estimate(float(value))
    with np.errstate(over="ignore"):  # an interval too wide for a float ends at infinity, which is true
        factor = np.exp(scipy.stats.t.ppf(1 - TAIL, freedom) * error)
        return Estimate(float(value), float(value / factor), float(value * factor))


def equal_reach(runs: int, step: float) -> float:
    """How far the mean of a rate may lie from the value that all runs have, at `LEVEL`.

    If examples deviate from it rarely and independently, by `shift` steps per run on average, no run deviates in a
    share exp(-runs * shift) of studies. The bound is the shift at which this share is `TAIL` (the rule of three).
    """
    return -np.log(TAIL) / runs * step


def standard_deviation(values: np.ndarray) -> np.ndarray:
    """Sample SD (ddof 1) over the last axis: exactly 0 for equal values, NaN for fewer than two."""
    count = values.shape[-1]
    if count < 2:
        return np.full(values.shape[:-1], np.nan)
    # Computed relative to the first value: the mean of equal floats can have a rounding error, the mean of zeros
    # cannot.
    shifted = values - values[..., :1]
    squares = np.square(shifted - shifted.mean(axis=-1, keepdims=True))
    return np.sqrt(squares.sum(axis=-1) / (count - 1))


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

    The interval is that of the mean variance; it is left out if it reaches more than `FURTHEST` times as far as the SD.
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
