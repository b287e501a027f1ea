"""How two arms differ: tests of pairs, effect size in SDs, probability of improvement, flips and churn of answers.

Differences are second arm minus first. Welch's test is in `stats.significance`.

A good flip is an example that a run of `a` gets wrong and a run of `b` gets right. A bad flip is the reverse. Their
difference is the difference of the accuracies. Churn counts both, and also examples that both get wrong in different
ways.

If some runs are paired, the first runs of both arms are the pairs, which share their draws. The estimate lies between
the difference of the two means and the mean difference of the pairs. If the runs of pairs are correlated, pairs weigh
more than other runs, since effects of a draw on both arms cancel in them. If not, all runs weigh the same. Without a
pair, this is Welch's test; if all runs are paired, it is Student's test of the differences. The error sums the
contributions of the draws to the estimate; a pair contributes with both runs together, as in the paired test. If pairs
weigh more, their weight is estimated, too. The variance that this adds counts twice: once for itself, and once because
the weight makes the estimated error small (Kackar and Harville 1984; Kenward and Roger 1997).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, special, stats

from toolnoise.comparison import designs
from toolnoise.comparison.designs import UNTESTED, Compared, Design, Way
from toolnoise.stats.estimates import TAIL, UNDEFINED, Estimate, mean_t, standard_deviation, unless_too_wide
from toolnoise.stats.significance import (
    UNDECIDED,
    Result,
    cautious_freedom,
    equal_arms,
    holm_pvalues,
    mean_difference,
    t_test,
)

QUANTILES = 2000  # of a chi-square: a noncentral t is then accurate to 0.00002


def paired_difference(a: np.ndarray, b: np.ndarray, step: float = 0.0) -> Result:
    """Student's test of paired differences, `b[u] - a[u]`, with the t interval of their mean.

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
    width even if every run of one arm beats every run of the other. The first `pairs` runs of both arms share draws;
    only runs with different draws are compared. The interval is that of independent arms: too wide if the same draw
    moves both arms alike.
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

    # An observed chance of 0 or 1 is itself a root, which is not wanted.
    low = optimize.brentq(excess, 0, min(chance, 1 - 1e-9)) if chance > 0 else 0.0
    high = optimize.brentq(excess, max(chance, 1e-9), 1) if chance < 1 else 1.0
    return Estimate(chance, float(low), float(high))


def adjust_pvalues(comparisons: list[Compared]) -> list[Compared]:
    """The comparisons with `pvalue_holm` set: the p-values adjusted by Holm's method."""
    pvalues = holm_pvalues(np.array([each.pvalue for each in comparisons])).tolist()
    for each, pvalue in zip(comparisons, pvalues, strict=True):
        each.pvalue_holm = pvalue
    return comparisons


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


# By the units of runs


PAIRED: tuple[Way, ...] = ("paired", "partly paired")


def difference(plan: Design, a: np.ndarray, b: np.ndarray, step: float) -> Result:
    """The test of a quantity of runs between two arms; only the difference if the design has no test."""
    a, b = plan.means(a, b)
    if plan.way == "paired":
        return paired_difference(a, b, step)
    if plan.way == "partly paired":
        return partly_paired_difference(a, b, plan.shared, step)
    if plan.way == "independent":
        return mean_difference(a, b, (step, step))
    return Result(np.nan, np.nan, Estimate(float(b.mean() - a.mean())))


def of_units(plan: Design, a: np.ndarray, b: np.ndarray, test: Result, *, lower: bool | None) -> dict[str, Any]:
    """The results for any two arms, from the means of their units: test, difference in SDs, and how often B wins.

    For partly paired arms, `pair_weight` is the weight of the mean difference of pairs in the estimate. If the
    direction is unknown (`lower` is None), the higher value wins.
    """
    means, untested = plan.means(a, b), plan.way in UNTESTED
    better = [-of_arm if lower else of_arm for of_arm in means]
    return {
        "way": plan.way,
        "pair_weight": pair_weight(*means, plan.shared).value if plan.way == "partly paired" else 0.0,
        "difference": test.effect,
        "pvalue": test.pvalue,
        "pvalue_holm": test.pvalue,
        "hedges_g": UNDEFINED if untested else hedges_g(*means),
        "probability_of_improvement": (UNDEFINED if untested else probability_of_improvement(*better, plan.shared)),
    }


def between_arms(plan: Design, matrix: np.ndarray, step: float, most: float = 1) -> tuple[Estimate, Estimate]:
    """The means over pairs of a run of A and one of B, [A, B]: with other draws, and with the same; bounds clipped."""
    means = designs.pair_means(matrix, plan.a, plan.b, plan.units_a, plan.units_b)
    same = plan.units_a[:, np.newaxis] == plan.units_b
    if plan.way == "one draw":
        of_pairs = means[~same], means[same]
        other, alike = (Estimate(float(of.mean())) if of.size else UNDEFINED for of in of_pairs)
    else:
        other = designs.estimate(designs.between_arms(means, plan.units_a, plan.units_b))
        alike = mean_t(means[same], step)
    return other.within(0, most), alike.within(0, most)


def variances(scores: np.ndarray) -> np.ndarray:
    """Half the squared difference of each pair of runs; its mean over pairs of two runs is the sample variance."""
    return np.square(scores[:, np.newaxis] - scores) / 2


def sd_ratio(plan: Design, a: np.ndarray, b: np.ndarray) -> Estimate:
    """The ratio of the SDs of runs of different units; without an interval if it would be too wide."""
    return unless_too_wide(designs.ratio(*plan.of_pairs(variances(a), variances(b)), 0.5))


FEWEST_PAIRS = 4  # with fewer, the error of the pairs' correlation cannot be estimated


class Weight(NamedTuple):
    """The extra weight of pairs, from 0 (all runs weigh the same) to 1 (only pairs count).

    `variance` is the variance added by estimating the weight; `correlation` that of the pairs, less a standard error.
    """

    value: float
    variance: float
    correlation: float


ALIKE = Weight(0.0, 0.0, 0.0)


def pair_weight(a: np.ndarray, b: np.ndarray, pairs: int) -> Weight:
    """The weight with the smallest error, for a correlation one standard error below the observed one (Fisher's z)."""
    sd_a, sd_b = float(standard_deviation(a)), float(standard_deviation(b))
    paired = a[:pairs], b[:pairs]
    if pairs < FEWEST_PAIRS or not min(sd_a, sd_b, *map(standard_deviation, paired)) > 0:
        return ALIKE
    observed = np.clip(np.corrcoef(*paired)[0, 1], -1 + 1e-9, 1 - 1e-9)
    correlation = float(np.tanh(np.arctanh(observed) - 1 / np.sqrt(pairs - 3)))
    # How much more a paired run weighs if pairs alone count.
    more_a, more_b = 1 / pairs - 1 / len(a), 1 / pairs - 1 / len(b)
    if correlation <= 0 or more_a == more_b == 0:
        return ALIKE
    # The mean difference of the pairs minus the difference of the means: its variance at correlation 0 (`apart`) and
    # at this one, and its covariance with the difference of the means, times -1.
    apart = sd_a**2 * more_a + sd_b**2 * more_b
    common = sd_a * sd_b * correlation
    variance = apart - 2 * common * pairs * more_a * more_b
    covariance = common * (more_a / len(b) + more_b / len(a)) * pairs
    value = min(covariance / variance, 1.0)
    slope = covariance / correlation * apart / variance**2
    return Weight(value, slope**2 * (1 - correlation**2) ** 2 / (pairs - 1) * variance, correlation)


def partly_paired_difference(a: np.ndarray, b: np.ndarray, pairs: int, step: float = 0.0) -> Result:
    """The test and interval of the second arm's mean minus the first's; the first `pairs` values of both are paired.

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
    freedom = cautious_freedom(variance**2 / np.sum(variances**2 / freedoms), len(a), len(b))
    if weight.value > 0:
        freedom = min(freedom, min(len(a), len(b)) - 1)
    return t_test(difference, float(np.sqrt(variance + 2 * weight.variance)), freedom)


def _shares(runs: int, pairs: int, weight: float) -> np.ndarray:
    """The weight of each run in its arm's mean."""
    shares = np.full(runs, (1 - weight) / runs)
    shares[:pairs] += weight / max(pairs, 1)
    return shares


def _kept(shares: np.ndarray) -> np.ndarray:
    """The part of each run's variance that remains after the arm's mean is subtracted."""
    return 1 - 2 * shares + np.sum(shares**2)


def _kept_of_pairs(
    a: np.ndarray, b: np.ndarray, shares_a: np.ndarray, shares_b: np.ndarray, weight: Weight, pairs: int
) -> float:
    """The part that remains of the variance of a pair's contribution to the difference of the means."""
    share_a, share_b = shares_a[0], shares_b[0]
    sd_a, sd_b = share_a * standard_deviation(a), share_b * standard_deviation(b)
    covariance = weight.correlation * sd_a * sd_b
    whole = sd_a**2 + sd_b**2 - 2 * covariance
    of_both = 1 - share_a - share_b + pairs * share_a * share_b
    if whole == 0:
        return of_both
    return (sd_a**2 * _kept(shares_a)[0] + sd_b**2 * _kept(shares_b)[0] - 2 * covariance * of_both) / whole
