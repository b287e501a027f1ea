"""Is B better than A where runs leave numbers? The errors of a regression, or the losses of tokens; lower is better.

Differences are B - A, and what is independent follows from the draws of the runs, as in `comparison`. The loss of a run
is the mean over its tokens, its perplexity the exponential of that: a difference of losses is the logarithm of a ratio
of perplexities, and so are its bounds. Intervals over examples draw all units of an example together (`clusters`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from toolnoise.comparison import comparison, designs, pairs_of_units
from toolnoise.comparison.clusters import mean_over_examples
from toolnoise.comparison.comparison import PAIRED, ArmRuns
from toolnoise.comparison.designs import Assumption, Way
from toolnoise.comparison.numbers import Numbers
from toolnoise.comparison.pairs_of_units import in_arm
from toolnoise.comparison.partly_paired import pair_weight
from toolnoise.comparison.read_arms import NAMES
from toolnoise.comparison.two_arms import adjusted, hedges_g, probability_of_improvement
from toolnoise.formulas.outcomes import LOSSES
from toolnoise.stats import draws
from toolnoise.stats.estimates import UNDEFINED, Estimate, mean_t
from toolnoise.stats.spread import sd_chi2


class NumberArm(NamedTuple):
    """One side alone. `mean` is that of the runs' mean absolute errors, or of their losses, and `sd` their SD.

    `perplexity` is the exponential of the mean loss, `rmse` the mean of the runs'; each is None of the other kind.
    `apart` is the mean absolute difference of a number between two runs of other draws.
    """

    name: str
    file: str
    n_runs: int
    n_missing: int
    n_draws: int
    one_draw_of: list[str]
    mean: Estimate
    sd: Estimate
    perplexity: Estimate | None
    rmse: Estimate | None
    apart: Estimate


class NumberComparison(NamedTuple):
    """Two arms and their differences; what is lower is better."""

    outcome: str
    n_examples: int
    n_units: int
    a: NumberArm
    b: NumberArm
    way: Way
    n_draws: int
    n_draws_each: tuple[int, int]
    pair_weight: float
    same_draws: list[str]
    notes: list[str]
    n_in_both: int
    difference: Estimate
    pvalue: float
    pvalue_holm: float
    difference_over_examples: Estimate
    perplexity_ratio: Estimate | None
    perplexity_ratio_over_examples: Estimate | None
    rmse_difference: Estimate | None
    sd_ratio: Estimate
    hedges_g: Estimate
    probability_of_improvement: Estimate
    apart_other_draws: Estimate
    apart_same_draw: Estimate


def compare_all(arms: Sequence[Numbers], assumption: Assumption = "independent") -> list[NumberComparison]:
    """Compare each arm with the first; p-values are also adjusted by Holm."""
    sides = [_side(name, arm, assumption) for name, arm in zip(NAMES, arms, strict=False)]
    return adjusted([_compare(sides[0], other, assumption) for other in sides[1:]])


def _side(name: str, arm: Numbers, assumption: Assumption) -> ArmRuns:
    wrong = arm.values if arm.truth is None else np.abs(arm.values - arm.truth)
    drawn = designs.assumed(arm.runs, assumption) if arm.drawn is None else arm.drawn
    return ArmRuns(name, arm, wrong, wrong.mean(axis=1), drawn, list(arm.bits))


def _compare(a: ArmRuns, b: ArmRuns, assumption: Assumption) -> NumberComparison:
    plan, arm = comparison.designed(a, b), a.answers
    # Equal differences leave no doubt if both arms are the same runs bit by bit.
    step = 0.0 if set(a.contents) == set(b.contents) else np.nan
    test = comparison.difference(plan, a.scores, b.scores, step)
    scores = comparison.unit_means(plan, a.scores, b.scores)
    wrong_a, wrong_b = (means.mean(axis=0) for means in comparison.unit_means(plan, a.right, b.right))
    over_examples = mean_over_examples(wrong_b - wrong_a, arm.lengths)
    of_losses = arm.kind == LOSSES
    rmses = [_rmse(side) for side in (a, b)]
    apart = np.array([np.abs(b.answers.values - run).mean(axis=1) for run in a.answers.values])
    other, same = comparison.between_arms(plan, apart, step, np.inf)
    untested = plan.way in designs.UNTESTED
    # Lower is better.
    better = [-of_units for of_units in scores]
    return NumberComparison(
        arm.kind,
        len(arm.lengths),
        int(arm.lengths.sum()),
        _arm(a),
        _arm(b),
        plan.way,
        plan.shared if plan.way in PAIRED else 0,
        (len(plan.units_a), len(plan.units_b)),
        pair_weight(*scores, plan.shared).value if plan.way == "partly paired" else 0.0,
        designs.shared_between(plan, a.drawn, b.drawn),
        comparison.notes(a, b, assumption),
        comparison.runs_in_both(a, b),
        test.effect,
        test.pvalue,
        test.pvalue,
        over_examples,
        _exponential(test.effect) if of_losses else None,
        _exponential(over_examples) if of_losses else None,
        None if of_losses else comparison.difference(plan, *rmses, step).effect,
        comparison.sd_ratio(plan, a.scores, b.scores),
        UNDEFINED if untested else hedges_g(*scores),
        UNDEFINED if untested else probability_of_improvement(*better, plan.shared),
        other,
        same,
    )


def _arm(side: ArmRuns) -> NumberArm:
    arm, unit_of, units = side.answers, side.unit_of, np.unique(side.unit_of)
    step = 0.0 if len(set(side.contents)) == 1 else np.nan
    mean = mean_t(designs.unit_means(side.scores, unit_of, units), step)
    variance = in_arm(comparison.pair_means(comparison.variances(side.scores), unit_of, units), units)
    apart = np.array([np.abs(arm.values - run).mean(axis=1) for run in arm.values])
    of_losses = arm.kind == LOSSES
    return NumberArm(
        side.name,
        arm.file,
        arm.runs,
        arm.missing,
        len(units),
        draws.shared(side.drawn) if len(units) == 1 else [],
        mean,
        sd_chi2(side.scores, step) if len(units) == len(unit_of) else pairs_of_units.root(variance),
        _exponential(mean) if of_losses else None,
        None if of_losses else mean_t(designs.unit_means(_rmse(side), unit_of, units), step),
        pairs_of_units.estimate(in_arm(comparison.pair_means(apart, unit_of, units), units)).within(0, np.inf),
    )


def _rmse(side: ArmRuns) -> np.ndarray:
    return np.sqrt(np.square(side.right).mean(axis=1))


def _exponential(estimate: Estimate) -> Estimate:
    with np.errstate(over="ignore"):  # too large for a float is infinite
        return Estimate(*np.exp(estimate).tolist())
