"""The SD of accuracy due to the size of the test set alone, and the rest: are some runs better as a whole?

Even runs that are equally good on all possible examples may score differently on the few of a test set. If examples err
independently of one another, the SD of the error rate follows from how often each example errs. The variance beyond
that comes from runs that are better or worse on the distribution. It is the distribution-wise variance (Jordan 2023,
arXiv:2304.01910, theorem 2).
"""

from collections.abc import Sequence

import numpy as np

from toolnoise.stats.estimates import UNDEFINED, Estimate


def binomial_sd(rate: float, examples: int) -> float:
    """SD of a rate over examples that all err equally often; an upper bound, since some are easier than others."""
    return float(np.sqrt(rate * (1 - rate) / examples))


def independent_errors_sd(right: np.ndarray) -> float:
    """SD of accuracy over runs if each example erred as often as it does, but independently of the others.

    `right` [S, N] marks the examples that each run classifies correctly, or has the share of each example's units, such
    as its tokens, that it does. The result is NaN for fewer than two runs.
    """
    return float(np.sqrt(_independent_variance(right)))


def distribution_wise_variance(draws: Sequence[np.ndarray], sd: Estimate) -> Estimate:
    """The variance over runs of the accuracy on all possible examples, from the runs of each draw [S, N]; unbiased.

    It is the mean covariance of two examples over runs; every variance has the divisor S - 1. It is a difference, so it
    can be negative, which means that no such variance is visible. Its bounds can be negative too: clipping would hide
    that.

    The interval is that of the variance of accuracy, of which `sd` is the root, minus the variance from independent
    errors. The latter is known far better, because it is a mean over all the examples.
    """
    examples = draws[0].shape[1]
    if examples < 2 or np.isnan(sd.value):
        return UNDEFINED
    independent = np.mean([_independent_variance(right) for right in draws if len(right) > 1])
    return Estimate(*map(float, examples / (examples - 1) * (np.square(sd) - independent)))


def distribution_wise_sd(variance: Estimate) -> Estimate:
    """The SD of a distribution-wise variance, to stand beside the SD of accuracy: the root of its magnitude.

    It keeps the sign, so that a variance that is not visible is still recognised; so do the bounds.
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
