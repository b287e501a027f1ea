"""How two arms differ: by their pairs, in SDs, as the probability that the second is better, and in which answers.

Differences are second arm minus first. Welch's test is in `stats.two_means`.

A good flip is an example that a run of `a` gets wrong and a run of `b` gets right. A bad flip is the reverse. Their
difference is the difference of the accuracies. Churn counts both, and also examples that both get wrong in different
ways.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import optimize, special, stats

from toolnoise.stats.estimates import TAIL, UNDEFINED, Estimate, mean_t, standard_deviation
from toolnoise.stats.multiplicity import holm
from toolnoise.stats.two_means import UNDECIDED, Result, equal_arms, t_test

QUANTILES = 2000  # of a chi-square: a noncentral t is then accurate to 0.00002


def paired_difference(a: np.ndarray, b: np.ndarray, step: float = 0.0) -> Result:
    """Student's test of the differences of values in pairs, `b[u] - a[u]`, with his interval of their mean.

    If all differences are equal, the test is that of `equal_arms`; `step` is the smallest change of a difference.
    """
    if len(a) < 2:
        return UNDECIDED
    differences = b - a
    mean, error = mean_t(differences).value, standard_deviation(differences) / np.sqrt(len(a))
    return equal_arms(mean, step / len(a)) if error == 0 else t_test(mean, error, len(a) - 1)


def hedges_g(a: np.ndarray, b: np.ndarray) -> Estimate:
    """The difference of the means in pooled SDs, corrected for its bias with few runs (Hedges 1981).

    The interval is exact for normal runs with equal SDs. It contains the differences for which the observed t statistic
    is not in the tails of its noncentral distribution. For paired arms it is too wide if the same draw moves both
    arms alike.
    """
    freedom = len(a) + len(b) - 2
    if min(len(a), len(b)) < 2:
        return UNDEFINED
    pooled = np.sqrt(sum((len(arm) - 1) * standard_deviation(arm) ** 2 for arm in (a, b)) / freedom)
    if pooled == 0:
        return UNDEFINED
    scale = np.sqrt(1 / len(a) + 1 / len(b))
    statistic = float((b.mean() - a.mean()) / (pooled * scale))
    unbiased = np.exp(special.gammaln(freedom / 2) - special.gammaln((freedom - 1) / 2)) / np.sqrt(freedom / 2)
    # Computed over the quantiles of the pooled SD: SciPy's own noncentral t sometimes returns NaN.
    quantiles = stats.chi2.ppf((np.arange(QUANTILES) + 0.5) / QUANTILES, freedom)
    standard = statistic * np.sqrt(quantiles / freedom)

    def bound(share: float) -> float:
        return optimize.brentq(
            lambda shift: np.mean(special.ndtr(standard - shift)) - share, standard.min() - 9, standard.max() + 9
        )

    return Estimate(*(float(unbiased * scale * shift) for shift in (statistic, bound(1 - TAIL), bound(TAIL))))


def probability_of_improvement(a: np.ndarray, b: np.ndarray, pairs: int = 0) -> Estimate:
    """The probability that a run of the second arm is better than a run of the first; ties count half.

    The interval is Newcombe's (2006, method 5). It inverts a score test with Hanley and McNeil's variance, so it has a
    width even if every run of one arm beats every run of the other. The first `pairs` runs of both arms have the same
    draws. Only runs with different draws are held against each other; the interval stays that of independent arms,
    which is too wide if the same draw moves both arms alike.
    """
    differ = np.ones((len(b), len(a)), bool)
    differ[range(pairs), range(pairs)] = False
    if not differ.any():
        return UNDEFINED
    chance = float((np.sign(b[:, np.newaxis] - a)[differ].mean() + 1) / 2)
    held, others = len(a) * len(b), (len(a) + len(b)) / 2 - 1
    z = stats.norm.ppf(1 - TAIL)

    def excess(true: float) -> float:
        variance = true * (1 - true) * (1 + others * ((1 - true) / (2 - true) + true / (1 + true))) / held
        return (chance - true) ** 2 - z**2 * variance

    # If the observed chance is 0 or 1, it is a trivial root.
    low = optimize.brentq(excess, 0, min(chance, 1 - 1e-9)) if chance > 0 else 0.0
    high = optimize.brentq(excess, max(chance, 1e-9), 1) if chance < 1 else 1.0
    return Estimate(chance, float(low), float(high))


def adjusted(comparisons: Sequence[Any]) -> list[Any]:
    """Comparisons of arms with their p-values adjusted by Holm, too."""
    pvalues = holm(np.array([each.pvalue for each in comparisons])).tolist()
    return [each._replace(pvalue_holm=pvalue) for each, pvalue in zip(comparisons, pvalues, strict=True)]


def good_flips(right_a: np.ndarray, right_b: np.ndarray) -> np.ndarray:
    """The share of examples wrong in a run of `a`, [A, N], and right in a run of `b`, [B, N], per pair: [A, B]."""
    return _together(~right_a, right_b)


def bad_flips(right_a: np.ndarray, right_b: np.ndarray) -> np.ndarray:
    """The share of examples right in a run of `a`, [A, N], and wrong in a run of `b`, [B, N], per pair: [A, B]."""
    return _together(right_a, ~right_b)


def cross_churn(predicted_a: np.ndarray, predicted_b: np.ndarray) -> np.ndarray:
    """The share of examples that a run of `a`, [A, N], and a run of `b`, [B, N], classify differently: [A, B]."""
    different = np.array([np.count_nonzero(predicted_b != run, axis=1) for run in predicted_a])
    return different / predicted_a.shape[1]


def _together(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    # Integers below 2^53, so a matrix product counts exactly.
    return a.astype(np.float64) @ b.T.astype(np.float64) / a.shape[1]
