"""The result of a test in SciPy's style: its statistic, its p-value, and the effect size with its interval."""

from typing import NamedTuple

import numpy as np

from toolnoise.stats.estimates import UNDEFINED, Estimate


class Interval(NamedTuple):
    """The bounds of an interval, named as SciPy names them."""

    low: float
    high: float


class Result(NamedTuple):
    """A two-sided test. `effect` is the tested quantity, a difference or a ratio, with its 95 % interval."""

    statistic: float
    pvalue: float
    effect: Estimate

    @property
    def confidence_interval(self) -> Interval:
        """The interval of the effect."""
        return Interval(self.effect.low, self.effect.high)


UNDECIDED = Result(np.nan, np.nan, UNDEFINED)
