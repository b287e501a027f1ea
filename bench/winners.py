"""How often `toolnoise compare` names a winner, where there is none and where there is one.

First for each way in which two arms can share draws. Runs come from artificial classifiers. A run's share of right
answers depends on its algorithmic draw: in part alike for both methods, in part not. Over all draws both methods are
equally accurate, so every winner is a false one; then B gains. Beside it stands Welch's test over runs, which takes
every run for a draw of its own. Then normal runs: arms of which some runs are paired, by their correlation, and arms of
unequal sizes, by their SDs. A line is marked if false winners exceed 6 %. Then three arms of a table by two metrics,
with one test of each and Holm's correction. Then the ratio of two SDs of pairs, of runs with several distributions.
Last, two methods differ, and the intervals of their differences are held against the truth.

    python bench/winners.py         4,000 studies a line: some minutes
    python bench/winners.py 20000   of more
"""

import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
from scipy import special, stats

from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.comparison import pairs_of_units
from toolnoise.comparison.comparison import compare_all, side, tested
from toolnoise.comparison.designs import Assumption
from toolnoise.comparison.partly_paired import partly_paired_difference
from toolnoise.comparison.prediction_files import Answers
from toolnoise.comparison.tables import differences
from toolnoise.comparison.tables.runs import Run
from toolnoise.stats.multiplicity import holm
from toolnoise.stats.two_means import cautious, mean_difference

STUDIES, EXAMPLES = 4_000, 500
LEVEL, MOST = 0.05, 0.06
GAIN = 0.25  # of B, as a shift of all examples
# SDs, as shifts of all examples: of a draw in both methods alike, of a draw in one method, of a run of a draw. They add
# to what independent errors give.
COMMON, OWN, RUN = 0.15, 0.15, 0.05
DIFFICULTY = 1.5, 1.5  # mean and SD over examples: about 80 % right
# Of methods that differ: the SD of a draw in both alike, and the mean and the SD of a draw in each.
ALIKE, METHODS, DIFFERING = 0.2, ((0.0, 0.1), (0.15, 0.2)), 500  # studies
CORRELATIONS = 0.0, 0.5, 0.8, 0.97  # of two runs of a pair
SD_RATIOS = 0.5, 1.0, 2.0, 4.0
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
WEIGHTS = WEIGHTS / WEIGHTS.sum()

# The draws of the runs of A and of B; equal numbers are the same draw. Of files of one's own nothing is recorded.
WAYS: dict[str, tuple[Sequence[int], Sequence[int], Assumption | None]] = {
    "independent, 5 and 5 draws": (range(5), range(5, 10), None),
    "independent, 10 and 10 draws": (range(10), range(10, 20), None),
    "independent, 3 and 4 draws of 3 runs": (np.arange(9) // 3, 10 + np.arange(12) // 3, None),
    "paired, 2 draws": (range(2), range(2), None),
    "paired, 3 draws": (range(3), range(3), None),
    "paired, 5 draws": (range(5), range(5), None),
    "paired, 10 draws": (range(10), range(10), None),
    "paired, 4 draws of 1 and of 3 runs": (range(4), np.arange(12) // 3, None),
    **{
        f"partly paired, {both} of 10 draws": (range(10), range(10 - both, 20 - both), None) for both in (1, 2, 3, 5, 9)
    },
    "partly paired, 3 of 5 draws": (range(5), range(2, 7), None),
    "partly paired, all 5 draws of A, 10 of B": (range(5), range(10), None),
    "partly paired, 4 draws of 1 and 5 of 3 runs": (range(4), np.arange(15) // 3, None),
    "independent, 2 and 10 draws": (range(2), range(2, 12), None),
    "one draw in B, other draws in A": (range(5), [9] * 5, None),
    "one draw in B, which is in A, too": (range(5), [0] * 5, None),
    "both one draw, the same": ([0] * 5, [0] * 5, None),
    "both one draw, not the same": ([0] * 5, [1] * 5, None),
    "own files, 5 draws each, --paired": (range(5), range(5), "paired"),
    "own files, --same-start": ([0] * 5, [0] * 5, "same start"),
    "own files, nothing shared": (range(5), range(5, 10), "independent"),
}


# How runs of a distribution with mean 0 and SD 1 are drawn.
NOISE: dict[str, Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "heavy tails (t, 3 df)": lambda rng, shape: rng.standard_t(3, shape) / np.sqrt(3),
    "skewed (exponential)": lambda rng, shape: 1 - rng.standard_exponential(shape),
    "two kinds of runs": lambda rng, shape: 0.95 * rng.choice([-1, 1], shape) + 0.31 * rng.standard_normal(shape),
    "one bad run in ten": lambda rng, shape: 0.3 - 3 * (rng.random(shape) < 0.1) + 0.4 * rng.standard_normal(shape),
}


def main(studies: int = STUDIES) -> None:
    """Simulate and print, one line per way."""
    started = time.process_time()
    rng = np.random.Generator(np.random.Philox(1))
    print(f"winners in {studies:,} studies, %                without a difference  with a gain of {GAIN} SD")
    print(f"  {'':44}  compare  over runs    compare")
    for name, way in WAYS.items():
        report(name, np.array([study(rng, *way) for _ in range(studies)]))
    report("both bit-identical runs (Control)", np.array([study(rng, [0], [1], None, 5) for _ in range(studies)]))
    partly_paired(rng, studies)
    unequal(rng, studies)
    tables(np.random.Generator(np.random.Philox(11)), studies // 2)
    sds(rng, studies)
    print(f"95 % intervals in {DIFFERING} studies, 5 draws each: covered, with median width")
    print(f"  {'':24}5 pairs           3 pairs           independent")
    rng = np.random.Generator(np.random.Philox(7))
    kept = [intervals(rng, pairs) for pairs in (5, 3, 0)]
    for quantity in kept[0]:
        columns = (covered(*map(np.array, found[quantity])) for found in kept)
        print(f"  {quantity:22}{'    '.join(columns)}", flush=True)
    print(f"winners: {time.process_time() - started:.0f} s of processor time")


def study(
    rng: np.random.Generator, a: Sequence[int], b: Sequence[int], assumption: Assumption | None, copies: int = 1
) -> list[bool]:
    """Whether `compare` and Welch's test over runs name a winner: without a difference, with one."""
    difficulty = rng.normal(*DIFFICULTY, EXAMPLES)
    common = COMMON * rng.standard_normal(20)
    labels, drawn, shifts, chances = np.zeros(EXAMPLES, np.int64), [], [], []
    for draws in map(np.asarray, (a, b)):
        drawn.append(
            [dict.fromkeys(ALGORITHMIC, int(draw)) for draw in draws.repeat(copies)] if not assumption else None
        )
        own = OWN * rng.standard_normal(20)[draws] + RUN * rng.standard_normal(len(draws))
        shifts.append((common[draws] + own)[:, np.newaxis])
        chances.append(rng.random((len(draws), EXAMPLES)))
    named = []
    for gain in (0, GAIN):
        wrong = [
            (chance >= special.ndtr(difficulty + shift + more)).astype(np.int64).repeat(copies, axis=0)
            for chance, shift, more in zip(chances, shifts, (0, gain), strict=True)
        ]
        arms = [
            side(name, Answers("", answers, None, None, drawn=own), labels, assumption or "independent")
            for name, answers, own in zip("AB", wrong, drawn, strict=True)
        ]
        _, test = tested(*arms)
        runs = mean_difference(*(arm.scores for arm in arms))
        named += [test.pvalue < LEVEL, runs.pvalue < LEVEL]
    return named


def report(name: str, named: np.ndarray) -> None:
    """Print the shares of winners, with the standard error of false ones."""
    now, runs, power, _ = 100 * named.mean(axis=0)
    error = np.sqrt(now * (100 - now) / len(named))
    mark = "  <- above" if now > 100 * MOST else ""
    print(f"  {name:44} {now:4.1f} ± {error:.1f} {runs:9.1f} {power:12.1f}{mark}", flush=True)


def partly_paired(rng: np.random.Generator, studies: int) -> None:
    """Normal runs of which some are paired: false winners and power."""
    print("10 and 10 normal runs, some paired: false winners, power; the gain is 1.3 SDs")
    print(f"  {'pairs':5}{''.join(f'   correlation {correlation:<12}' for correlation in CORRELATIONS)}")
    for pairs in (0, 1, 2, 3, 5, 8, 10):
        cells = []
        for correlation in CORRELATIONS:
            a, b = correlated(rng, studies, 10, 10, pairs, correlation)
            now = [
                winners(lambda a, b, n=pairs: partly_paired_difference(a, b, n).pvalue, a, b + gain)
                for gain in (0, 1.3)
            ]
            cells.append(f"{now[0]:4.1f} {now[1]:5.1f}")
        print(f"  {pairs:5}   {'    '.join(f'{cell:22}' for cell in cells)}", flush=True)


def unequal(rng: np.random.Generator, studies: int) -> None:
    """Arms without pairs: false winners and power, with those of Welch's degrees of freedom; then the worst SDs."""
    print("normal runs without pairs: false winners, power (Welch's); the gain is 3 standard errors")
    print(f"  {'':9}{''.join(f'  SD of the first {ratio:<6}' for ratio in SD_RATIOS)}  at most, at any SDs")
    for runs in ((2, 2), (2, 3), (2, 10), (3, 3), (3, 4), (3, 10), (4, 10), (4, 20), (5, 10), (5, 20), (10, 30)):
        cells = []
        for ratio in SD_RATIOS:
            a, b = (rng.normal(0, sd, (studies, count)) for sd, count in zip((ratio, 1), runs, strict=True))
            gain = 3 * np.hypot(ratio / np.sqrt(runs[0]), 1 / np.sqrt(runs[1]))
            now, welch = (
                [winners(test, a, b + more) for more in (0, gain)]
                for test in (
                    lambda a, b: mean_difference(a, b).pvalue,
                    lambda a, b: stats.ttest_ind(a, b, equal_var=False).pvalue,
                )
            )
            cells.append(f"{now[0]:4.1f} {now[1]:4.0f} ({welch[0]:4.1f} {welch[1]:4.0f})")
        now, welch = worst(*runs, cautious), worst(*runs, lambda freedom, *_: freedom)
        mark = "  <- above" if now > 100 * MOST else ""
        print(f"  {runs[0]:2} and {runs[1]:2}  {'   '.join(cells)}    {now:4.1f} ({welch:4.1f}){mark}", flush=True)


def tables(rng: np.random.Generator, studies: int) -> None:
    """Tables of three arms and two metrics: any false winner among four tests by Holm, and in the first test alone."""
    print(f"tables of 3 arms and 2 metrics, {studies:,} studies: any false winner, of the first test; power of that")
    print("  the gain is an SD of runs, of whose variance half is the seed's, alike in both metrics")
    seeds = {
        "all 5 seeds are the first arm's": 0,
        "3 and 1 of 5 seeds are the first arm's": 2,
        "no seed is another arm's": 5,
    }
    for name, shift in seeds.items():
        found = np.array([table_winners(rng, shift) for _ in range(studies)])
        any_false, first, power = 100 * found.mean(axis=0)
        error = np.sqrt(any_false * (100 - any_false) / studies)
        mark = "  <- above" if any_false > 100 * MOST else ""
        print(f"  {name:44} {any_false:4.1f} ± {error:.1f} {first:6.1f} {power:9.1f}{mark}", flush=True)


def table_winners(rng: np.random.Generator, shift: int) -> tuple[bool, bool, bool]:
    """Whether Holm's p-values name any winner, the first test one, and that one if its arm gains."""
    of_seed = rng.standard_normal(15)
    runs = []
    for arm in range(3):
        for seed in range(arm * shift, arm * shift + 5):
            numbers = (of_seed[seed] + rng.standard_normal(2)) / 2**0.5
            runs.append(Run("", str(arm), str(seed), dict(zip("xy", numbers, strict=True))))
    arms = [[run for run in runs if run.arm == arm] for arm in "012"]
    values = {
        (metric, arm): np.array([run.metrics[metric] for run in arms[arm]]) for metric in "xy" for arm in range(3)
    }

    def pvalue(metric: str, arm: int, gain: float = 0.0) -> float:
        plan = differences.plan_of(arms[0], arms[arm])
        return differences.tested(plan, values[metric, 0], values[metric, arm] + gain).pvalue

    found = [pvalue(metric, arm) for arm in (1, 2) for metric in "xy"]
    return bool(holm(np.array(found)).min() < LEVEL), found[0] < LEVEL, pvalue("x", 1, 1.0) < LEVEL


def worst(runs_a: int, runs_b: int, limit: Callable[[float, int, int], float]) -> float:
    """The largest percentage of false winners at any ratio of the SDs, computed exactly.

    The t statistic depends on the ratio of the sample variances by a factor alone, so that ratio is integrated over.
    """
    own_a, own_b, both = runs_a - 1, runs_b - 1, runs_a + runs_b - 2
    ratios = stats.f.ppf((np.arange(2000) + 0.5) / 2000, own_b, own_a)
    shares = []
    for sd in np.geomspace(1 / 50, 50, 61):
        a, b = 1 / runs_a, sd**2 / runs_b
        factor = (a + b) * (own_a + own_b * ratios) / (both * (a + b * ratios))
        welch = (a + b * ratios) ** 2 / (a**2 / own_a + (b * ratios) ** 2 / own_b)
        freedom = np.array([limit(each, runs_a, runs_b) for each in welch])
        shares.append(2 * stats.t.sf(stats.t.isf(LEVEL / 2, freedom) / np.sqrt(factor), both).mean())
    return 100 * max(shares)


def sds(rng: np.random.Generator, studies: int) -> None:
    """Pairs with equal SDs: how often they are called different; then, of normal runs, one SD is twice the other."""
    print("SDs of pairs called different, %: by the jackknife (F)")
    print(f"  {'':24} runs{''.join(f'   correlation {correlation:<12}' for correlation in CORRELATIONS)}")
    for name, noise, ratio in (
        *((name, noise, 1) for name, noise in NOISE.items()),
        ("one SD twice", NOISE["normal"], 2),
    ):
        for runs in (5, 10):
            cells = []
            for correlation in CORRELATIONS:
                common, *own = (noise(rng, (studies, runs)) for _ in range(3))
                a, b = (np.sqrt(correlation) * common + np.sqrt(1 - correlation) * each for each in own)
                found = np.array([differ(*both) for both in zip(a, ratio * b, strict=True)])
                cells.append("{:4.1f} ({:.1f})".format(*100 * found.mean(axis=0)))
            print(f"  {name:24} {runs:4}   {'    '.join(f'{cell:22}' for cell in cells)}", flush=True)


def differ(a: np.ndarray, b: np.ndarray) -> tuple[bool, bool]:
    """Whether two SDs differ by the jackknife of pairs, however wide, and by the F test."""
    units, runs = np.arange(len(a)), len(a) - 1
    halves = [pairs_of_units.in_arm(np.square(arm[:, np.newaxis] - arm) / 2, units) for arm in (a, b)]
    jackknife = pairs_of_units.ratio(*halves, 0.5)
    by_f = stats.f.cdf(np.var(b) / np.var(a), runs, runs)
    return not jackknife.low <= 1 <= jackknife.high, min(by_f, 1 - by_f) < LEVEL / 2


def correlated(
    rng: np.random.Generator, studies: int, runs_a: int, runs_b: int, pairs: int, correlation: float
) -> tuple[np.ndarray, np.ndarray]:
    """Normal runs of two arms; the first of both are correlated."""
    a, b = rng.standard_normal((studies, runs_a)), rng.standard_normal((studies, runs_b))
    b[:, :pairs] = correlation * a[:, :pairs] + np.sqrt(1 - correlation**2) * b[:, :pairs]
    return a, b


def winners(pvalue: Callable[[np.ndarray, np.ndarray], float], a: np.ndarray, b: np.ndarray) -> float:
    """The percentage of studies with a winner."""
    return 100 * float(np.mean([pvalue(*both) < LEVEL for both in zip(a, b, strict=True)]))


def intervals(rng: np.random.Generator, pairs: int) -> dict[str, tuple[list[bool], list[float]]]:
    """Whether the interval of each quantity has the truth, and how wide it is, in each study."""
    labels = np.zeros(EXAMPLES, np.int64)
    kept: dict[str, tuple[list[bool], list[float]]] = {}
    for _ in range(DIFFERING):
        difficulty = rng.normal(*DIFFICULTY, EXAMPLES)
        common = ALIKE * rng.standard_normal(10)
        arms, truths = [], []
        for draws, (mean, sd) in zip((range(5), range(5 - pairs, 10 - pairs)), METHODS, strict=True):
            shift = mean + common[draws] + sd * rng.standard_normal(5)
            wrong = (rng.random((5, EXAMPLES)) >= stats.norm.cdf(difficulty + shift[:, np.newaxis])).astype(np.int64)
            arms.append(Answers("", wrong, None, None, drawn=[dict.fromkeys(ALGORITHMIC, draw) for draw in draws]))
            truths.append(truth(difficulty + mean, np.hypot(ALIKE, sd)))
        (accuracy_a, churn_a, sd_a, right_a), (accuracy_b, churn_b, sd_b, right_b) = truths
        (found,) = compare_all(arms, labels)
        for quantity, estimate, true in (
            ("difference of accuracy", found.accuracy_difference, accuracy_b - accuracy_a),
            ("ratio of SDs", found.accuracy_sd_ratio, sd_b / sd_a),
            ("difference of churn", found.churn_difference, churn_b - churn_a),
            ("ratio of churn", found.churn_ratio, churn_b / churn_a),
            ("churn between arms", found.other_draws.churn, np.mean(right_a + right_b - 2 * right_a * right_b)),
        ):
            held, widths = kept.setdefault(quantity, ([], []))
            held.append(bool(estimate.low <= true <= estimate.high))
            widths.append(estimate.high - estimate.low)
    return kept


def covered(held: np.ndarray, widths: np.ndarray) -> str:
    """The share of intervals that hold the truth, their median width, and in how many studies there is none."""
    none = np.isnan(widths)
    if none.all():
        return "no interval"
    shown = f"{100 * held[~none].mean():5.1f} %, {np.median(widths[~none]):.3f}"
    return f"{shown}, none in {100 * none.mean():.0f} %" if none.any() else shown


def truth(level: np.ndarray, sd: float) -> tuple[float, float, float, np.ndarray]:
    """Accuracy, churn and SD of accuracy over all draws, and how often each example is right."""
    right = stats.norm.cdf(level / np.sqrt(1 + sd**2))
    chances = stats.norm.cdf(level + sd * NODES[:, np.newaxis])
    means = chances.mean(axis=1)
    errors = (chances * (1 - chances)).sum(axis=1) / EXAMPLES**2
    variance = WEIGHTS @ (means - WEIGHTS @ means) ** 2 + WEIGHTS @ errors
    return float(right.mean()), float((2 * right * (1 - right)).mean()), float(np.sqrt(variance)), right


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
