"""Would two studies of the same thing differ this much? Where the other's number lies if only chance differs.

Each function gives our value with the bounds that hold, in 95 % of cases, the value of another study of `others` runs
that draws from the same distribution. The other study's runs are not at hand, only what it published.
"""

import numpy as np
from scipy import stats

from toolnoise.stats.estimates import TAIL, Estimate


def mean_range(mean: float, sd: float, runs: int, other_sd: float, others: int) -> Estimate:
    """Of another mean of normal runs, by Welch's interval: the two SDs need not be equal."""
    if runs < 2:
        return Estimate(mean, np.nan, np.nan)
    ours, theirs = sd**2 / runs, other_sd**2 / others
    if ours + theirs == 0:
        return Estimate(mean, mean, mean)
    freedom = (ours + theirs) ** 2 / (ours**2 / (runs - 1) + theirs**2 / (others - 1))
    half = stats.t.ppf(1 - TAIL, freedom) * np.sqrt(ours + theirs)
    return Estimate(mean, float(mean - half), float(mean + half))


def sd_range(sd: float, runs: int, others: int) -> Estimate:
    """Of another sample SD of normal runs: the ratio of two variances has the F distribution."""
    if runs < 2:
        return Estimate(sd, np.nan, np.nan)
    low, high = sd * np.sqrt(stats.f.ppf([TAIL, 1 - TAIL], others - 1, runs - 1))
    return Estimate(sd, float(low), float(high))


def sd_ratio_range(ratio: float, runs: int, others: int) -> Estimate:
    """Of another ratio of a part's SD to the whole's, on a log scale and taking part and whole for independent.

    They are not, so that the range is too wide rather than too narrow: how far is not published.
    """
    if runs < 2:
        return Estimate(ratio, np.nan, np.nan)
    half = stats.norm.ppf(1 - TAIL) * np.sqrt(1 / (runs - 1) + 1 / (others - 1))
    return Estimate(ratio, float(ratio * np.exp(-half)), float(ratio * np.exp(half)))
