"""The ratio of two positive quantities, each measured on runs of its own."""

import numpy as np

from toolnoise.stats.estimates import UNDEFINED, Estimate, standard_deviation, t_interval


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
    if not spreads.any():
        return Estimate(ratio, ratio, ratio)
    squares = spreads**2 / counts
    freedom = squares.sum() ** 2 / np.sum(squares**2 / (counts - 1))
    _, low, high = t_interval(np.log(ratio), np.sqrt(squares.sum()), freedom)
    with np.errstate(over="ignore"):  # an interval too wide for a float ends at infinity, which is true
        return Estimate(ratio, float(np.exp(low)), float(np.exp(high)))
