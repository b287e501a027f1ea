"""Spread of runs: the SD with its intervals, and ratios of SDs with the ratio expected from size alone.

The chi-square interval assumes normal runs. The bootstrap does not; both are reported because accuracies are bounded
and discrete. Bounds of an SD are never negative, and an SD of exactly 0 has the interval [0, 0].

A rate over few examples varies more than a rate over many. If examples err independently and are equally noisy, the SD
is proportional to 1 / sqrt(examples). A part of the test set then shows a ratio above 1 without being special in any
way. This null is an estimate too: its value is the expected ratio, and its bounds contain the ratio in 95 % of studies.
"""

import numpy as np
from scipy import stats

from toolnoise import streams
from toolnoise.stats.estimates import TAIL, UNDEFINED, Estimate, standard_deviation, t_interval
from toolnoise.stats.jackknife import standard_error

RESAMPLES = 9_999
STUDIES = 4_000  # simulated studies, which give the range of a largest ratio

# SDs closer than this, relative to the SD of all runs, count as equal. Accuracies are discrete, so many resamples tie
# with the runs themselves, and the order of a sum must not decide the side of a tie.
ROUNDING = 1e-12


def sd_chi2(values: np.ndarray) -> Estimate:
    """SD of the runs with the chi-square interval; all NaN for fewer than two runs."""
    return sd_interval(float(standard_deviation(values)), len(values)) if len(values) > 1 else UNDEFINED


def sd_interval(sd: float, runs: int) -> Estimate:
    """The chi-square interval of the sample SD of two runs or more."""
    low, high = sd * np.sqrt((runs - 1) / stats.chi2.ppf([1 - TAIL, TAIL], runs - 1))
    return Estimate(sd, float(low), float(high))


def range_in_sds(runs: int) -> float:
    """The expected range (largest minus smallest) of `runs` normal values, in SDs; it grows without bound."""
    places = np.linspace(-10, 10, 4001)
    below, above = stats.norm.cdf(places), stats.norm.sf(places)
    return float(np.trapezoid(1 - below**runs - above**runs, places))


def sd_bootstrap(values: np.ndarray, stream: int) -> Estimate:
    """SD of the runs with the BCa bootstrap interval over runs; resamples are drawn from `stream`.

    Fewer than three runs have no interval unless they are equal: the acceleration needs the SD without each run.
    """
    sd = float(standard_deviation(values))
    if sd == 0:
        return Estimate(0.0, 0.0, 0.0)
    if len(values) < 3 or np.isnan(sd):
        return Estimate(sd, np.nan, np.nan)
    drawn = streams.integers(stream, (RESAMPLES, len(values)), len(values))
    resampled = standard_deviation(values[drawn]) / sd
    below = np.mean(resampled < 1 - ROUNDING)
    tied = np.mean(np.abs(resampled - 1) <= ROUNDING)
    bias = stats.norm.ppf(below + tied / 2)
    shifted = bias + stats.norm.ppf([TAIL, 1 - TAIL])
    levels = stats.norm.cdf(bias + shifted / (1 - _acceleration(sd_without_each(values) / sd) * shifted))
    low, high = sd * np.quantile(resampled, levels)
    return Estimate(sd, float(low), float(high))


def sd_robust(values: np.ndarray) -> Estimate:
    """SD of the runs with Bonett's (2006) interval, which estimates the tails of the distribution from the runs.

    With ten runs it contains the SD in about 95 % of cases, whether the runs are normal or not (bench/coverage.py). The
    chi-square interval does so for normal runs only. The BCa interval of so few runs does so in some 80 % of cases.
    Fewer than five runs have no interval.
    """
    count = len(values)
    sd = float(standard_deviation(values))
    if sd == 0:
        return Estimate(0.0, 0.0, 0.0)
    if count < 5 or np.isnan(sd):
        return Estimate(sd, np.nan, np.nan)
    normal = stats.norm.ppf(1 - TAIL)
    shifted = (values - values[0]) / sd
    centre = stats.trim_mean(shifted, 1 / (2 * np.sqrt(count - 4)))
    kurtosis = count * np.sum((shifted - centre) ** 4) / (count - 1) ** 2
    correction = count / (count - normal)
    error = correction * np.sqrt(max(kurtosis - (count - 3) / count, 0) / (count - 1))
    low, high = sd * np.sqrt(correction * np.exp(np.array([-1, 1]) * normal * error))
    return Estimate(sd, float(low), float(high))


def sd_ratio(part: np.ndarray, whole: np.ndarray) -> Estimate:
    """SD of `part` over SD of `whole`, both of the same runs, with the jackknife interval of its logarithm.

    A ratio to an SD of 0 is undefined. There is no interval if either SD is 0, over all runs or without any one of
    them.
    """
    sd_part, sd_whole = standard_deviation(part), standard_deviation(whole)
    if not sd_whole > 0:
        return UNDEFINED
    ratio = float(sd_part / sd_whole)
    without_part, without_whole = sd_without_each(part), sd_without_each(whole)
    if not (np.all(without_part > 0) and np.all(without_whole > 0)):
        return Estimate(ratio, np.nan, np.nan)
    error = standard_error(np.log(without_part) - np.log(without_whole))
    logarithm = t_interval(np.log(sd_part) - np.log(sd_whole), error, len(part) - 1)
    with np.errstate(over="ignore"):  # an interval too wide for a float ends at infinity, which is true
        return Estimate(ratio, float(np.exp(logarithm.low)), float(np.exp(logarithm.high)))


def sd_ratio_by_size(part: int, whole: int, runs: int) -> Estimate:
    """The expected `sd_ratio` if a rate over `part` of `whole` examples differs from the whole by size alone.

    It is exact for normal runs. Both SDs are over the same runs, in which a part of p of w examples correlates with the
    whole by sqrt(p / w). Then sinh(log(ratio / expected)) / sqrt((1 - p / w) / (runs - 1)) has Student's distribution.
    """
    if part == 0:
        return UNDEFINED
    expected = float(np.sqrt(whole / part))
    if runs < 2:
        return Estimate(expected, np.nan, np.nan)
    half = np.arcsinh(stats.t.ppf(1 - TAIL, runs - 1) * np.sqrt((1 - part / whole) / (runs - 1)))
    return Estimate(expected, float(expected * np.exp(-half)), float(expected * np.exp(half)))


def sd_ratio_by_size_test(part: np.ndarray, whole: np.ndarray, share: float) -> float:
    """The two-sided p-value of the null of `sd_ratio_by_size`: a part of this share of examples is like the rest."""
    sd_part, sd_whole = standard_deviation(part), standard_deviation(whole)
    freedom = len(part) - 1
    if not (sd_part > 0 and sd_whole > 0 and 0 < share < 1):
        return np.nan
    distance = np.sinh(np.log(sd_part / sd_whole * np.sqrt(share)))
    return float(2 * stats.t.sf(abs(distance) * np.sqrt(freedom / (1 - share)), freedom))


def largest_sd_ratio_by_size(sizes: np.ndarray, runs: int, stream: int) -> Estimate:
    """The largest ratio among parts of these sizes, which make up the whole, if they differ by size alone.

    The value is the median of studies simulated with draws from `stream`; the bounds contain 95 % of them.
    """
    sizes = sizes[sizes > 0]
    if runs < 2 or len(sizes) == 0:
        return UNDEFINED
    draws = np.random.Generator(np.random.Philox(key=stream))
    largest = []
    at_once = max(1, 1_000_000 // (runs * len(sizes)))
    for start in range(0, STUDIES, at_once):
        shape = (min(at_once, STUDIES - start), len(sizes), runs)
        parts = draws.standard_normal(shape) / np.sqrt(sizes)[:, np.newaxis]
        whole = np.einsum("p,spr->sr", sizes / sizes.sum(), parts)
        largest.append(standard_deviation(parts).max(axis=1) / standard_deviation(whole))
    low, median, high = np.quantile(np.concatenate(largest), [TAIL, 0.5, 1 - TAIL])
    return Estimate(float(median), float(low), float(high))


def sd_without_each(values: np.ndarray) -> np.ndarray:
    """The SD without the first run, without the second, and so on."""
    return np.array([standard_deviation(np.delete(values, run)) for run in range(len(values))])


def _acceleration(without: np.ndarray) -> float:
    """A sixth of the skewness of the jackknife values, given relative to the SD of all runs; at most 1/6."""
    distances = without.mean() - without
    if np.max(np.abs(distances)) <= ROUNDING:
        return 0.0
    return float(np.sum(distances**3) / (6 * np.sum(distances**2) ** 1.5))
