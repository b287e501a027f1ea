"""Power analysis: the runs that a gain needs, and the gains that a number of runs shows; two arms of equal size.

Arms that share their seeds are pairs. The distributions are exact for normal runs: noncentral t, over the degrees of
freedom that Welch's test may find. Gains are in the unit of the SD.
"""

from collections.abc import Callable

import numpy as np
from scipy import optimize, stats

from toolnoise.comparison.designs import FEWEST
from toolnoise.stats.power import LEVEL, POWER

# Limits, in SDs, of the differences for which power is computed: nothing changes beyond them, and SciPy is wrong at 0.
FEWEST_SDS, MOST_SDS = 1e-9, 1000
# Quantiles of the ratio of two variances; the ratio and its inverse have the same power.
RATIOS = (np.arange(50) + 0.5) / 100

Runs = int | np.ndarray


def difference_power(runs: Runs, difference: float, sd: float, level: float = LEVEL) -> float | np.ndarray:
    """Power of Welch's two-sided test of two means; both arms have the same SD. Two runs an arm have no test.

    With equal numbers of runs the statistic is Student's. Its critical value varies with the ratio of the variances,
    which is independent of it: the power is the mean over that ratio.
    """
    runs = np.asarray(runs, float)[..., np.newaxis]
    ratio = stats.f.ppf(RATIOS, runs - 1, runs - 1)
    freedom = (runs - 1) * (1 + ratio) ** 2 / (1 + ratio**2)
    critical = stats.f.isf(level, 1, freedom)
    # The square of a noncentral t is a noncentral F, which combines both tails in one.
    shift = np.clip(difference / sd if sd else np.inf, FEWEST_SDS, MOST_SDS) ** 2 * runs / 2
    return np.where(runs[..., 0] < FEWEST, 0.0, stats.ncf.sf(critical, 1, 2 * (runs - 1), shift).mean(axis=-1))[()]


def paired_power(pairs: Runs, difference: float, sd: float, level: float = LEVEL) -> float | np.ndarray:
    """Power of Student's two-sided test of differences in pairs, of which `sd` is the SD."""
    pairs = np.asarray(pairs, float)
    shift = np.clip(difference / sd if sd else np.inf, FEWEST_SDS, MOST_SDS) ** 2 * pairs
    return stats.ncf.sf(stats.f.isf(level, 1, pairs - 1), 1, pairs - 1, shift)


def detectable_difference(runs: int, level: float = LEVEL, power: float = POWER) -> float:
    """The difference of means, in SDs, that `runs` runs per arm detect with this power."""
    return _effect(lambda difference: difference_power(runs, difference, 1, level), power)


def detectable_in_pairs(pairs: int, level: float = LEVEL, power: float = POWER) -> float:
    """The difference that `pairs` pairs detect with this power, in SDs of differences in pairs."""
    return _effect(lambda difference: paired_power(pairs, difference, 1, level), power)


def chance_difference(difference: float, sd: float, runs: int, freedom: float | None = None) -> float:
    """Probability that two means of `runs` runs of the same thing differ by this much or more, either way.

    The distribution is Student's t if the SD has these degrees of freedom, and normal if it is taken as known.
    """
    distance = difference / (sd * np.sqrt(2 / runs))
    return float(2 * (stats.norm.sf(distance) if freedom is None else stats.t.sf(distance, freedom)))


def _effect(power_of: Callable[[float], float], power: float) -> float:
    """The effect above 0 that reaches this power; power grows with the effect."""
    high = 1.0
    while power_of(high) < power:
        high *= 2
    return float(optimize.brentq(lambda effect: power_of(effect) - power, 0, high, xtol=1e-10))
