"""A value with its interval, the mean of runs, and a share of examples.

Every statistic of this package is an `Estimate`. A quantity that the available runs cannot determine is NaN, never a
guess or a warning: one run has a mean but no interval.

Equal values need not be equal for sure: five runs that are right on a whole class may err on it next time. So a method
for runs takes a `step`, the smallest difference that two values can have: 1 / N for a rate over N examples. Equal
values without a step have no interval: those of a quantity without a smallest difference, and of runs that are
bit-equal. Nor has a value without an error, so every interval has a width.
"""

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
        """Clip the bounds to the range of what is estimated, or to an estimate beyond it; the value is unchanged.

        The sample SD of few runs of a share may be above 0.5, and an unbiased similarity above 1.
        """
        low, high = np.clip([self.low, self.high], min(lowest, self.value), max(highest, self.value))
        return Estimate(self.value, float(low), float(high))


UNDEFINED = Estimate(np.nan)
WIDEST = 20
TOO_FEW = "too few runs to tell"


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

    Draws differ by factors, and few of them rarely include the largest. If values are log-normal and their square roots
    have a coefficient of variation c, that of the values has the square (1 + c^2)^4 - 1. The roots of a few draws show
    it far better than the values themselves. Draws of exactly 0 are a kind of their own: if a share q is above 0, and c
    is that of these, the square is (1 + c^2)^4 / q - 1. The standard error of the logarithm follows from it by the
    delta method, with the divisor D - 1. `further_variance` is a relative variance of the mean, not from these draws.

    There is no interval with two draws, or with fewer than two above 0. Otherwise there is one, however wide: without
    the widest, the others would cover too rarely (bench/coverage.py at 365ea18e).
    """
    mean, draws, roots = mean_t(values).value, len(values), np.sqrt(values[values > 0])
    if draws < 3 or len(roots) < 2:
        return Estimate(mean)
    squared = (standard_deviation(roots) / roots.mean()) ** 2
    relative = ((1 + squared) ** 4 * draws / len(roots) - 1) / (draws - 1)
    return log_t_interval(mean, np.sqrt(relative + further_variance), draws - 1)


def wilson(count: int, examples: int) -> Estimate:
    """The share `count` / `examples` with Wilson's (1927) score interval, which has a width even at 0 and at 1.

    It is the range for other examples drawn in the same way.
    """
    if not examples:
        return UNDEFINED
    interval = scipy.stats.binomtest(int(count), int(examples)).proportion_ci(LEVEL, method="wilson")
    low, high = np.clip([interval.low, interval.high], 0, 1)
    return Estimate(count / examples, float(low), float(high))


def log_t_interval(value: float, error: float, freedom: float) -> Estimate:
    """`value` times and over the exponential of Student's t times its logarithm's error; no interval without one."""
    if error == 0:
        return Estimate(float(value))
    with np.errstate(over="ignore"):  # an interval too wide for a float ends at infinity, which is true
        factor = np.exp(scipy.stats.t.ppf(1 - TAIL, freedom) * error)
        return Estimate(float(value), float(value / factor), float(value * factor))


def equal_reach(runs: int, step: float) -> float:
    """How far the mean of a rate may lie from the value that all runs have, at `LEVEL`.

    If examples deviate from it rarely and independently, by `shift` steps per run on average, no run deviates in a
    share exp(-runs * shift) of studies. The shift at which that is `TAIL` is the bound. It is the rule of three.
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
