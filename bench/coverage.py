"""Coverage of the 95 % intervals and false-positive rates of the tests at 5 %, with ten simulated runs per arm.

The runs come from artificial classifiers whose true churn and variances are known integrals. An example has a
difficulty a, normal over examples. Run r is right on it with probability Phi(a + b u_r), u_r normal over runs; a wrong
prediction is one of two wrong classes. With b = 0, all errors are independent. A line is marked if an interval covers
the truth in less than 93 % or more than 97 % of studies, or if a test rejects in less than 4 % or more than 6 %.

    python bench/coverage.py
"""

import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from scipy import stats

from toolnoise.metrics.churn import pairwise_churn
from toolnoise.metrics.remedies import Measured, measure, reduction
from toolnoise.stats.estimates import Estimate, t_interval
from toolnoise.stats.jackknife import Pairs, pairs_without_each, pairwise_jackknife, pairwise_mean, standard_error
from toolnoise.stats.multiplicity import benjamini_hochberg, holm
from toolnoise.stats.spread import sd_bootstrap, sd_chi2, sd_ratio_by_size_test, sd_robust
from toolnoise.stats.testset import distribution_wise_variance
from toolnoise.stats.two_means import hedges_g, mean_difference, probability_of_improvement
from toolnoise.stats.two_spreads import brown_forsythe, equivalence, f_test, permutation_test
from toolnoise.stats.two_way import two_way_bootstrap

RUNS = 10
STUDIES, SLOW_STUDIES = 4_000, 2_000
REDUCTIONS, MANY = 1_000, 400  # simulated studies, and the runs that stand for the population
RESAMPLES = 199  # resamples of the two-way bootstrap
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(200)
WEIGHTS = WEIGHTS / WEIGHTS.sum()

# Mean and SD of difficulty, b, and number of test examples: like MNIST, CIFAR-10, and a small hard set.
WORLDS = {
    "96 % right, errors independent": (4.0, 2.0, 0.0, 1000),
    "96 % right, good and bad runs": (4.0, 2.0, 0.2, 1000),
    "80 % right, errors independent": (1.5, 1.5, 0.0, 1000),
    "80 % right, good and bad runs": (1.5, 1.5, 0.05, 1000),
    "81 % right, all about as hard": (1.0, 0.5, 0.05, 500),
}


def main() -> None:
    """Print every rate."""
    started = time.perf_counter()
    draws = np.random.Generator(np.random.Philox(5))
    print(f"intervals of the SD, {RUNS} runs")
    for kind, (sample, sd) in shapes(draws).items():
        arms = [sample((RUNS,)) for _ in range(STUDIES)]
        covered(f"chi-square, {kind}", (sd_chi2(arm) for arm in arms), sd)
        covered(f"Bonett, {kind}", (sd_robust(arm) for arm in arms), sd)
        covered(f"BCa, {kind}", (sd_bootstrap(arm, study) for study, arm in enumerate(arms[:SLOW_STUDIES])), sd)
    print(f"intervals of churn and of the distribution-wise variance, {RUNS} runs")
    for kind, world in WORLDS.items():
        predictions_and_variances(kind, world, draws)
    print("intervals of churn between runs of two kinds, each kind as likely")
    splits(np.random.Generator(np.random.Philox(5)))
    print(f"intervals of the effect of a remedy, {RUNS} runs per arm")
    reductions(np.random.Generator(np.random.Philox(5)))
    print(f"intervals of effects, {RUNS} runs per arm")
    effects(draws)
    print(f"tests at 5 % without an effect, {RUNS} runs per arm")
    tests(draws)
    print(f"coverage: {time.perf_counter() - started:.0f} s")


def shapes(draws: np.random.Generator) -> dict[str, tuple[Callable, float]]:
    """Distributions of runs, each with a sampler and its SD."""

    def accuracies(shape: tuple[int, ...]) -> np.ndarray:
        return draws.binomial(1000, stats.norm.cdf(1.5 + 0.03 * draws.standard_normal(shape))) / 1000

    chances = stats.norm.cdf(1.5 + 0.03 * NODES)
    mean = WEIGHTS @ chances
    accuracy_sd = np.sqrt(WEIGHTS @ (chances * (1 - chances)) / 1000 + WEIGHTS @ (chances - mean) ** 2)
    return {
        "normal runs": (draws.standard_normal, 1.0),
        "accuracies": (accuracies, accuracy_sd),
        "skewed runs": (lambda shape: draws.gamma(8, size=shape), np.sqrt(8)),
        "runs with heavy tails": (lambda shape: draws.standard_t(5, shape), np.sqrt(5 / 3)),
    }


def predictions_and_variances(kind: str, world: tuple[float, float, float, int], draws: np.random.Generator) -> None:
    """Coverage of estimates from predictions, for this test set and for its distribution."""
    level, spread, between, examples = world
    right = stats.norm.cdf((level + spread * NODES) / np.sqrt(1 + between**2))
    churn = WEIGHTS @ churn_of(right)
    accuracy = stats.norm.cdf((level + between * NODES) / np.sqrt(1 + spread**2))
    variance = WEIGHTS @ (accuracy - WEIGHTS @ accuracy) ** 2
    here, anywhere, variances, true_here = [], [], [], []
    for study in range(STUDIES):
        difficulty = draws.normal(level, spread, examples)
        luck = between * draws.standard_normal((RUNS, 1))
        hits = draws.random((RUNS, examples)) < stats.norm.cdf(difficulty + luck)
        predictions = np.where(hits, 0, draws.integers(1, 3, hits.shape))
        here.append(pairwise_jackknife(Pairs.of(pairwise_churn(predictions))))
        true_here.append(churn_of(stats.norm.cdf(difficulty / np.sqrt(1 + between**2))).mean())
        if study < SLOW_STUDIES:
            anywhere.append(two_way_bootstrap(churn_measure(predictions), RUNS, examples, study, RESAMPLES))
        variances.append(distribution_wise_variance(hits))
    covered(f"churn on this test set, jackknife, {kind}", here, np.array(true_here))
    covered(f"churn on any, two-way bootstrap, {kind}", anywhere, churn)
    covered(f"distribution-wise variance, {kind}", variances, variance)


def churn_of(right: np.ndarray) -> np.ndarray:
    """The probability that two runs disagree on an example that each gets right with this probability."""
    return 1 - right**2 - (1 - right) ** 2 / 2


def churn_measure(predictions: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """`pairwise_churn` of resampled examples; every pair is compared once, not once per resample."""
    runs, examples = predictions.shape
    first, second = np.triu_indices(runs, 1)
    differ = (predictions[first] != predictions[second]).astype(np.float32)

    def measure(drawn: np.ndarray) -> np.ndarray:
        matrix = np.zeros((runs, runs))
        matrix[first, second] = differ @ np.bincount(drawn, minlength=examples).astype(np.float32) / examples
        return matrix + matrix.T

    assert np.allclose(measure(np.arange(examples)), pairwise_churn(predictions), atol=1e-6)
    return measure


def splits(draws: np.random.Generator) -> None:
    """Coverage of churn between runs that are equal within a kind, with the floor of the jackknife and without it.

    In a sample of equal halves all runs are equally far from the others on average: the jackknife finds no variance.
    """
    for runs in (4, 6, 10):
        kinds = draws.integers(0, 2, (STUDIES, runs, 1))
        samples = [Pairs.of(0.002 * (kind != kind.T)) for kind in kinds]
        covered(f"jackknife, {runs} runs", map(pairwise_jackknife, samples), 0.001)
        covered(f"jackknife without its floor, {runs} runs", map(without_floor, samples), 0.001)


def without_floor(pairs: Pairs) -> Estimate:
    return t_interval(pairwise_mean(pairs).value, standard_error(pairs_without_each(pairs)), len(pairs.sums) - 1)


def reductions(draws: np.random.Generator) -> None:
    """Coverage of the variability reduction, for the same runs and for others; the truth comes from many runs."""
    examples, classes = 400, 5
    labels = np.arange(examples) % classes
    common = draws.normal(size=(examples, classes)) + 1.5 * np.eye(classes)[labels]

    def runs(count: int) -> tuple[Measured, Measured]:
        # A remedy keeps the noise common to all views of a run, and a third of the noise of one view.
        shape = (count, examples, classes)
        own = common + 0.15 * draws.normal(size=(count, 1, classes)) + 0.6 * draws.normal(size=shape)
        view = 0.6 * draws.normal(size=shape)
        return measure(own + view, labels), measure(own + view / 3, labels)

    truth = reduction(*runs(MANY), same_runs=True).value
    arms = [(runs(RUNS), runs(RUNS)) for _ in range(REDUCTIONS)]
    covered("of the same runs", (reduction(*one, same_runs=True) for one, _ in arms), truth)
    covered("of other runs", (reduction(one[0], other[1], same_runs=False) for one, other in arms), truth)


def effects(draws: np.random.Generator) -> None:
    """Coverage of the three forms of a difference of means, and of a ratio of SDs."""
    for shift in (0.0, 1.0, 2.0):
        arms = [(draws.normal(0, 1, RUNS), draws.normal(shift, 1, RUNS)) for _ in range(STUDIES)]
        covered(f"difference of means, {shift:g} SDs", (mean_difference(*two).effect for two in arms), shift)
        covered(f"Hedges' g, {shift:g} SDs", (hedges_g(*two) for two in arms[:SLOW_STUDIES]), shift)
        chance = stats.norm.cdf(shift / np.sqrt(2))
        covered(
            f"probability of improvement, {shift:g} SDs", (probability_of_improvement(*two) for two in arms), chance
        )
    arms = [(draws.normal(0, 2, RUNS), draws.normal(0, 1, RUNS)) for _ in range(STUDIES)]
    covered("ratio of SDs, F", (f_test(*two).effect for two in arms), 2)
    covered("ratio of SDs, jackknife", (permutation_test(*two, 0).effect for two in arms[:SLOW_STUDIES]), 2)


def tests(draws: np.random.Generator) -> None:
    """The false-positive rate of every test."""
    for kind, (sample, _) in shapes(draws).items():
        arms = [(sample((RUNS,)), sample((RUNS,))) for _ in range(STUDIES)]
        rejected(f"F test, {kind}", (f_test(*two).pvalue for two in arms))
        rejected(f"Brown-Forsythe, {kind}", (brown_forsythe(*two).pvalue for two in arms))
        rejected(f"the same with its zeros, {kind}", (stats.levene(*two, center="median").pvalue for two in arms))
        rejected(f"permutations, {kind}", (permutation_test(*two, study).pvalue for study, two in enumerate(arms)))
        rejected(f"Welch, {kind}", (mean_difference(*two).pvalue for two in arms))
    arms = [(draws.normal(0, 1, RUNS), draws.normal(0, 3, RUNS)) for _ in range(STUDIES)]
    rejected("Welch, one SD three times the other", (mean_difference(*two).pvalue for two in arms))
    for runs, margin in ((10, 3), (20, 2)):
        arms = [(draws.normal(0, margin, runs), draws.normal(0, 1, runs)) for _ in range(STUDIES)]
        rejected(f"equivalence within {margin}, true ratio {margin}, {runs} runs", pvalues(equivalence, arms, margin))
    parts = draws.normal(0, 1, (STUDIES, RUNS, 10)) * np.sqrt(10)  # ten equal classes
    rejected("a class's SD against its size", (sd_ratio_by_size_test(p[:, 0], p.mean(axis=1), 0.1) for p in parts))
    families = [
        np.array([mean_difference(*two).pvalue for two in draws.normal(0, 1, (10, 2, RUNS))]) for _ in range(STUDIES)
    ]
    rejected("any of ten, Holm", (holm(family).min() for family in families))
    rejected("any of ten, Benjamini-Hochberg", (benjamini_hochberg(family).min() for family in families))


def pvalues(test: Callable, arms: Iterable[tuple[np.ndarray, np.ndarray]], *more: float) -> Iterator[float]:
    """The p-value of each pair of arms."""
    return (test(*two, *more).pvalue for two in arms)


def covered(what: str, intervals: Iterable[Estimate], truth: float | np.ndarray) -> None:
    """Print the coverage."""
    bounds = np.array([(found.low, found.high) for found in intervals])
    held = np.mean((bounds[:, 0] <= truth) & (truth <= bounds[:, 1]))
    report(what, held, len(bounds), 0.93 <= held <= 0.97)


def rejected(what: str, pvalues: Iterable[float]) -> None:
    """Print the rejection rate of a test at 5 %."""
    found = np.fromiter(pvalues, float)
    share = np.mean(found <= 0.05)
    report(what, share, len(found), 0.04 <= share <= 0.06)


def report(what: str, share: float, studies: int, good: bool) -> None:
    error = np.sqrt(share * (1 - share) / studies)
    print(f"  {what:66} {100 * share:5.1f} % ± {100 * error:.1f}{'' if good else '  <- outside'}", flush=True)


if __name__ == "__main__":
    main()
