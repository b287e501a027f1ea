"""How often `toolnoise compare` names a winner where there is none, for each way in which two arms can share draws.

Runs come from artificial classifiers. A run's share of right answers depends on its algorithmic draw: in part alike for
both methods, in part not. Over all draws both methods are equally accurate, so every winner is a false one. Beside it
stands Welch's test over runs, which takes every run for a draw of its own. A line is marked if winners exceed 6 %.
Then two methods differ, and the intervals of their differences are held against the truth.

    python bench/winners.py
"""

import time
from collections.abc import Sequence

import numpy as np
from scipy import stats

from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.commands.comparison import compare_all, side, tested
from toolnoise.dumps.prediction_files import Answers
from toolnoise.stats.draws import Assumption
from toolnoise.stats.two_means import mean_difference

STUDIES, EXAMPLES = 2_000, 500
LEVEL, MOST = 0.05, 0.06
# SDs, as shifts of all examples: of a draw in both methods alike, of a draw in one method, of a run of a draw. They add
# to what independent errors give.
COMMON, OWN, RUN = 0.15, 0.15, 0.05
DIFFICULTY = 1.5, 1.5  # mean and SD over examples: about 80 % right
# Of methods that differ: the SD of a draw in both alike, and the mean and the SD of a draw in each.
ALIKE, METHODS, DIFFERING = 0.2, ((0.0, 0.1), (0.15, 0.2)), 500  # studies
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
    "partly shared, 3 of 6 draws each": (range(6), range(3, 9), None),
    "partly shared, 1 of 6 draws each": (range(6), range(5, 11), None),
    "one draw in B, other draws in A": (range(5), [9] * 5, None),
    "one draw in B, which is in A, too": (range(5), [0] * 5, None),
    "both one draw, the same": ([0] * 5, [0] * 5, None),
    "both one draw, not the same": ([0] * 5, [1] * 5, None),
    "own files, 5 draws each, --paired": (range(5), range(5), "paired"),
    "own files, --same-start": ([0] * 5, [0] * 5, "same start"),
    "own files, nothing shared": (range(5), range(5, 10), "independent"),
}


def main() -> None:
    """Simulate and print, one line per way."""
    started = time.process_time()
    rng = np.random.Generator(np.random.Philox(1))
    print(f"winners in {STUDIES:,} studies without a difference          compare    Welch over runs")
    for name, way in WAYS.items():
        named = np.array([study(rng, *way) for _ in range(STUDIES)])
        report(name, named)
    copies = np.array([study(rng, [0] * 5, [1] * 5, None, copies=True) for _ in range(STUDIES)])
    report("both bit-identical runs (Control)", copies)
    print(f"95 % intervals in {DIFFERING} studies, 5 draws each       covered, with median width")
    paired, apart = (intervals(rng, pairs) for pairs in (True, False))
    for quantity in paired:
        columns = (
            f"{100 * np.mean(found[quantity][0]):5.1f} %, {np.median(found[quantity][1]):.3f}"
            for found in (paired, apart)
        )
        print(f"  {quantity:50} paired {'   independent '.join(columns)}", flush=True)
    print(f"winners: {time.process_time() - started:.0f} s of processor time")


def study(
    rng: np.random.Generator, a: Sequence[int], b: Sequence[int], assumption: Assumption | None, copies: bool = False
) -> tuple[bool, bool]:
    """Whether `compare` and Welch's test name a winner in one study."""
    difficulty = rng.normal(*DIFFICULTY, EXAMPLES)
    common = COMMON * rng.standard_normal(20)
    labels = np.zeros(EXAMPLES, np.int64)
    arms = []
    for draws in map(np.asarray, (a, b)):
        shift = common[draws] + OWN * rng.standard_normal(20)[draws] + RUN * rng.standard_normal(len(draws))
        chance = stats.norm.cdf(difficulty + shift[:, np.newaxis])
        wrong = (rng.random(chance.shape) >= chance).astype(np.int64)
        wrong = wrong[[0] * len(wrong)] if copies else wrong
        drawn = None if assumption else [dict.fromkeys(ALGORITHMIC, int(draw)) for draw in draws]
        arms.append(Answers("", wrong, None, None, drawn=drawn))
    a, b = (side(name, arm, labels, assumption or "independent") for name, arm in zip("AB", arms, strict=True))
    return tested(a, b)[1].pvalue < LEVEL, mean_difference(a.scores, b.scores).pvalue < LEVEL


def intervals(rng: np.random.Generator, paired: bool) -> dict[str, tuple[list[bool], list[float]]]:
    """Whether the interval of each quantity has the truth, and how wide it is, in each study."""
    labels = np.zeros(EXAMPLES, np.int64)
    kept: dict[str, tuple[list[bool], list[float]]] = {}
    for _ in range(DIFFERING):
        difficulty = rng.normal(*DIFFICULTY, EXAMPLES)
        common = ALIKE * rng.standard_normal(10)
        arms, truths = [], []
        for draws, (mean, sd) in zip((range(5), range(5) if paired else range(5, 10)), METHODS, strict=True):
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


def truth(level: np.ndarray, sd: float) -> tuple[float, float, float, np.ndarray]:
    """Accuracy, churn and SD of accuracy over all draws, and how often each example is right."""
    right = stats.norm.cdf(level / np.sqrt(1 + sd**2))
    chances = stats.norm.cdf(level + sd * NODES[:, np.newaxis])
    means = chances.mean(axis=1)
    errors = (chances * (1 - chances)).sum(axis=1) / EXAMPLES**2
    variance = WEIGHTS @ (means - WEIGHTS @ means) ** 2 + WEIGHTS @ errors
    return float(right.mean()), float((2 * right * (1 - right)).mean()), float(np.sqrt(variance)), right


def report(name: str, named: np.ndarray) -> None:
    """Print both shares of winners, each with its standard error."""
    shares = named.mean(axis=0)
    errors = np.sqrt(shares * (1 - shares) / len(named))
    columns = (f"{100 * share:5.1f} % ± {100 * error:.1f}" for share, error in zip(shares, errors, strict=True))
    print(f"  {name:50} {'   '.join(columns)}{'  <- above' if shares[0] > MOST else ''}", flush=True)


if __name__ == "__main__":
    main()
