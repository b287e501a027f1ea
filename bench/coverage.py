"""Coverage of the 95 % intervals and false-positive rates of the tests at 5 %, with ten simulated runs per arm.

The runs come from artificial classifiers whose true churn and variances are known integrals. An example has a
difficulty a, normal over examples. Run r is right on it with probability Phi(a + b u_r), u_r normal over runs; a wrong
prediction is one of two wrong classes. With b = 0, all errors are independent. A line is marked if an interval covers
the truth in less than 93 % or more than 97 % of studies, or if a test rejects in less than 4 % or more than 6 %. Rates
with a few possible values have methods that err on the safe side; there, only the other side is marked.

    python bench/coverage.py [section ...]
"""

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from scipy import stats

from toolnoise.analyses.remedies.metric import Measured, measure, reduction
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.comparison.two_arms import hedges_g, probability_of_improvement
from toolnoise.formulas.churn import pairwise_churn
from toolnoise.formulas.declared import METRICS
from toolnoise.formulas.example_churn import ExampleChurn, two_way_bootstrap
from toolnoise.formulas.groups import Rate, of_difficulty, of_size, rates, unlike
from toolnoise.formulas.ratios import CellRuns, ratios
from toolnoise.formulas.variance_components import PARTS
from toolnoise.formulas.variance_components import rows as component_rows
from toolnoise.measures.by_draw import churns, grouped
from toolnoise.stats.components import components
from toolnoise.stats.estimates import (
    UNDEFINED,
    Estimate,
    log_t_interval,
    mean_t,
    positive_mean_t,
    t_interval,
)
from toolnoise.stats.jackknife import Pairs, pairs_without_each, pairwise_jackknife, pairwise_mean, standard_error
from toolnoise.stats.multiplicity import holm
from toolnoise.stats.sd_ratio import by_size, sd_ratio
from toolnoise.stats.spread import root_mean_square, sd_chi2, sd_robust
from toolnoise.stats.testset import distribution_wise_variance, independent_errors_sd
from toolnoise.stats.two_means import mean_difference

RUNS = 10
STUDIES, SLOW_STUDIES = 4_000, 2_000
REDUCTIONS, MANY = 1_000, 400  # simulated studies, and the runs that stand for the population
RESAMPLES = 199  # resamples of the two-way bootstrap
SOME_RUNS = (2, 3, 5, 10)
MORE_RUNS = (5, 10, 20, 50, 100)
MANY_STUDIES = 20_000
LOG_NORMAL = ((3, 4), (4, 4), (5, 4), (10, 10))  # draws, and runs of each
WIDE = 500  # times the mean
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

# The demo's smallcnn on digits: each class's number of test examples, and the errors that some of them have in 20 runs
# (algo and algo_impl on both toolings); the others have none.
DIGITS = (
    (50, (8, 9, 15)),
    (51, (1, 3, 3, 4, 8)),
    (49, (4, 4, 4, 8, 12)),
    (51, (2, 4, 5, 6, 7, 12, 16, 20)),
    (51, (4, 6, 10)),
    (51, (3, 3, 8)),
    (51, (4, 12)),
    (50, ()),
    (46, (1, 1, 4, 4, 4, 4, 4, 6, 7, 8, 11, 15)),
    (50, (3, 4, 4, 4, 8, 8, 13, 14, 16)),
)
ERRORS = [np.pad(np.array(errors, float) / 20, (0, size - len(errors))) for size, errors in DIGITS]


def main() -> None:
    """Print every rate, or those of some sections."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="section", help=f"of {', '.join(SECTIONS)}; default: all")
    chosen = parser.parse_args().sections or list(SECTIONS)
    if unknown := set(chosen) - set(SECTIONS):
        parser.error(f"unknown section: {', '.join(sorted(unknown))}")
    started = time.perf_counter()
    for name in chosen:
        title, section = SECTIONS[name]
        print(title)
        section(np.random.Generator(np.random.Philox(5)))
    print(f"coverage: {time.perf_counter() - started:.0f} s")


def spreads(draws: np.random.Generator) -> None:
    """Coverage of the SD."""
    for kind, (sample, sd) in shapes(draws).items():
        arms = [sample((RUNS,)) for _ in range(STUDIES)]
        covered(f"chi-square, {kind}", (sd_chi2(arm) for arm in arms), sd)
        covered(f"Bonett, {kind}", (sd_robust(arm) for arm in arms), sd)


def of_components(rows: int, columns: int, draws: np.random.Generator, examples: int = 1000) -> None:
    """Components of accuracy from normal effects, and of correctness and churn from classifiers of two classes.

    Run (a, r) is right on an example if its difficulty plus noise of draw a plus noise of the run is above 0; both
    noises are of the example, so no implementation draw is better than another.
    """
    scales = {"algo": 1.0, "impl_alone": 0.3, "interaction": 0.5}
    truth = {name: scale**2 for name, scale in scales.items()}
    shapes_of = {"algo": (rows, 1), "impl_alone": (1, columns), "interaction": (rows, columns)}
    found = []
    for _ in range(STUDIES):
        effects_of = [scale * draws.standard_normal(shapes_of[name]) for name, scale in scales.items()]
        found.append(components(sum(effects_of), crossed=True))
    for name, part in PARTS.items():
        wanted = truth.get(name, truth["impl_alone"] + truth["interaction"])
        covered(f"variance of accuracy, {name}", (getattr(one, part) for one in found), wanted)
    difficulty, of_draw, of_run = draws.normal(1.5, 1.5, examples), 0.6, 0.3
    # Given a draw, an example is right with probability p; the draws' p is integrated over.
    chances = stats.norm.cdf((difficulty + of_draw * NODES[:, np.newaxis]) / of_run)
    within = np.mean(WEIGHTS @ (chances * (1 - chances)))
    between = np.mean(WEIGHTS @ chances**2 - (WEIGHTS @ chances) ** 2)
    truth = {
        "correctness_variance_algo": between,
        "correctness_variance_impl": within,
        "correctness_variance_impl_alone": 0.0,
        "correctness_variance_interaction": within,
        "churn_same_draw": 2 * within,
        "churn_other_draw": 2 * (within + between),
        "churn_impl_share": within / (within + between),
    }
    table = np.arange(rows * columns).reshape(rows, columns)
    found = {name: [] for name in truth}
    for _ in range(SLOW_STUDIES):
        noise = of_draw * draws.standard_normal((rows, 1, examples))
        margins = difficulty + noise + of_run * draws.standard_normal((rows, columns, examples))
        right = (margins > 0).reshape(-1, examples).astype(np.int64)
        for metric, _, estimate in component_rows(right, np.ones(examples, np.int64), table, crossed=True):
            if metric in found:
                found[metric].append(estimate)
    for metric, wanted in truth.items():
        covered(metric.replace("_", " "), found[metric], wanted)


def unequal_draws(rows: int, columns: int, draws: np.random.Generator, examples: int = 400) -> None:
    """Measures of IMPL over draws that differ in how sensitive they are to rounding, by log-normal factors.

    Run (a, r) is right on an example if its difficulty plus noise is above 0. The noise is that of draw a plus that of
    the run times the draw's sensitivity, scaled to a variance of 1: a sensitive draw is as good as others. Of a run's
    noise, 30 % of the variance are the implementation draw's own, which all draws share. An easy class is an eighth of
    the examples.
    """
    table, class_of = np.arange(rows * columns).reshape(rows, columns), np.arange(examples) % 8 == 0
    difficulty = draws.normal(1.5, 1.5, examples) + class_of
    for sigma in (0, 0.7, 1.3):
        found: dict[str, list[tuple[float, float, Estimate]]] = {}
        for _ in range(SLOW_STUDIES):
            sensitivity = 0.2 * np.exp(sigma * draws.standard_normal((rows, 1, 1)))
            noise = np.sqrt(0.7) * draws.standard_normal((rows, columns, examples), np.float32)
            noise += np.sqrt(0.3) * draws.standard_normal((1, columns, examples), np.float32)
            noise = (draws.standard_normal((rows, 1, examples)) + sensitivity * noise) / np.hypot(1, sensitivity)
            margins = difficulty + noise
            for metric, *one in _of_unequal_draws(margins, table, class_of):
                found.setdefault(metric, []).append(one)
        for metric, estimates in found.items():
            above, below, now = zip(*estimates, strict=True)
            truth = np.mean(above) / np.mean(below)
            truth = truth ** (0.5 if "SD" in metric else 1)
            covered(f"{metric.replace('_', ' ')}, sensitivity {sigma:g}", now, truth, most=1)


def _of_unequal_draws(
    margins: np.ndarray, table: np.ndarray, class_of: np.ndarray
) -> Iterator[tuple[str, float, float, Estimate]]:
    """Each measure's parts whose ratio is it in expectation, and its estimate."""
    right = margins > 0
    _, columns, examples = right.shape
    accuracies = right.mean(axis=-1)
    variances = accuracies.var(axis=1, ddof=1)
    of_class = right[..., class_of].mean(axis=-1)
    hits = right.sum(axis=1)
    churn = (hits * (columns - hits)).sum(axis=1) / (columns * (columns - 1) / 2) / examples
    distance = np.array([1 - np.corrcoef(draw)[np.triu_indices(columns, 1)].mean() for draw in margins])
    yield "churn", churn.mean(), 1, METRICS["churn"].over(churn)
    yield "correlation", (1 - distance).mean(), 1, METRICS["correlation_pearson"].over(1 - distance)
    yield "SD of accuracy", variances.mean(), 1, METRICS["accuracy_sd"].over(np.sqrt(variances))
    ratio = sd_ratio(list(of_class), list(accuracies))
    yield "SD of a class over that of all", of_class.var(axis=1, ddof=1).mean(), variances.mean(), ratio
    predicted = right.reshape(-1, examples).astype(np.int64)
    found = {
        metric: estimate
        for metric, _, estimate in component_rows(predicted, np.ones(examples, np.int64), table, crossed=True)
    }
    for metric, estimate in found.items():
        above, below = estimate.value, 1
        if metric == "churn_impl_share":
            above, below = found["churn_same_draw"].value, found["churn_other_draw"].value
        yield metric, above, below, estimate


def log_normal_draws(draws: np.random.Generator) -> None:
    """Means over draws whose values are log-normal, however noisy the noisiest, and what is made of their SDs.

    A draw's value is the variance of its runs: 4 of each of 3 to 5 draws, 10 of each of 10. The lines below a mean have
    what two simpler methods cover, and what is covered if intervals are left out that reach further than `WIDE` times
    the mean. The interaction is that of normal runs. At last, not the variances are log-normal with this sigma, but the
    SDs.
    """
    for sigma in (0, 0.7, 1.0, 1.3):
        for noisy in (1, 0.75):
            for rows, columns in LOG_NORMAL:
                runs, truth = _log_normal(draws, MANY_STUDIES, rows, columns, sigma)
                variances = runs.var(axis=-1, ddof=1) * (draws.random(runs.shape[:2]) < noisy)
                what, truth = f"{rows} draws, sensitivity {sigma:g}", noisy * truth
                now = [positive_mean_t(study) for study in variances]
                held = f"mean of {what}" + (", a quarter without noise" if noisy < 1 else "")
                covered(held, now, truth, most=1)
                covered("  by the delta method", map(delta_method, variances), truth, most=1)
                covered("  by Student's t", map(mean_t, variances), truth, most=1)
                covered(
                    "  without the widest",
                    (one if one.high < WIDE * one.value else UNDEFINED for one in now),
                    truth,
                    most=1,
                )
                if noisy == 1:
                    sds = np.sqrt(variances[:STUDIES])
                    covered(f"SD of {what}", map(root_mean_square, sds), np.sqrt(truth), most=1)
                    found = runs[:STUDIES]
                    covered(
                        f"interaction of {what}",
                        (components(study, crossed=True).interaction for study in found),
                        truth,
                        most=1,
                    )
    for sigma in (0.7, 1.3):
        for rows, columns in LOG_NORMAL:
            runs, truth = _log_normal(draws, STUDIES, rows, columns, 2 * sigma)
            sds = runs.std(axis=-1, ddof=1)
            what = f"{rows} draws whose SDs have sensitivity {sigma:g}"
            covered(f"SD of {what}", map(root_mean_square, sds), np.sqrt(truth), most=1)
            covered(f"variance of {what}", map(positive_mean_t, sds**2), truth, most=1)


def delta_method(values: np.ndarray) -> Estimate:
    """The mean with Student's interval of its logarithm, whose standard error is the mean's over the mean."""
    mean, error = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
    return log_t_interval(mean, error / mean, len(values) - 1) if mean > 0 else UNDEFINED


def _log_normal(
    draws: np.random.Generator, studies: int, rows: int, columns: int, sigma: float
) -> tuple[np.ndarray, float]:
    """Normal runs [studies, rows, columns] of rows with log-normal variances, and the mean of these."""
    sds = np.exp(sigma / 2 * draws.standard_normal((studies, rows, 1)))
    return sds * draws.standard_normal((studies, rows, columns)), np.exp(sigma**2 / 2)


def unequal_nulls(draws: np.random.Generator, examples: int = 400) -> None:
    """How often a class's SD is unlike what its own errors explain, over draws that differ in noise.

    Errors are independent. Each draw has half of the examples in doubt, more or less by a log-normal factor.
    """
    base = np.clip(draws.gamma(0.3, 0.1, examples), 0, 0.5)
    for rows, columns in ((4, 4), (8, 2), (10, 10)):
        for sigma in (0, 0.7, 1.3):
            pvalues = []
            for _ in range(SLOW_STUDIES):
                chances = (
                    base * np.exp(sigma * draws.standard_normal((rows, 1))) * draws.integers(0, 2, (rows, examples))
                )
                wrong = draws.random((rows, columns, examples)) < 2 * np.minimum(chances, 0.3)[:, np.newaxis]
                parts, wholes = zip(*(_rates(of_draw) for of_draw in wrong), strict=True)
                pvalues.append(unlike(of_difficulty, [(parts, wholes)])[0])
            rejected(f"{rows} draws of {columns} runs, sensitivity {sigma:g}", pvalues, least=0)


def _rates(wrong: np.ndarray) -> tuple[Rate, Rate]:
    """The error rate of an eighth of the examples, and of all."""
    return tuple(Rate(some.mean(axis=1), some.shape[1], independent_errors_sd(some)) for some in (wrong[:, ::8], wrong))


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


def easy_classes(draws: np.random.Generator) -> None:
    """Coverage of the SD and the mean of classes near 100 %, whose runs are often all equal."""
    kinds = {"digit 1": ERRORS[1], "digit 5": ERRORS[5], "50 examples that err in 0.2 %": np.full(50, 0.002)}
    for kind, errors in kinds.items():
        step = 1 / len(errors)
        sd, mean = np.sqrt(np.sum(errors * (1 - errors))) * step, 1 - errors.mean()
        for runs in SOME_RUNS:
            wrong = draws.random((STUDIES, runs, len(errors))) < errors
            arms = 1 - np.count_nonzero(wrong, axis=2) / len(errors)
            same = np.mean(np.ptp(arms, axis=1) == 0)
            what = f"{kind}, {runs} runs (all equal in {100 * same:.0f} %)"
            covered(f"SD, {what}", (sd_chi2(arm, step) for arm in arms), sd, most=1)
            covered("  if equal runs had an SD of 0 for sure", (sd_chi2(arm, 0.0) for arm in arms), sd, most=1)
            covered("  its mean", (mean_t(arm, step) for arm in arms), mean, most=1)


def new_examples(draws: np.random.Generator) -> None:
    """Coverage of estimates from predictions."""
    for kind, world in WORLDS.items():
        predictions_and_variances(kind, world, draws)


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
            anywhere.append(two_way_bootstrap(ExampleChurn(predictions), study, RESAMPLES))
        variances.append(distribution_wise_variance([hits], sd_robust(hits.mean(axis=1), 1 / examples)))
    covered(f"churn on this test set, jackknife, {kind}", here, np.array(true_here))
    covered(f"churn on any, two-way bootstrap, {kind}", anywhere, churn)
    covered(f"distribution-wise variance, {kind}", variances, variance)


def unequal_runs(draws: np.random.Generator, examples: int = 500) -> None:
    """Coverage of churn and of SDs where runs differ in noise, by log-normal factors.

    A run is right on an example if its difficulty plus noise is above 0. Churn's truth is the mean of all studies,
    since the mean over pairs is unbiased. A run's accuracy deviates in proportion to its noise.
    """
    difficulty = draws.normal(2, 1.5, examples)
    for sigma in (0, 0.5, 1):
        for runs in (3, 5, RUNS):
            factors = np.exp(sigma * draws.standard_normal((SLOW_STUDIES, runs, 1)))
            found = []
            for factor in factors:
                margins = difficulty + 0.5 * factor * draws.standard_normal((runs, examples))
                found.append(Pairs.of(pairwise_churn((margins > 0).astype(np.int64))))
            truth = np.mean([pairwise_mean(pairs).value for pairs in found])
            covered(f"churn, {runs} runs, noise {sigma:g}", map(pairwise_jackknife, found), truth, most=1)
        values = factors[..., 0] * draws.standard_normal((SLOW_STUDIES, RUNS))
        sd = np.exp(sigma**2)
        covered(f"SD, chi-square, {RUNS} runs, noise {sigma:g}", map(sd_chi2, values), sd, most=1)
        covered(f"SD, Bonett, {RUNS} runs, noise {sigma:g}", map(sd_robust, values), sd, most=1)


def churn_of(right: np.ndarray) -> np.ndarray:
    """The probability that two runs disagree on an example that each gets right with this probability."""
    return 1 - right**2 - (1 - right) ** 2 / 2


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
    """Where the jackknife finds no error, the interval has no width."""
    mean, error = pairwise_mean(pairs).value, standard_error(pairs_without_each(pairs))
    return t_interval(mean, error, len(pairs.sums) - 1) if error else Estimate(mean, mean, mean)


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
        return tuple(measure((own + noise).astype(np.float32), labels) for noise in (view, view / 3))

    truth = reduction(*runs(MANY), same_runs=True).value
    arms = [(runs(RUNS), runs(RUNS)) for _ in range(REDUCTIONS)]
    covered("of the same runs", (reduction(*one, same_runs=True) for one, _ in arms), truth)
    covered("of other runs", (reduction(one[0], other[1], same_runs=False) for one, other in arms), truth)


def ratios_of_noise(draws: np.random.Generator) -> None:
    """Coverage of ratios between cells of one task: ALGO, and draws of IMPL, over ALGO+IMPL with the same draws.

    An example is right if its level, what the algorithm draws for it and what rounding adds are above zero together. A
    run's cross-entropy has an SD of 1 from the algorithm and one of `rounding` from the implementation.
    """
    rounding, runs, examples = 0.5, 4, 500
    level = draws.normal(1.5, 1.5, examples)
    both = churn_of(stats.norm.cdf(level / np.hypot(1, rounding))).mean()
    algo = churn_of(stats.norm.cdf(level)).mean()
    impl = WEIGHTS @ churn_of(stats.norm.cdf((level + NODES[:, None]) / rounding)).mean(axis=1)

    def cell(numbers: Sequence[int], drawn: np.ndarray, spread: np.ndarray, noise: float) -> CellRuns:
        margin = drawn + noise * draws.standard_normal(drawn.shape)
        predicted = np.where(level + margin > 0, 0, draws.integers(1, 3, margin.shape))
        own = [dict.fromkeys(ALGORITHMIC, number) for number in numbers]
        values = {metric: found for metric, _, found in churns(grouped(own), predicted, np.zeros(examples, int), {})}
        entropies = spread + noise * draws.standard_normal(len(numbers))
        return CellRuns(own, values | {"accuracy": (predicted == 0).mean(axis=1), "cross_entropy": entropies})

    found = {"ALGO": [], "other ALGO": [], "IMPL": []}
    for _ in range(SLOW_STUDIES):
        drawn, spread = draws.standard_normal((2 * RUNS, examples)), draws.standard_normal(2 * RUNS)
        numbers, repeated = np.arange(2 * RUNS), np.repeat(np.arange(RUNS), runs)
        first, others = numbers[:RUNS], numbers[RUNS:]
        whole = cell(first, drawn[first], spread[first], rounding)
        for name, mine, noise in (("ALGO", first, 0), ("other ALGO", others, 0), ("IMPL", repeated, rounding)):
            found[name].append(ratios(cell(mine, drawn[mine], spread[mine], noise), whole).estimates)
    spreads = {"ALGO": 1 / np.hypot(1, rounding), "IMPL": rounding / np.hypot(1, rounding)}
    for name, estimates in found.items():
        part = name.removeprefix("other ")
        truth = (impl if part == "IMPL" else algo) / both
        covered(f"churn, {name} over ALGO+IMPL", (one["churn"] for one in estimates), truth)
        covered(f"SD, {name} over ALGO+IMPL", (one["cross_entropy_sd"] for one in estimates), spreads[part])


def effects(draws: np.random.Generator) -> None:
    """Coverage of the three forms of a difference of means."""
    for shift in (0.0, 1.0, 2.0):
        arms = [(draws.normal(0, 1, RUNS), draws.normal(shift, 1, RUNS)) for _ in range(STUDIES)]
        covered(f"difference of means, {shift:g} SDs", (mean_difference(*two).effect for two in arms), shift)
        covered(f"Hedges' g, {shift:g} SDs", (hedges_g(*two) for two in arms[:SLOW_STUDIES]), shift)
        chance = stats.norm.cdf(shift / np.sqrt(2))
        covered(
            f"probability of improvement, {shift:g} SDs", (probability_of_improvement(*two) for two in arms), chance
        )


def tests(draws: np.random.Generator) -> None:
    """The false-positive rate of every test."""
    for kind, (sample, _) in shapes(draws).items():
        arms = [(sample((RUNS,)), sample((RUNS,))) for _ in range(STUDIES)]
        rejected(f"Welch, {kind}", (mean_difference(*two).pvalue for two in arms))
    arms = [(draws.normal(0, 1, RUNS), draws.normal(0, 3, RUNS)) for _ in range(STUDIES)]
    rejected("Welch, one SD three times the other", (mean_difference(*two).pvalue for two in arms))
    parts = draws.normal(0, 1, (STUDIES, RUNS, 10)) * np.sqrt(10)  # ten equal classes
    ratios_of_one = (sd_ratio([part[:, 0]], [part.mean(axis=1)]).value for part in parts)
    rejected("a class's SD against its size", (by_size(1, 10).pvalue(ratio, RUNS - 1) for ratio in ratios_of_one))
    families = [
        np.array([mean_difference(*two).pvalue for two in draws.normal(0, 1, (10, 2, RUNS))]) for _ in range(STUDIES)
    ]
    rejected("any of ten, Holm", (holm(family).min() for family in families))
    rejected("any of ten, Benjamini-Hochberg", (stats.false_discovery_control(family).min() for family in families))


def classes(draws: np.random.Generator) -> None:
    """How often some class has a significant ratio of SDs, if all examples of the demo err independently."""
    labels = np.repeat(np.arange(len(ERRORS)), [len(errors) for errors in ERRORS])
    errors, everything = np.concatenate(ERRORS), np.ones(len(labels), bool)
    for runs in MORE_RUNS:
        smallest = []
        for _ in range(SLOW_STUDIES):
            predicted = np.where(draws.random((runs, len(labels))) < errors, -1, labels)
            whole, *parts = (
                rates(predicted, labels, len(ERRORS), member)["accuracy"]
                for member in (everything, *(labels == index for index in range(len(ERRORS))))
            )
            adjusted = (unlike(null, [([part], [whole]) for part in parts]) for null in (of_size, of_difficulty))
            smallest.append([np.fmin.reduce(pvalues) for pvalues in adjusted])
        for null, pvalues in zip(("size", "difficulty"), np.transpose(smallest), strict=True):
            rejected(f"any class unlike its {null}, Holm, {runs} runs", pvalues, least=0)


def tiny_spreads(draws: np.random.Generator) -> None:
    """The false-positive rate of Welch's test of accuracies whose SD is about one example of 100."""
    kinds = {
        "one example errs in half the runs": lambda shape: draws.binomial(1, 0.5, shape),
        "four examples do": lambda shape: draws.binomial(4, 0.5, shape),
        "many err in few, 1 on average": lambda shape: draws.poisson(1, shape),
    }
    for kind, counts in kinds.items():
        for runs in SOME_RUNS:
            arms = counts((STUDIES, 2, runs)) / 100
            rejected(f"{kind}, {runs} runs", (mean_difference(*two, (0.01, 0.01)).pvalue for two in arms), least=0)
            as_seen = (mean_difference(*two).pvalue for two in arms)
            rejected("  if equal runs had an SD of 0 for sure", as_seen, least=0)


def covered(what: str, intervals: Iterable[Estimate], truth: float | np.ndarray, most: float = 0.97) -> None:
    """Print the coverage."""
    bounds = np.array([(found.low, found.high) for found in intervals])
    given = ~np.isnan(bounds[:, 0])
    if not given.any():
        print(f"  {what:66} no interval")
        return
    held = np.mean(((bounds[:, 0] <= truth) & (truth <= bounds[:, 1]))[given])
    none = "" if given.all() else f", none in {100 * np.mean(~given):.0f} %"
    report(what + none, held, given.sum(), 0.93 <= held <= most)


def rejected(what: str, pvalues: Iterable[float], least: float = 0.04) -> None:
    """Print the rejection rate of a test at 5 %."""
    found = np.fromiter(pvalues, float)
    share = np.mean(found <= 0.05)
    report(what, share, len(found), least <= share <= 0.06)


def report(what: str, share: float, studies: int, good: bool) -> None:
    error = np.sqrt(share * (1 - share) / studies)
    print(f"  {what:66} {100 * share:5.1f} % ± {100 * error:.1f}{'' if good else '  <- outside'}", flush=True)


SECTIONS: dict[str, tuple[str, Callable[[np.random.Generator], None]]] = {
    "sd": (f"intervals of the SD, {RUNS} runs", spreads),
    "easy": ("intervals of classes near 100 %", easy_classes),
    "churn": (f"intervals of churn and of the distribution-wise variance, {RUNS} runs", new_examples),
    "unequal-runs": ("intervals where runs differ in noise", unequal_runs),
    "splits": ("intervals of churn between runs of two kinds, each kind as likely", splits),
    "remedies": (f"intervals of the effect of a remedy, {RUNS} runs per arm", reductions),
    "few-draws": ("components of noise, 4 draws of 5 runs", lambda draws: of_components(4, 5, draws)),
    "many-draws": ("components of noise, 10 draws of 10 runs", lambda draws: of_components(10, 10, draws)),
    "unequal-few": ("measures over 4 unequal draws of 4 runs", lambda draws: unequal_draws(4, 4, draws)),
    "unequal-many": ("measures over 10 unequal draws of 10 runs", lambda draws: unequal_draws(10, 10, draws)),
    "log-normal": ("measures over draws whose values are log-normal", log_normal_draws),
    "unequal-nulls": ("tests at 5 % of a class whose examples err independently, over unequal draws", unequal_nulls),
    "ratios": (f"intervals of ratios of noise, {RUNS} draws", ratios_of_noise),
    "effects": (f"intervals of effects, {RUNS} runs per arm", effects),
    "tests": (f"tests at 5 % without an effect, {RUNS} runs per arm", tests),
    "tiny": ("Welch's test at 5 % of accuracies with tiny SDs, without an effect", tiny_spreads),
    "classes": ("tests at 5 % of ten classes whose examples err independently, as often as the demo's", classes),
}

if __name__ == "__main__":
    main()
