"""The difference of the means of two arms of which some runs are paired: the first of each arm have the same draws.

All runs count. The estimate lies between the difference of the two means and that of the pairs alone. If the runs of a
pair agree, the pairs are weighted more: what a draw does to both arms alike cancels in them. If they do not, runs weigh
alike. Without a pair, this is Welch's test; if all runs are paired, it is Student's of the differences.

The error follows from what each draw adds to the estimate: a pair by both runs at once, as in the paired test. Where
pairs are weighted more, the weight is itself estimated. What this adds to the variance counts twice, once for itself
and once since the weight makes the estimated error small (Kackar and Harville 1984; Kenward and Roger 1997).
"""

from typing import NamedTuple

import numpy as np

from toolnoise.stats.estimates import standard_deviation
from toolnoise.stats.two_means import UNDECIDED, Result, cautious, equal_arms, t_test

FEWEST = 4  # pairs: the correlation of fewer has no error that could be estimated


class Weight(NamedTuple):
    """How much more pairs count, from 0 for runs that weigh alike to 1 for pairs alone.

    `variance` is what it adds to that of the estimate, `correlation` that of the pairs from which it follows.
    """

    value: float
    variance: float
    correlation: float


ALIKE = Weight(0.0, 0.0, 0.0)


def pair_weight(a: np.ndarray, b: np.ndarray, pairs: int) -> Weight:
    """The weight with the smallest error, at a correlation one standard error below that of the pairs (Fisher's z)."""
    sd_a, sd_b = float(standard_deviation(a)), float(standard_deviation(b))
    paired = a[:pairs], b[:pairs]
    if pairs < FEWEST or not min(sd_a, sd_b, *map(standard_deviation, paired)) > 0:
        return ALIKE
    observed = np.clip(np.corrcoef(*paired)[0, 1], -1 + 1e-9, 1 - 1e-9)
    correlation = float(np.tanh(np.arctanh(observed) - 1 / np.sqrt(pairs - 3)))
    # How much more a paired run weighs if pairs alone count.
    more_a, more_b = 1 / pairs - 1 / len(a), 1 / pairs - 1 / len(b)
    if correlation <= 0 or more_a == more_b == 0:
        return ALIKE
    # The difference of the pairs less that of the means: its variance at correlation 0 and at this one, and its
    # covariance with the difference of the means, which shrinks as the correlation grows.
    apart = sd_a**2 * more_a + sd_b**2 * more_b
    common = sd_a * sd_b * correlation
    variance = apart - 2 * common * pairs * more_a * more_b
    covariance = common * (more_a / len(b) + more_b / len(a)) * pairs
    value = min(covariance / variance, 1.0)
    slope = covariance / correlation * apart / variance**2
    return Weight(value, slope**2 * (1 - correlation**2) ** 2 / (pairs - 1) * variance, correlation)


def partly_paired_difference(a: np.ndarray, b: np.ndarray, pairs: int, step: float = 0.0) -> Result:
    """The test and interval of the second arm's mean less the first's; the first `pairs` values of both are paired.

    If all runs of each arm are equal, the test is that of `equal_arms`, with `step` as the smallest difference.
    """
    if min(len(a), len(b)) < 2:
        return UNDECIDED
    weight = pair_weight(a, b, pairs)
    shares_a, shares_b = (_shares(len(arm), pairs, weight.value) for arm in (a, b))
    # Computed relative to the first run, so that the mean of equal values is exactly that value.
    mean_a, mean_b = (arm[0] + shares @ (arm - arm[0]) for arm, shares in ((a, shares_a), (b, shares_b)))
    parts_a, parts_b = shares_a * (a - mean_a), shares_b * (b - mean_b)
    kept_a, kept_b = _kept(shares_a), _kept(shares_b)
    groups = [(parts_a[pairs:], kept_a[-1]), (parts_b[pairs:], kept_b[-1])]
    if pairs:
        groups.append((parts_b[:pairs] - parts_a[:pairs], _kept_of_pairs(a, b, shares_a, shares_b, weight, pairs)))
    terms = [(np.sum(parts**2) / kept, len(parts) * kept) for parts, kept in groups if len(parts)]
    variances, freedoms = np.transpose(terms)
    difference, variance = float(mean_b - mean_a), float(variances.sum())
    if variance == 0:
        return equal_arms(difference, step / min(len(a), len(b)))
    freedom = cautious(variance**2 / np.sum(variances**2 / freedoms), len(a), len(b))
    if weight.value > 0:
        freedom = min(freedom, min(len(a), len(b)) - 1)
    return t_test(difference, float(np.sqrt(variance + 2 * weight.variance)), freedom)


def _shares(runs: int, pairs: int, weight: float) -> np.ndarray:
    """What each run weighs in its arm's mean."""
    shares = np.full(runs, (1 - weight) / runs)
    shares[:pairs] += weight / max(pairs, 1)
    return shares


def _kept(shares: np.ndarray) -> np.ndarray:
    """The part of each run's variance that is left after the arm's mean is subtracted."""
    return 1 - 2 * shares + np.sum(shares**2)


def _kept_of_pairs(
    a: np.ndarray, b: np.ndarray, shares_a: np.ndarray, shares_b: np.ndarray, weight: Weight, pairs: int
) -> float:
    """The same of a pair: of the variance of what both of its runs add to the difference of the means."""
    share_a, share_b = shares_a[0], shares_b[0]
    sd_a, sd_b = share_a * standard_deviation(a), share_b * standard_deviation(b)
    covariance = weight.correlation * sd_a * sd_b
    whole = sd_a**2 + sd_b**2 - 2 * covariance
    of_both = 1 - share_a - share_b + pairs * share_a * share_b
    if whole == 0:
        return of_both
    return (sd_a**2 * _kept(shares_a)[0] + sd_b**2 * _kept(shares_b)[0] - 2 * covariance * of_both) / whole
