"""False winners and power of `compare` on evaluation logs, beside what else is used for them.

Questions stand in groups of unequal size, and are harder or easier by group and by question, more so for one arm than
for the other. A run is better or worse as a whole, by group and by question; samples are right by chance. With one run
an arm, both arms are equally good on all questions of the kind; with several, on all questions and over all runs.

McNemar's exact test and evalsig's bootstrap over groups take one sample of one run; evalsig is left out where it is not
installed. The z test over questions and the other bootstrap over groups take the means of questions. The column
Satterthwaite is the same sum of mean squares with his degrees of freedom, which `crossed` does not use.

    python bench/evals.py          2,000 nulls and 2,000 gains a line, most of the time evalsig's
    python bench/evals.py 200      of fewer
"""

import sys

import numpy as np
from scipy import stats
from scipy.special import ndtr

from toolnoise.comparison.evals import crossed
from toolnoise.stats.estimates import TAIL

try:
    from evalsig.inference.cluster_bootstrap import cluster_bootstrap_ci
except ImportError:
    cluster_bootstrap_ci = None

# evalsig's bootstrap is slow, and takes part in one simulation of so many.
RESAMPLES, EVERY = 500, 5
METHODS = ("compare", "Satterthwaite", "McNemar", "z", "bootstrap", "evalsig")
# Groups, runs, samples, shared seeds, the gain in probits, by which half of the gains or so are found.
SHAPES = [
    (20, 1, 1, False, 0.5),
    (20, 1, 8, False, 0.35),
    (200, 1, 1, False, 0.16),
    (200, 1, 8, False, 0.12),
    (20, 5, 1, False, 0.45),
    (20, 5, 8, False, 0.4),
    (200, 5, 1, False, 0.25),
    (200, 5, 8, False, 0.25),
    (20, 5, 1, True, 0.4),
    (200, 5, 8, True, 0.2),
    (20, 3, 1, False, 0.6),
    (200, 3, 8, True, 0.3),
    (20, 2, 8, True, 0.8),
    (200, 2, 1, True, 0.6),
]
RUN, OF_GROUP, OF_QUESTION = 0.15, 0.15, 0.3


def drawn(draw, groups, runs, samples, shared, gain):
    """Right answers of both arms, [R, Q, samples], and the sizes of groups."""
    lengths = np.minimum(draw.geometric(0.25, groups), 20)
    group = np.repeat(np.arange(groups), lengths)
    questions = len(group)

    def normal(*shape):
        return draw.normal(size=shape)

    base = 0.3 + 0.6 * normal(groups)[group] + 0.8 * normal(questions)
    of_seed = RUN * normal(runs, 1) if runs > 1 else 0.0
    arms = []
    for place in range(2):
        able = base + 0.3 * normal(groups)[group] + 0.5 * normal(questions) + place * gain
        of_run = np.sqrt(0.5) * (of_seed + RUN * normal(runs, 1)) if shared else RUN * normal(runs, 1)
        able = able + (of_run if runs > 1 else 0.0)
        able = able + OF_GROUP * normal(runs, groups)[:, group] + OF_QUESTION * normal(runs, questions)
        arms.append(draw.random((runs, questions, samples)) < ndtr(able)[..., np.newaxis])
    return *arms, lengths


def verdicts(draw, a, b, lengths, shared, slow):
    """Whether each method names a winner: 1 for B, -1 for A, 0 for none, NaN where a slow one is left out."""
    means = [arm.mean(axis=2) for arm in (a, b)]
    found = crossed.squares(*means, lengths, paired=shared)
    questions, runs, both = found[1:]
    variance = max(questions.variance + runs.variance - both.variance, questions.variance, runs.variance)
    squares = questions.variance**2 / questions.freedom + runs.variance**2 / runs.freedom
    satterthwaite = stats.t.isf(TAIL, variance**2 / squares) * np.sqrt(variance) if squares else 0.0
    one, other = a[0, :, 0], b[0, :, 0]
    lost, won = np.count_nonzero(one & ~other), np.count_nonzero(other & ~one)
    mcnemar = lost + won and stats.binomtest(int(won), int(lost + won)).pvalue < 2 * TAIL
    of_questions = means[1].mean(axis=0) - means[0].mean(axis=0)
    error = of_questions.std(ddof=1) / np.sqrt(len(of_questions))
    sums = np.add.reduceat(of_questions, np.cumsum(lengths) - lengths)
    picked = draw.integers(0, len(lengths), (RESAMPLES, len(lengths)))
    low, high = np.quantile(sums[picked].sum(axis=1) / lengths[picked].sum(axis=1), [TAIL, 1 - TAIL])
    sign = np.sign(found.difference)
    says = [
        abs(found.difference) > found.half_width(TAIL),
        abs(found.difference) > satterthwaite,
        mcnemar,
        abs(found.difference) > stats.norm.isf(TAIL) * error,
        not low <= 0 <= high,
    ]
    directions = [sign, sign, np.sign(won - lost), sign, sign]
    signs = [*np.array(says) * np.array(directions)]
    if cluster_bootstrap_ci is None or not slow:
        return np.array([*signs, np.nan])
    group = np.repeat(np.arange(len(lengths)), lengths)
    scores = (one.astype(float), other.astype(float))
    outcome = cluster_bootstrap_ci(*scores, group, n_resamples=RESAMPLES, rng=0)
    return np.array([*signs, 0.0 if outcome.ci[0] <= 0 <= outcome.ci[1] else np.sign(outcome.delta)])


def main():
    """Print a line for each shape."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(f"of {count:,} nulls, winners named, %; of {count:,} gains, found, %; evalsig: of one in {EVERY}")
    print(f"{'':55}{''.join(f'{method:>15}' for method in METHODS)}")
    for place, (groups, runs, samples, shared, gain) in enumerate(SHAPES):
        draw = np.random.Generator(np.random.Philox(place))
        found = np.empty((2, count, len(METHODS)))
        for each in range(count):
            for which, by in enumerate((0.0, gain)):
                *answers, lengths = drawn(draw, groups, runs, samples, shared, by)
                found[which, each] = verdicts(draw, *answers, lengths, shared, each % EVERY == 0)
        # evalsig's columns end where it is not installed.
        there = found[:, :, np.isfinite(found[0, 0])]
        false = 100 * np.nanmean(np.abs(there[0]), axis=0)
        right = 100 * np.nanmean(np.maximum(there[1], 0), axis=0)
        seeds = ", shared seeds" if shared else ""
        name = f"{groups} groups, {runs} run{'s' * (runs > 1)} an arm, {samples} sample{'s' * (samples > 1)}{seeds}"
        cells = (f"{one:10.1f}{other:5.0f}" for one, other in zip(false, right, strict=True))
        print(f"{name:55}{''.join(cells)}{'  !' if false[0] > 6 else ''}", flush=True)


if __name__ == "__main__":
    main()
