"""The ratio of two positive quantities, each measured on its own runs."""

import numpy as np
from scipy import stats

from toolnoise.stats.estimates import TAIL, UNDEFINED, Estimate, standard_deviation, t_interval


def ratio_of_means(numerator: np.ndarray, denominator: np.ndarray) -> Estimate:
    """Mean over mean, with Welch's interval of the ratio's logarithm (delta method); both must be positive.

    The ratio is undefined unless both have at least one run. There is no interval if either has only one run.
    """
    counts = np.array([len(numerator), len(denominator)])
    if counts.min() == 0:
        return UNDEFINED
    ratio = float(np.mean(numerator) / np.mean(denominator))
    if counts.min() == 1:
        return Estimate(ratio, np.nan, np.nan)
    spreads = np.array([standard_deviation(runs) / np.mean(runs) for runs in (numerator, denominator)])
    return _interval(ratio, spreads**2 / counts, counts)


def ratio_of_estimates(numerator: Estimate, runs: int, denominator: Estimate, others: int) -> Estimate:
    """One mean over another, as in `ratio_of_means`, from their Student's t intervals.

    The intervals have one degree of freedom fewer than `runs` and `others`. Intervals of means do, and jackknife
    intervals of pairwise measures. A ratio to zero is undefined. There is no interval if either estimate has none.
    """
    if not denominator.value > 0 or np.isnan(numerator.value):
        return UNDEFINED
    ratio = numerator.value / denominator.value
    if ratio == 0 or np.isnan([numerator.low, denominator.low]).any():
        return Estimate(ratio, np.nan, np.nan)
    counts = np.array([runs, others])
    # Use the upper half-width: the lower one may have been clipped at zero.
    halves = np.array([(one.high - one.value) / one.value for one in (numerator, denominator)])
    return _interval(ratio, (halves / stats.t.ppf(1 - TAIL, counts - 1)) ** 2, counts)


def _interval(ratio: float, squares: np.ndarray, counts: np.ndarray) -> Estimate:
    """A ratio with its interval, from the squared standard errors of both logarithms."""
    if not squares.any():
        return Estimate(ratio, ratio, ratio)
    freedom = squares.sum() ** 2 / np.sum(squares**2 / (counts - 1))
    logarithm = t_interval(np.log(ratio), np.sqrt(squares.sum()), freedom)
    with np.errstate(over="ignore"):  # an interval too wide for a float ends at infinity, which is true
        return Estimate(ratio, float(np.exp(logarithm.low)), float(np.exp(logarithm.high)))
