"""The result of a test: its statistic, its p-value, and the effect size with its interval."""

from typing import NamedTuple

import numpy as np

from toolnoise.stats.estimates import UNDEFINED, Estimate


class Result(NamedTuple):
    """A two-sided test. `effect` is the tested quantity, a difference or a ratio, with its 95 % interval."""

    statistic: float
    pvalue: float
    effect: Estimate


UNDECIDED = Result(np.nan, np.nan, UNDEFINED)
