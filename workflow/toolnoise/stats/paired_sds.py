"""The ratio of two SDs of paired runs: Pitman's and Morgan's test (1939), and the interval that it inverts.

Run u of both arms has the same draw, so their values are correlated. For normal runs with correlation r,
sinh(log(ratio of SDs / true ratio)) * sqrt((n - 2) / (1 - r^2)) has Student's distribution with n - 2 degrees of
freedom. The F test takes the arms for independent: it rejects far too seldom where r is large.
"""

from typing import NamedTuple

import numpy as np
from scipy import stats

from toolnoise.stats.estimates import TAIL, Estimate, standard_deviation


class PairedRatio(NamedTuple):
    """The logarithm of the second SD over the first, on the scale `sinh`, with its degrees of freedom."""

    logarithm: float
    scale: float
    freedom: int

    def above(self, bound: float) -> float:
        """The one-sided p-value for a true logarithm above a bound."""
        return float(stats.t.sf(np.sinh(self.logarithm - bound) / self.scale, self.freedom))

    def below(self, bound: float) -> float:
        """The one-sided p-value for a true logarithm below a bound."""
        return float(stats.t.cdf(np.sinh(self.logarithm - bound) / self.scale, self.freedom))

    @property
    def estimate(self) -> Estimate:
        """The logarithm with its interval."""
        half = float(np.arcsinh(stats.t.ppf(1 - TAIL, self.freedom) * self.scale))
        return Estimate(self.logarithm, self.logarithm - half, self.logarithm + half)


def paired_sd_ratio(a: np.ndarray, b: np.ndarray) -> PairedRatio | None:
    """SD of `b` over SD of `a` of paired runs; None where an SD is 0, of fewer than three pairs, or where |r| is 1."""
    if len(a) < 3:
        return None
    sd_a, sd_b = float(standard_deviation(a)), float(standard_deviation(b))
    if not (sd_a > 0 and sd_b > 0):
        return None
    correlation = float(np.mean((a - a.mean()) * (b - b.mean())) * len(a) / (len(a) - 1) / (sd_a * sd_b))
    if not abs(correlation) < 1 - 1e-12:
        return None
    scale = float(np.sqrt((1 - correlation**2) / (len(a) - 2)))
    return PairedRatio(float(np.log(sd_b / sd_a)), scale, len(a) - 2)
