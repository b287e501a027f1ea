"""False winners, power and coverage: how often tests and intervals err in simulated studies whose truth is known.

    python bench/error_rates.py [SECTION ...]      a few minutes per section
    python bench/error_rates.py winners --studies 20000

A winner is false if no arm is better; a line is marked if more than 6 % of studies have a false winner. An interval
covers if it contains the truth; a line is marked if less than 93 or more than 97 % of intervals cover. For conservative
methods, only low coverage is marked. docs/tables/coverage.txt has further sections, from an earlier commit.
"""

import argparse
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from scipy import special, stats

from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.comparison import compared_metrics, crossed
from toolnoise.comparison.arms import Arm as ArmOnExamples
from toolnoise.comparison.comparison import design_and_test, side_of_comparison
from toolnoise.comparison.metric_runs import as_runs
from toolnoise.comparison.naming import with_directions
from toolnoise.comparison.two_arms import partly_paired_difference
from toolnoise.formulas.churn import ExampleChurn, pairwise_churn, two_way_bootstrap
from toolnoise.formulas.groups import distribution_wise_variance
from toolnoise.formulas.variance_components import components
from toolnoise.measures.by_draw import churns_by_draw, group_by_draw
from toolnoise.measures.ratios import CellRuns, ratios
from toolnoise.stats.contrasts import PAIRS, SD, Arm, Contrast, contrast, of_runs
from toolnoise.stats.draws import Drawn
from toolnoise.stats.estimates import TAIL, Estimate, root_mean_square, sd_chi2, sd_robust
from toolnoise.stats.estimates import positive_mean_t as mean_over_draws
from toolnoise.stats.jackknife import Pairs, pairwise_jackknife, pairwise_mean
from toolnoise.stats.significance import cautious_freedom, mean_difference

Draws = np.random.Generator
RUNS, LEVEL = 10, 0.05
MS = with_directions(("ms",))
MANY_DRAWS = 5  # times the number of studies, in a quick section
SLOW = 0.5  # times the number of studies, in a slow section
RESAMPLES = 199  # of the two-way bootstrap
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(200)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
CORRELATIONS = 0.0, 0.5, 0.8, 0.97  # of two runs of a pair

# Artificial classifiers for `compare`. Each shift moves all examples and adds to independent errors. SDs of the shifts:
# of a draw in both methods, of a draw in one method, of a run of a draw. The last number is B's gain.
EXAMPLES, DIFFICULTY = 500, (1.5, 1.5)  # mean and SD over examples: about 80 % right
COMMON, OWN, OF_RUN, GAIN = 0.15, 0.15, 0.05, 0.25
# The draws of A's and B's runs (equal numbers mean the same draw), and whether they are paired: None if the draws are
# recorded. For a user's own files only the pairing is recorded.
WAYS: dict[str, tuple[Sequence[int], Sequence[int], bool | None]] = {
    "independent, 5 and 5 draws": (range(5), range(5, 10), None),
    "independent, 10 and 10 draws": (range(10), range(10, 20), None),
    "independent, 3 and 4 draws of 3 runs": (np.arange(9) // 3, 10 + np.arange(12) // 3, None),
    "independent, 2 and 10 draws": (range(2), range(2, 12), None),
    **{f"paired, {draws} draws": (range(draws), range(draws), None) for draws in (2, 3, 5, 10)},
    "paired, 4 draws of 1 and of 3 runs": (range(4), np.arange(12) // 3, None),
    **{f"partly paired, {n} of 10 draws": (range(10), range(10 - n, 20 - n), None) for n in (1, 2, 3, 5, 9)},
    "partly paired, 3 of 5 draws": (range(5), range(2, 7), None),
    "partly paired, all 5 draws of A, 10 of B": (range(5), range(10), None),
    "partly paired, 4 draws of 1 and 5 of 3 runs": (range(4), np.arange(15) // 3, None),
    "one draw in B, other draws in A": (range(5), [9] * 5, None),
    "one draw in B, which is in A, too": (range(5), [0] * 5, None),
    "both one draw, the same": ([0] * 5, [0] * 5, None),
    "both one draw, not the same": ([0] * 5, [1] * 5, None),
    "own files, 5 draws each, --paired": (range(5), range(5), True),
    "own files, nothing shared": (range(5), range(5, 10), False),
}
# The session of each run of two arms, and the SDs of sessions, in SDs of a run.
IN_SESSIONS = {
    "one session each": ([0] * 10, [1] * 10),
    "one session, the same": ([0] * 10, [0] * 10),
    "5 sessions of 2 runs each": (np.arange(10) // 2, 5 + np.arange(10) // 2),
    "3 and 4 uneven sessions": ([0] * 6 + [1] * 3 + [2], [3] * 5 + [4] * 3 + [5, 6]),
    "5 sessions, crossed": (np.arange(10) // 2, np.arange(10) // 2),
    "2 of 5 sessions in both": (np.arange(10) // 2, 3 + np.arange(10) // 2),
}
SESSION_SDS = 0.25, 0.5, 1, 10
# Evaluation logs: the numbers of groups of questions, runs and samples; shared seeds; the gain in probits.
LOGS = [
    (20, 1, 1, False, 0.5),
    (20, 1, 8, False, 0.35),
    (200, 1, 8, False, 0.12),
    (20, 5, 1, False, 0.45),
    (200, 5, 8, False, 0.25),
    (20, 5, 1, True, 0.4),
    (20, 3, 1, False, 0.6),
    (200, 3, 8, True, 0.3),
    (20, 2, 8, True, 0.8),
]
# Mean and SD of difficulty, SD between runs, and number of test examples: like MNIST, CIFAR-10, and a small hard set.
WORLDS = {
    "96 % right, errors independent": (4.0, 2.0, 0.0, 1000),
    "96 % right, good and bad runs": (4.0, 2.0, 0.2, 1000),
    "80 % right, errors independent": (1.5, 1.5, 0.0, 1000),
    "80 % right, good and bad runs": (1.5, 1.5, 0.05, 1000),
    "81 % right, all about as hard": (1.0, 0.5, 0.05, 500),
}


def main() -> None:
    """Print the rates of all sections, or of the given ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)}; default: all")
    parser.add_argument("--studies", type=int, default=4_000, help="simulated studies of a line (4,000)")
    options = parser.parse_args()
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"unknown section: {', '.join(sorted(unknown))}")
    for name in options.sections or SECTIONS:
        started = time.process_time()
        says, *_ = SECTIONS[name].__doc__.split("\n\n")
        print(f"{name}: {says}", flush=True)
        SECTIONS[name](np.random.Generator(np.random.Philox(5)), options.studies)
        print(f"  {time.process_time() - started:.0f} s of processor time", flush=True)


# Printed lines


def winners_named(what: str, false: np.ndarray, right: np.ndarray) -> None:
    """Print the shares of studies with a winner, without a difference and with a gain."""
    winner_share(what, np.mean(false), len(false), f"{100 * np.mean(right):5.1f} %")


def winner_share(what: str, share: float, studies: int, beside: str) -> None:
    """Print the share of studies with a false winner, followed by the text of `beside`."""
    error, mark = np.sqrt(share * (1 - share) / studies), "  <- above" if share > 0.06 else ""
    print(f"  {what:66} {100 * share:5.1f} % ± {100 * error:.1f}, {beside}{mark}", flush=True)


def covered(what: str, intervals: Iterable[Estimate], truth: float | np.ndarray, most: float = 0.97) -> None:
    """Print the share of intervals that contain the truth; studies without an interval are counted apart."""
    bounds = np.array([(interval.low, interval.high) for interval in intervals])
    exists = ~np.isnan(bounds[:, 0])
    if not exists.any():
        print(f"  {what:66} no interval")
        return
    share = np.mean(((bounds[:, 0] <= truth) & (truth <= bounds[:, 1]))[exists])
    none = "" if exists.all() else f", none in {100 * np.mean(~exists):.0f} %"
    error, good = np.sqrt(share * (1 - share) / exists.sum()), 0.93 <= share <= most
    print(f"  {what + none:66} {100 * share:5.1f} % ± {100 * error:.1f}{'' if good else '  <- outside'}", flush=True)


# Winners named by `compare`


def winners(rng: Draws, studies: int) -> None:
    """Winners by `compare` without a difference, and with a gain of 0.25 SD, by how arms share draws."""
    for name, way in WAYS.items():
        is_won = np.array([study(rng, *way) for _ in range(studies)])
        winners_named(name, *is_won.T)
    is_won = np.array([study(rng, [0], [1], None, 5) for _ in range(studies)])
    winners_named("both bit-identical runs (Control)", *is_won.T)


def study(rng: Draws, a: Sequence[int], b: Sequence[int], paired: bool | None, copies: int = 1) -> tuple[bool, bool]:
    """Whether `compare` names a winner without a gain, and with it. A draw shifts a run's share of right answers."""
    difficulty = rng.normal(*DIFFICULTY, EXAMPLES)
    common = COMMON * rng.standard_normal(20)
    drawn, shifts, chances = [], [], []
    for draws in map(np.asarray, (a, b)):
        recorded = [dict.fromkeys(ALGORITHMIC, int(draw)) for draw in draws.repeat(copies)]
        drawn.append(recorded if paired is None else None)
        own = OWN * rng.standard_normal(20)[draws] + OF_RUN * rng.standard_normal(len(draws))
        shifts.append((common[draws] + own)[:, np.newaxis])
        chances.append(rng.random((len(draws), EXAMPLES)))
    named = []
    for gain in (0, GAIN):
        wrong = [
            (chance >= special.ndtr(difficulty + shift + more)).astype(np.int64).repeat(copies, axis=0)
            for chance, shift, more in zip(chances, shifts, (0, gain), strict=True)
        ]
        arms = [
            side_of_comparison(name, arm_of(answers, own), paired=bool(paired))
            for name, answers, own in zip("AB", wrong, drawn, strict=True)
        ]
        named.append(design_and_test(*arms)[1].pvalue < LEVEL)
    return tuple(named)


def arm_of(wrong: np.ndarray, drawn: Sequence[Drawn] | None) -> ArmOnExamples:
    """An arm whose runs have these wrong answers; every example has the label 0."""
    return ArmOnExamples("", wrong, np.zeros(EXAMPLES, np.int64), np.ones(EXAMPLES, int), drawn=drawn)


def partly_paired(rng: Draws, studies: int) -> None:
    """10 and 10 normal runs, some paired: winners without and with a gain of 1.3 SDs, by the correlation of a pair."""
    for pairs in (0, 1, 2, 3, 5, 8, 10):
        for correlation in CORRELATIONS:
            a, b = rng.standard_normal((2, studies, 10))
            b[:, :pairs] = correlation * a[:, :pairs] + np.sqrt(1 - correlation**2) * b[:, :pairs]
            is_won = [
                [partly_paired_difference(*both, pairs).pvalue < LEVEL for both in zip(a, b + gain, strict=True)]
                for gain in (0, 1.3)
            ]
            winners_named(f"{pairs} pairs, correlation {correlation}", *map(np.array, is_won))


def unequal_arms(rng: Draws, studies: int) -> None:
    """Normal runs without pairs: winners without and with a gain of 3 standard errors; then false ones at any SDs."""
    for runs in ((2, 2), (2, 3), (2, 10), (3, 3), (3, 4), (3, 10), (4, 10), (4, 20), (5, 10), (5, 20), (10, 30)):
        for ratio in (0.5, 1.0, 2.0, 4.0):
            a, b = (rng.normal(0, sd, (studies, count)) for sd, count in zip((ratio, 1), runs, strict=True))
            gains = 0, 3 * np.hypot(ratio / np.sqrt(runs[0]), 1 / np.sqrt(runs[1]))
            is_won = [
                [mean_difference(*both).pvalue < LEVEL for both in zip(a, b + gain, strict=True)] for gain in gains
            ]
            winners_named(f"{runs[0]} and {runs[1]} runs, SD of the first {ratio}", *map(np.array, is_won))
        print(f"    at most {100 * worst(*runs):.1f} % false winners, at any ratio of SDs")


def worst(runs_a: int, runs_b: int) -> float:
    """The largest share of false winners at any ratio of the SDs, computed exactly.

    The ratio of the sample variances changes the t statistic only by a factor, so the share is integrated over it.
    """
    own_a, own_b, both = runs_a - 1, runs_b - 1, runs_a + runs_b - 2
    sampled = stats.f.ppf((np.arange(2000) + 0.5) / 2000, own_b, own_a)
    shares = []
    for sd in np.geomspace(1 / 50, 50, 61):
        a, b = 1 / runs_a, sd**2 / runs_b
        factor = (a + b) * (own_a + own_b * sampled) / (both * (a + b * sampled))
        welch = (a + b * sampled) ** 2 / (a**2 / own_a + (b * sampled) ** 2 / own_b)
        freedom = np.array([cautious_freedom(degrees, runs_a, runs_b) for degrees in welch])
        shares.append(2 * stats.t.sf(stats.t.isf(LEVEL / 2, freedom) / np.sqrt(factor), both).mean())
    return max(shares)


def sessions(rng: Draws, studies: int) -> None:
    """Speeds of 10 and 10 runs without a difference, by the SD of sessions in SDs of a run: studies with a winner.

    Each has its 95 % interval (Clopper and Pearson's), and beside it Welch's test over runs.
    """
    for name, (of_a, of_b) in IN_SESSIONS.items():
        for sd in SESSION_SDS:
            named = np.array([session_winners(rng, of_a, of_b, sd) for _ in range(studies)]).sum(axis=0)
            low, high = (100 * end for end in stats.binomtest(int(named[0]), studies).proportion_ci())
            counted = f"{named[0]} of {studies} ({low:.1f} to {high:.1f} %), Welch {named[1]}"
            winner_share(f"{name}, SD {sd:g}", named[0] / studies, studies, counted)


def session_winners(rng: Draws, of_a: Sequence[int], of_b: Sequence[int], sd: float) -> tuple[bool, bool]:
    """Whether `compare` names a winner, and whether Welch's test over runs does."""
    speed = sd * rng.standard_normal(20)
    times = [speed[in_session] + rng.standard_normal(10) for in_session in (of_a, of_b)]
    runs = as_runs([(arm, None, {"ms": time}) for arm, of in zip("ab", times, strict=True) for time in of], MS)
    about = runs.about.assign(session_of_times=list(map(str, (*of_a, *of_b))))
    (comparison,) = compared_metrics.compare(runs._replace(about=about))
    return comparison.pvalue < LEVEL, mean_difference(*times).pvalue < LEVEL


def logs(rng: Draws, studies: int) -> None:
    """Winners by `compare` on evaluation logs, without a difference and with a gain of which half or so is found."""
    for groups, runs, samples, shared, gain in LOGS:
        is_won = [
            [log_winner(*log(rng, groups, runs, samples, shared, by), shared) for _ in range(int(SLOW * studies))]
            for by in (0.0, gain)
        ]
        what = f"{groups} groups, {runs} runs an arm, {samples} samples{', shared seeds' * shared}"
        winners_named(what, *map(np.array, is_won))


def log(rng: Draws, groups: int, runs: int, samples: int, shared: bool, gain: float) -> tuple[np.ndarray, ...]:
    """Right answers of both arms, [R, Q, samples], and the sizes of the groups, which are unequal.

    Difficulty varies by group and by question, both for the two arms together and for each arm. The ability of a run
    varies as a whole, by group and by question.
    """
    lengths = np.minimum(rng.geometric(0.25, groups), 20)
    group, normal = np.repeat(np.arange(groups), lengths), rng.standard_normal
    questions = len(group)
    base = 0.3 + 0.6 * normal(groups)[group] + 0.8 * normal(questions)
    of_seed, arms = 0.15 * normal((runs, 1)), []
    for place in range(2):
        able = base + 0.3 * normal(groups)[group] + 0.5 * normal(questions) + place * gain
        if runs > 1:
            own = 0.15 * normal((runs, 1))
            able = able + (np.sqrt(0.5) * (of_seed + own) if shared else own)
        able = able + 0.15 * normal((runs, groups))[:, group] + 0.3 * normal((runs, questions))
        arms.append(rng.random((runs, questions, samples)) < special.ndtr(able)[..., np.newaxis])
    return *arms, lengths


def log_winner(a: np.ndarray, b: np.ndarray, lengths: np.ndarray, shared: bool) -> bool:
    """Whether the interval over runs, questions and samples excludes 0."""
    comparison = crossed.mean_squares(a.mean(axis=2), b.mean(axis=2), lengths, paired=shared)
    return abs(comparison.difference) > comparison.half_width(TAIL)


# Tests and intervals of studies


def contrasts(_rng: Draws, studies: int) -> None:
    """Tests of ratios over draws at 5 %: a ratio of 1, and another one."""
    for name, one_study, others in contrast_designs():
        is_won = []
        for ratio in (1.0, *others):
            draws = np.random.Generator(np.random.Philox(7))
            tests_of = (one_study(draws, ratio) for _ in range(studies))
            is_won.append(np.array([2 * min(test.above(0), test.below(0)) < LEVEL for test in tests_of]))
        winners_named(name, *is_won)


def contrast_designs() -> Iterator[tuple[str, Callable[[Draws, float], Contrast], tuple[float]]]:
    """Designs that compare SDs of paired runs, and churn within draws that differ in sensitivity."""

    def sds(draws: Draws, ratio: float, runs: int, correlation: float) -> Contrast:
        first, second = draws.standard_normal((2, runs))
        second = ratio * (correlation * first + np.sqrt(1 - correlation**2) * second)
        return contrast([(1, of_runs(second, range(runs), SD)), (-1, of_runs(first, range(runs), SD))])

    def noise(draws: Draws, count: int, spread: float, first: int) -> Arm:
        # Sensitivities are log-normal with mean 1 and this SD of the logarithm; each draw has two runs.
        sensitivity = np.exp(spread * draws.standard_normal(count) - spread**2 / 2)
        return of_runs(np.repeat(sensitivity, 2), np.repeat(range(first, first + count), 2).tolist(), PAIRS)

    def churn(draws: Draws, ratio: float, counts: tuple[int, int], spreads: tuple[float, float]) -> Contrast:
        arms = [noise(draws, counts[0], spreads[0], 0), noise(draws, counts[1], spreads[1], counts[0])]
        return contrast([(1, arms[0]._replace(value=ratio * arms[0].value)), (-1, arms[1])])

    for runs in (5, 10):
        for correlation in (0.0, 0.5, 0.95):
            name = f"SDs, {runs} paired runs, correlation {correlation}; 2"
            yield name, lambda draws, ratio, at=(runs, correlation): sds(draws, ratio, *at), (2.0,)
    for counts, spreads in (((4, 10), (0.3, 0.1)), ((4, 10), (0.7, 0.1)), ((4, 4), (0.7, 0.1)), ((10, 10), (0.7, 0.7))):
        name = f"churn, {counts[0]} and {counts[1]} draws, sensitivity {spreads[0]} and {spreads[1]}; 2"
        yield name, lambda draws, ratio, at=(counts, spreads): churn(draws, ratio, *at), (2.0,)


def shapes(rng: Draws) -> dict[str, tuple[Callable, float]]:
    """Distributions of runs, each with a sampler and its SD."""

    def accuracies(shape: tuple[int, ...]) -> np.ndarray:
        return rng.binomial(1000, special.ndtr(1.5 + 0.03 * rng.standard_normal(shape))) / 1000

    chances = special.ndtr(1.5 + 0.03 * NODES)
    accuracy_sd = np.sqrt(WEIGHTS @ (chances * (1 - chances)) / 1000 + WEIGHTS @ (chances - WEIGHTS @ chances) ** 2)
    return {
        "normal runs": (rng.standard_normal, 1.0),
        "accuracies": (accuracies, accuracy_sd),
        "skewed runs": (lambda shape: rng.gamma(8, size=shape), np.sqrt(8)),
        "runs with heavy tails": (lambda shape: rng.standard_t(5, shape), np.sqrt(5 / 3)),
    }


def spreads(rng: Draws, studies: int) -> None:
    """Intervals of the SD, 10 runs."""
    for kind, (sample, sd) in shapes(rng).items():
        arms = [sample((RUNS,)) for _ in range(studies)]
        covered(f"chi-square, {kind}", map(sd_chi2, arms), sd)
        covered(f"Bonett, {kind}", map(sd_robust, arms), sd)


def churn_of(right: np.ndarray) -> np.ndarray:
    """The probability that two runs disagree on an example that each run gets right with this probability.

    A wrong answer is one of two classes, with equal probability.
    """
    return 1 - right**2 - (1 - right) ** 2 / 2


def churn_and_variance(rng: Draws, studies: int) -> None:
    """Intervals of churn on this test set and on any, and of the distribution-wise variance, 10 runs."""
    for kind, (level, spread, between, examples) in WORLDS.items():
        right = special.ndtr((level + spread * NODES) / np.sqrt(1 + between**2))
        accuracy = special.ndtr((level + between * NODES) / np.sqrt(1 + spread**2))
        variance = WEIGHTS @ (accuracy - WEIGHTS @ accuracy) ** 2
        here, anywhere, variances, true_here = [], [], [], []
        for number in range(studies):
            difficulty = rng.normal(level, spread, examples)
            luck = between * rng.standard_normal((RUNS, 1))
            hits = rng.random((RUNS, examples)) < special.ndtr(difficulty + luck)
            predictions = np.where(hits, 0, rng.integers(1, 3, hits.shape))
            here.append(pairwise_jackknife(Pairs.of(pairwise_churn(predictions))))
            true_here.append(churn_of(special.ndtr(difficulty / np.sqrt(1 + between**2))).mean())
            if number < SLOW * studies:
                anywhere.append(two_way_bootstrap(ExampleChurn(predictions), number, RESAMPLES))
            variances.append(distribution_wise_variance([hits], sd_robust(hits.mean(axis=1), 1 / examples)))
        covered(f"churn on this test set, jackknife, {kind}", here, np.array(true_here))
        covered(f"churn on any, two-way bootstrap, {kind}", anywhere, WEIGHTS @ churn_of(right))
        covered(f"distribution-wise variance, {kind}", variances, variance)


def unequal_runs(rng: Draws, studies: int, examples: int = 500) -> None:
    """Intervals when runs differ in noise, by log-normal factors."""
    studies = int(SLOW * studies)
    difficulty = rng.normal(2, 1.5, examples)
    for sigma in (0, 0.5, 1):
        for runs in (3, 5, RUNS):
            factors, by_study = np.exp(sigma * rng.standard_normal((studies, runs, 1))), []
            for factor in factors:
                margins = difficulty + 0.5 * factor * rng.standard_normal((runs, examples))
                by_study.append(Pairs.of(pairwise_churn((margins > 0).astype(np.int64))))
            # The mean over pairs is unbiased, so its mean over all studies stands for the truth.
            truth = np.mean([pairwise_mean(pairs).value for pairs in by_study])
            covered(f"churn, {runs} runs, noise {sigma:g}", map(pairwise_jackknife, by_study), truth, most=1)
        values, sd = factors[..., 0] * rng.standard_normal((studies, RUNS)), np.exp(sigma**2)
        covered(f"SD, chi-square, {RUNS} runs, noise {sigma:g}", map(sd_chi2, values), sd, most=1)
        covered(f"SD, Bonett, {RUNS} runs, noise {sigma:g}", map(sd_robust, values), sd, most=1)


def log_normal(rng: Draws, studies: int) -> None:
    """Means over draws, SDs and interactions, where the variances of draws are log-normal; then where their SDs are."""
    for sigma, of_sds in ((0, False), (0.7, False), (1.0, False), (1.3, False), (0.7, True), (1.3, True)):
        for rows, columns in ((3, 4), (4, 4), (5, 4), (10, 10)):
            log_sd = sigma if of_sds else sigma / 2
            sds = np.exp(log_sd * rng.standard_normal((MANY_DRAWS * studies, rows, 1)))
            runs, truth = sds * rng.standard_normal((*sds.shape[:2], columns)), np.exp(2 * log_sd**2)
            what = f"{rows} draws of {columns}, {'SDs' if of_sds else 'variances'} of log-SD {sigma:g}"
            variances = runs.var(axis=-1, ddof=1)
            covered(f"mean of {what}", map(mean_over_draws, variances), truth, most=1)
            covered(f"SD of {what}", map(root_mean_square, np.sqrt(variances[:studies])), np.sqrt(truth), most=1)
            if not of_sds:
                interactions = (components(table, crossed=True).interaction for table in runs[:studies])
                covered(f"interaction of {what}", interactions, truth, most=1)


def ratios_of_noise(rng: Draws, studies: int) -> None:
    """Intervals of ratios between cells of one task, 10 draws: ALGO, and draws of IMPL, over ALGO+IMPL.

    An example is right if the sum of its level, the algorithm's draw and the rounding is above zero. A run's
    cross-entropy has an SD of 1 from the algorithm and an SD of `rounding` from the implementation.
    """
    rounding, runs, examples = 0.5, 4, 500
    level = rng.normal(1.5, 1.5, examples)
    both = churn_of(special.ndtr(level / np.hypot(1, rounding))).mean()
    algo = churn_of(special.ndtr(level)).mean()
    impl = WEIGHTS @ churn_of(special.ndtr((level + NODES[:, None]) / rounding)).mean(axis=1)

    def cell(numbers: Sequence[int], drawn: np.ndarray, spread: np.ndarray, noise: float) -> CellRuns:
        margin = drawn + noise * rng.standard_normal(drawn.shape)
        predicted = np.where(level + margin > 0, 0, rng.integers(1, 3, margin.shape))
        own = [dict.fromkeys(ALGORITHMIC, number) for number in numbers]
        values = {
            metric: churn
            for metric, _, churn in churns_by_draw(group_by_draw(own), predicted, np.zeros(examples, int), {})
        }
        entropies = spread + noise * rng.standard_normal(len(numbers))
        return CellRuns(own, values | {"accuracy": (predicted == 0).mean(axis=1), "cross_entropy": entropies})

    estimates_of = {"ALGO": [], "other ALGO": [], "IMPL": []}
    for _ in range(int(SLOW * studies)):
        drawn, spread = rng.standard_normal((2 * RUNS, examples)), rng.standard_normal(2 * RUNS)
        numbers, repeated = np.arange(2 * RUNS), np.repeat(np.arange(RUNS), runs)
        first, others = numbers[:RUNS], numbers[RUNS:]
        whole = cell(first, drawn[first], spread[first], rounding)
        for name, mine, noise in (("ALGO", first, 0), ("other ALGO", others, 0), ("IMPL", repeated, rounding)):
            estimates_of[name].append(ratios(cell(mine, drawn[mine], spread[mine], noise), whole).estimates)
    for name, studied in estimates_of.items():
        is_impl = name == "IMPL"
        covered(
            f"churn, {name} over ALGO+IMPL", (ratio["churn"] for ratio in studied), (impl if is_impl else algo) / both
        )
        sd = (rounding if is_impl else 1) / np.hypot(1, rounding)
        covered(f"SD, {name} over ALGO+IMPL", (ratio["cross_entropy_sd"] for ratio in studied), sd)


SECTIONS: dict[str, Callable[[Draws, int], None]] = {
    "winners": winners,
    "partly-paired": partly_paired,
    "unequal-arms": unequal_arms,
    "sessions": sessions,
    "logs": logs,
    "contrasts": contrasts,
    "sd": spreads,
    "churn": churn_and_variance,
    "unequal-runs": unequal_runs,
    "log-normal": log_normal,
    "ratios": ratios_of_noise,
}

if __name__ == "__main__":
    main()
