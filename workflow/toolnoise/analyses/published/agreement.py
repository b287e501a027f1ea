"""Agreement between two studies of the same quantity: the range of the other's value if only chance differs.

Each function returns our value with prediction bounds. In 95 % of cases these bounds contain the value of another study
with `others` runs from the same distribution. Only the published numbers of the other study are available, not its
runs.
"""

import numpy as np
from scipy import stats

from toolnoise.stats.estimates import TAIL, Estimate


def mean_range(mean: float, sd: float, runs: int, other_sd: float, others: int) -> Estimate:
    """Range of another mean of normal runs, by Welch's interval: the two SDs need not be equal."""
    if runs < 2:
        return Estimate(mean, np.nan, np.nan)
    ours, theirs = sd**2 / runs, other_sd**2 / others
    if ours + theirs == 0:
        return Estimate(mean, mean, mean)
    freedom = (ours + theirs) ** 2 / (ours**2 / (runs - 1) + theirs**2 / (others - 1))
    half = stats.t.ppf(1 - TAIL, freedom) * np.sqrt(ours + theirs)
    return Estimate(mean, float(mean - half), float(mean + half))


def sd_range(sd: float, runs: int, others: int) -> Estimate:
    """Range of another sample SD of normal runs: the ratio of two variances follows the F distribution."""
    if runs < 2:
        return Estimate(sd, np.nan, np.nan)
    low, high = sd * np.sqrt(stats.f.ppf([TAIL, 1 - TAIL], others - 1, runs - 1))
    return Estimate(sd, float(low), float(high))


def sd_ratio_range(ratio: float, runs: int, others: int) -> Estimate:
    """Range of another ratio of a part's SD to the whole's, on a log scale, as if both were independent.

    Part and whole are not independent, so the range is too wide rather than too narrow. The extent of their dependence
    is not published.
    """
    if runs < 2:
        return Estimate(ratio, np.nan, np.nan)
    half = stats.norm.ppf(1 - TAIL) * np.sqrt(1 / (runs - 1) + 1 / (others - 1))
    return Estimate(ratio, float(ratio * np.exp(-half)), float(ratio * np.exp(half)))
