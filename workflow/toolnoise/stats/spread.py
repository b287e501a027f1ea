"""How far runs scatter: the SD with two intervals, and one SD over another, beside what size alone makes of it.

The chi-square interval assumes normal runs; the bootstrap does not, and is reported beside it because
accuracies are bounded and discrete. Bounds of an SD are never negative, and an SD of exactly 0 has the
interval [0, 0].

A rate over few examples scatters more than one over many. If examples err independently and are equally noisy, its SD
goes with 1 / sqrt(examples), and a part of the test set shows a ratio above 1 without being special in any way. What
that null says is an estimate too: its value is the ratio expected, its bounds hold the ratio in 95 % of studies.
"""

import numpy as np
from scipy import stats

from toolnoise import streams
from toolnoise.stats.estimates import TAIL, UNDEFINED, Estimate, standard_deviation, t_interval
from toolnoise.stats.jackknife import standard_error

RESAMPLES = 9_999
STUDIES = 4_000  # imagined ones, from which the range of a largest ratio is read

# SDs closer than this, relative to the SD of all runs, are equal: accuracies are discrete, many resamples
# tie with the runs themselves, and the order of a sum must not decide on which side of a tie they fall.
ROUNDING = 1e-12


def sd_chi2(values: np.ndarray) -> Estimate:
    """SD of the runs with the chi-square interval; all NaN for fewer than two runs."""
    return sd_interval(float(standard_deviation(values)), len(values)) if len(values) > 1 else UNDEFINED


def sd_interval(sd: float, runs: int) -> Estimate:
    """The chi-square interval of the sample SD of two runs or more."""
    low, high = sd * np.sqrt((runs - 1) / stats.chi2.ppf([1 - TAIL, TAIL], runs - 1))
    return Estimate(sd, float(low), float(high))


def range_in_sds(runs: int) -> float:
    """Largest less smallest of so many normal values, on average, in SDs: it grows without end."""
    places = np.linspace(-10, 10, 4001)
    below, above = stats.norm.cdf(places), stats.norm.sf(places)
    return float(np.trapezoid(1 - below**runs - above**runs, places))


def sd_bootstrap(values: np.ndarray, stream: int) -> Estimate:
    """SD of the runs with the BCa bootstrap interval over runs, its resamples drawn from `stream`.

    Fewer than three runs that differ have no interval: the acceleration needs the SD without each run.
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
    """SD of the runs with Bonett's (2006) interval, which takes the tails of their distribution from the runs.

    With ten runs it holds the SD in about 95 % of cases whether they are normal or not (bench/coverage.py); the
    chi-square interval does so for normal runs only, and BCa's, of so few, in some 80 %. Fewer than five have none.
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

    No ratio to an SD of 0; no interval where either SD is 0, with all runs or without one of them.
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
    """The ratio that `sd_ratio` shows where a rate over `part` of `whole` examples differs from it by size alone.

    Exact for normal runs: both SDs are of the same runs, in which a part of p of w examples correlates with the whole
    by sqrt(p / w). Then sinh(log(ratio / expected)) / sqrt((1 - p / w) / (runs - 1)) has Student's distribution.
    """
    if part == 0:
        return UNDEFINED
    expected = float(np.sqrt(whole / part))
    if runs < 2:
        return Estimate(expected, np.nan, np.nan)
    half = np.arcsinh(stats.t.ppf(1 - TAIL, runs - 1) * np.sqrt((1 - part / whole) / (runs - 1)))
    return Estimate(expected, float(expected * np.exp(-half)), float(expected * np.exp(half)))


def sd_ratio_by_size_test(part: np.ndarray, whole: np.ndarray, share: float) -> float:
    """The p-value, two-sided, of the null of `sd_ratio_by_size`: a part of this share of examples is like the rest."""
    sd_part, sd_whole = standard_deviation(part), standard_deviation(whole)
    freedom = len(part) - 1
    if not (sd_part > 0 and sd_whole > 0 and 0 < share < 1):
        return np.nan
    distance = np.sinh(np.log(sd_part / sd_whole * np.sqrt(share)))
    return float(2 * stats.t.sf(abs(distance) * np.sqrt(freedom / (1 - share)), freedom))


def largest_sd_ratio_by_size(sizes: np.ndarray, runs: int, stream: int) -> Estimate:
    """The largest ratio among parts of these sizes, which make up the whole, if they differ by size alone.

    The median, and the bounds that hold 95 %, of studies simulated with draws from `stream`.
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
