"""Instability of a part of the test set, a class or a sub-group of people, relative to the whole test set.

There are three rates, each a share of examples. Accuracy is over all examples. With two classes, of which 1 is the
positive one, FPR = FP / (FP + TN) is over the negative examples and FNR = FN / (FN + TP) is over the positive ones.
Each part's SD comes with its ratio to the SD over all examples, and with the ratio expected if examples err
independently. A rate over no examples is undefined.

A part has fewer examples than the whole, so the SD of its rate is larger without the part being special in any way. Two
nulls give the expected ratio. The null of size holds if all examples are equally noisy: the SD is then proportional to
1 / sqrt(examples). The null of difficulty uses the error rate of each example. Usually some parts are harder than
others. Then only this null keeps its significance level, because a hard part has more chance noise for its size.

If runs have several draws, variances are means over draws of the variance within a draw.

A part of the SD of accuracy comes only from the size of the test set. Even runs that are equally good on all possible
examples may score differently on the few examples of a test set. If examples err independently of one another, the SD
of the error rate follows from the error rate of each example. The variance beyond that comes from runs that are better
or worse on the distribution. It is the distribution-wise variance (Jordan 2023, arXiv:2304.01910, theorem 2).
"""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from toolnoise import streams
from toolnoise.formulas import Row
from toolnoise.stats.estimates import (
    TAIL,
    UNDEFINED,
    Estimate,
    log_t_interval,
    mean_t,
    sd_chi2,
    sd_robust,
    standard_deviation,
    unless_too_wide,
)
from toolnoise.stats.jackknife import sd_without_each, standard_error
from toolnoise.stats.significance import holm_pvalues

STUDIES = 100_000  # simulated studies, which give the range of a largest ratio
NORMALS = 100_000_000  # the most that are drawn: very many parts and runs get fewer studies, which take seconds
# All cells with the same sizes and runs have the same null, so its draws must not depend on the cell.
STREAM = streams.stream_key(0, streams.ANALYSIS, 0, "largest ratio")


class Rate(NamedTuple):
    """A rate of each run, [S], its number of examples, and the SD that it would have if these erred independently."""

    values: np.ndarray
    examples: int
    independent_sd: float


# The rate in the runs of each draw.
Draws = Sequence[Rate]


class Null(NamedTuple):
    """The expected ratio, and the share of the whole's variance that comes from the part; NaN where undefined.

    Both SDs are over the same runs. If examples err independently, the share is the squared correlation of part and
    whole. Then sinh(log(ratio / expected)) / sqrt((1 - share) / freedom) has Student's distribution, exactly so for
    normal runs of one draw, and for several draws if all are equally noisy.
    """

    expected: float
    share: float

    def range(self, freedom: float) -> Estimate:
        """The expected ratio; the bounds contain the ratio in 95 % of studies."""
        if np.isnan(self.expected) or not freedom > 0:
            return Estimate(self.expected)
        half = np.arcsinh(scipy.stats.t.ppf(1 - TAIL, freedom) * np.sqrt((1 - self.share) / freedom))
        return Estimate(self.expected, float(self.expected * np.exp(-half)), float(self.expected * np.exp(half)))

    def pvalue(self, ratio: float, freedom: float) -> float:
        """The two-sided p-value of this null; NaN if it cannot be tested."""
        if not (ratio > 0 and freedom > 0 and 0 < self.share < 1):
            return np.nan
        distance = np.sinh(np.log(ratio / self.expected))
        return float(2 * scipy.stats.t.sf(abs(distance) * np.sqrt(freedom / (1 - self.share)), freedom))


def by_size(parts: Draws, wholes: Draws) -> Null:
    """The null of a part whose examples are as noisy as all others."""
    part, whole = parts[0].examples, wholes[0].examples
    return Null(float(np.sqrt(whole / part)), part / whole) if part else Null(np.nan, np.nan)


def by_difficulty(parts: Draws, wholes: Draws) -> Null:
    """The null of a part whose examples keep their error rates, but err independently.

    It needs no true error rates: the square of `independent_errors_sd` is the mean of a part's observed variance over
    all ways to assign the observed errors on each example to runs.
    """
    part_sd, whole_sd = independent_sd(parts), independent_sd(wholes)
    if not (part_sd > 0 and whole_sd > 0):
        return Null(np.nan, np.nan)
    return Null(part_sd / whole_sd, (part_sd * parts[0].examples / (whole_sd * wholes[0].examples)) ** 2)


def independent_sd(draws: Draws) -> float:
    """The SD of independent errors, from the mean variance over draws; draws with one run are left out."""
    variances = [rate.independent_sd**2 for rate in draws if len(rate.values) > 1]
    return float(np.sqrt(np.mean(variances))) if variances else np.nan


def freedom_within_draws(draws: Draws) -> float:
    """The degrees of freedom of the mean over draws of the variance within a draw.

    They follow Satterthwaite (1946): at most the sum over draws of runs - 1, which equally noisy draws reach, and only
    the runs - 1 of a single draw that has all the noise.
    """
    runs = [rate.values for rate in draws if len(rate.values) > 1 or len(draws) == 1]
    if len(runs) == 1:
        return len(runs[0]) - 1
    variances = np.array([standard_deviation(of_draw) ** 2 for of_draw in runs])
    if not variances.sum() > 0:
        return np.nan
    weights = variances / variances.sum()
    return float(1 / np.sum(weights**2 / [len(of_draw) - 1 for of_draw in runs]))


def sd_ratio(parts: Draws, wholes: Draws) -> Estimate:
    """SD of a part over SD of the whole, with the interval of its logarithm.

    The jackknife is over the runs of a single draw, or over several draws. Over draws the standard error is wider by
    sqrt(D / (D - 1)), since a few draws rarely contain a very noisy one (bench/error_rates.py). A ratio to an SD of 0
    is undefined. There is no interval with two draws, with an SD of 0 (over all, or without any one of them), or if it
    would be too wide.
    """
    draws = zip(parts, wholes, strict=True)
    pairs = [(part.values, whole.values) for part, whole in draws if len(part.values) > 1]
    if not pairs:
        return UNDEFINED
    of_part, of_whole = (np.array([standard_deviation(runs) ** 2 for runs in arm]) for arm in zip(*pairs, strict=True))
    sd_part, sd_whole = np.sqrt(of_part.mean()), np.sqrt(of_whole.mean())
    if not sd_whole > 0:
        return UNDEFINED
    ratio = float(sd_part / sd_whole)
    few = 1.0
    if len(pairs) == 1:
        without_part, without_whole = map(sd_without_each, pairs[0])
    else:
        few = np.sqrt(len(pairs) / (len(pairs) - 1))
        without_part, without_whole = (
            np.sqrt([np.delete(arm, draw).mean() for draw in range(len(arm))]) for arm in (of_part, of_whole)
        )
    if len(without_part) < 3 or not (np.all(without_part > 0) and np.all(without_whole > 0)):
        return Estimate(ratio)
    error = few * standard_error(np.log(without_part) - np.log(without_whole))
    return unless_too_wide(log_t_interval(ratio, error, len(without_part) - 1))


def largest_by_size(sizes: np.ndarray, runs: int) -> Estimate:
    """The largest ratio among parts of these sizes, which make up the whole, if they differ by size alone.

    The value is the median of simulated studies; the bounds contain 95 % of them.
    """
    sizes = sizes[sizes > 0]
    return UNDEFINED if runs < 2 or len(sizes) == 0 else _simulated(tuple(sizes.tolist()), runs, STREAM)


@functools.cache
def _simulated(given: tuple[int, ...], runs: int, stream: int) -> Estimate:
    sizes, draws = np.array(given), np.random.Generator(np.random.Philox(key=stream))
    largest = []
    studies = min(STUDIES, NORMALS // (runs * len(sizes)))
    at_once = max(1, 100_000 // (runs * len(sizes)))
    for start in range(0, studies, at_once):
        shape = (min(at_once, studies - start), len(sizes), runs)
        parts = draws.standard_normal(shape, np.float32) / np.sqrt(sizes, dtype=np.float32)[:, np.newaxis]
        whole = np.einsum("p,spr->sr", np.float32(sizes / sizes.sum()), parts)
        largest.append(standard_deviation(parts).max(axis=1) / standard_deviation(whole))
    low, median, high = np.quantile(np.concatenate(largest), [TAIL, 0.5, 1 - TAIL])
    return Estimate(float(median), float(low), float(high))


# The part of an SD that comes from the size of the test set, and the rest, from runs that are better as a whole


def independent_errors_sd(right: np.ndarray) -> float:
    """The SD of accuracy over runs if each example kept its error rate, but erred independently of the others.

    `right` [S, N] marks the examples that each run classifies correctly, or has the share of correct units (such as
    tokens) of each example. The result is NaN for fewer than two runs.
    """
    return float(np.sqrt(_independent_variance(right)))


def distribution_wise_variance(draws: Sequence[np.ndarray], sd: Estimate) -> Estimate:
    """The variance over runs of the accuracy on all possible examples, from the runs of each draw [S, N]; unbiased.

    It is the mean covariance of two examples over runs; every variance has the divisor S - 1. It is a difference, so it
    can be negative, which means that no such variance is visible. Its bounds can be negative, too, and are not clipped,
    because clipping would hide that.

    The interval is the one of the variance of accuracy (the square of `sd`) minus the variance from independent errors.
    The latter is estimated far more precisely, because it is a mean over all examples.
    """
    examples = draws[0].shape[1]
    if examples < 2 or np.isnan(sd.value):
        return UNDEFINED
    independent = np.mean([_independent_variance(right) for right in draws if len(right) > 1])
    return Estimate(*map(float, examples / (examples - 1) * (np.square(sd) - independent)))


def distribution_wise_sd(variance: Estimate) -> Estimate:
    """The SD of a distribution-wise variance, to compare with the SD of accuracy: the root of its magnitude.

    The SD and its bounds keep the sign, so that a variance that is not visible is still recognised.
    """
    return Estimate(*(float(np.copysign(np.sqrt(abs(part)), part)) for part in variance))


def _independent_variance(right: np.ndarray) -> float:
    runs, examples = right.shape
    if runs < 2:
        return np.nan
    if right.dtype != bool:
        return float(np.var(right, axis=0, ddof=1).sum()) / examples**2
    hits = np.count_nonzero(right, axis=0).astype(np.int64)
    return float(np.sum(hits * (runs - hits))) / (runs * (runs - 1) * examples**2)


def group_rates(predictions: np.ndarray, labels: np.ndarray, classes: int, member: np.ndarray) -> dict[str, Rate]:
    """The rates of each run on the examples marked by `member`, from predictions [S, N], labels and members [N]."""
    right = predictions == labels
    found = {"accuracy": _share(right, member)}
    if classes == 2:
        found |= {"fpr": _share(~right, member & (labels == 0)), "fnr": _share(~right, member & (labels == 1))}
    return found


def spread_rows(rate: str, group: str, values: np.ndarray, step: float = np.nan) -> list[Row]:
    """Mean and SDs over runs of a rate, with its `step`, or of another quantity."""
    return [
        (f"{rate}_mean", group, mean_t(values, step)),
        (f"{rate}_sd", group, sd_chi2(values, step)),
        (f"{rate}_sd_robust", group, sd_robust(values, step)),
    ]


NULLS = {"": by_size, "_difficulty": by_difficulty}


def ratio_rows(parts: Sequence[tuple[str, str, Draws, Draws]]) -> list[Row]:
    """The ratio of the SD of each part's rate to that of its whole, and the ratios expected from size and difficulty.

    A part has the name of its rate, its group, its draws and the draws of its whole. Each null's p-values are adjusted
    for the number of parts (Holm), since the most extreme of many is extreme by chance.
    """
    ratios = [sd_ratio(part, whole) for *_, part, whole in parts]
    known = [freedom_within_draws(whole) for *_, whole in parts]
    expected, adjusted = {}, {}
    for name, null in NULLS.items():
        expected[name] = [null(part, whole) for *_, part, whole in parts]
        tests = zip(expected[name], ratios, known, strict=True)
        adjusted[name] = holm_pvalues(np.array([of_part.pvalue(ratio.value, runs) for of_part, ratio, runs in tests]))
    rows = []
    for place, (rate, group, *_) in enumerate(parts):
        rows.append((f"{rate}_sd_ratio", group, ratios[place]))
        for name in NULLS:
            rows.append((f"{rate}_sd_ratio{name}_null", group, expected[name][place].range(known[place])))
        for name in NULLS:
            rows.append((f"{rate}_sd_ratio{name}_holm", group, Estimate(adjusted[name][place])))
    return rows


def _share(hits: np.ndarray, among: np.ndarray) -> Rate:
    examples = int(np.count_nonzero(among))
    if not examples:
        return Rate(np.full(len(hits), np.nan), 0, np.nan)
    hits = hits[:, among]
    return Rate(np.count_nonzero(hits, axis=1) / examples, examples, independent_errors_sd(hits))
