"""A share of examples with its interval: the range for other examples drawn in the same way."""

import numpy as np
from scipy import stats

from toolnoise.stats.estimates import LEVEL, UNDEFINED, Estimate


def wilson(count: int, examples: int) -> Estimate:
    """The share `count` / `examples` with Wilson's (1927) score interval, which has a width even at 0 and at 1."""
    if not examples:
        return UNDEFINED
    interval = stats.binomtest(int(count), int(examples)).proportion_ci(LEVEL, method="wilson")
    low, high = np.clip([interval.low, interval.high], 0, 1)
    return Estimate(count / examples, float(low), float(high))
