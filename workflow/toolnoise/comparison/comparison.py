"""Is B better than A, and what changes if B replaces A? The numbers that `toolnoise compare` prints.

Differences are B - A and ratios B / A. What is independent, and whether arms are paired, follows from the draws of
their runs (toolnoise.stats.draws). Intervals over draws cover what training again would give on these examples.
Accuracy also has an interval over examples: it covers what these runs would show on other examples of the same kind.
Arms that are one draw have the latter alone.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from toolnoise.comparison import designs, pairs_of_units
from toolnoise.comparison.clusters import mean_over_examples
from toolnoise.comparison.designs import Assumption, Design, Way
from toolnoise.comparison.numbers import Numbers
from toolnoise.comparison.pairs_of_units import UnitStatistic, in_arm
from toolnoise.comparison.partly_paired import pair_weight, partly_paired_difference
from toolnoise.comparison.prediction_files import Answers
from toolnoise.comparison.read_arms import NAMES
from toolnoise.comparison.two_arms import (
    adjusted,
    bad_flips,
    cross_churn,
    good_flips,
    hedges_g,
    paired_difference,
    probability_of_improvement,
)
from toolnoise.formulas.accuracy import accuracies
from toolnoise.formulas.churn import pairwise_churn
from toolnoise.formulas.declared import METRICS
from toolnoise.formulas.outcomes import LABELS
from toolnoise.stats import draws
from toolnoise.stats.draws import Drawn
from toolnoise.stats.estimates import UNDEFINED, Estimate, mean_t, standard_deviation, unless_too_wide
from toolnoise.stats.spread import equal_runs_sd, sd_chi2, sd_interval
from toolnoise.stats.two_means import Result, mean_difference

PAIRED: tuple[Way, ...] = ("paired", "partly paired")


class ArmSummary(NamedTuple):
    """One side alone; cross-entropy is None without scores. Churn and SD are those of other draws, or of the same."""

    name: str
    file: str
    n_runs: int
    n_missing: int
    n_draws: int
    one_draw_of: list[str]
    accuracy_mean: Estimate
    accuracy_sd: Estimate
    accuracy_sd_same_draw: Estimate
    cross_entropy_mean: Estimate | None
    churn: Estimate
    churn_same_draw: Estimate


class Replacement(NamedTuple):
    """The shares of predictions that change from a run of A to a run of B."""

    churn: Estimate
    good_flips: Estimate
    bad_flips: Estimate


class ExactMatch(NamedTuple):
    """The share of examples of which every label is right: in each arm, and the difference over runs and examples."""

    a: float
    b: float
    difference: Estimate
    pvalue: float
    over_examples: Estimate


class OfLabel(NamedTuple):
    """The accuracy of one of many labels in each arm, and its difference; p-values are adjusted over the labels."""

    label: str
    a: float
    b: float
    difference: Estimate
    pvalue: float
    pvalue_holm: float


class Comparison(NamedTuple):
    """Two arms and their differences.

    `n_draws` draws are in both arms, of `n_draws_each`, and `same_draws` are the sources for which their runs have
    the same draw. For partly paired arms, `pair_weight` is the share of the pairs' difference in that of accuracy.
    `n_in_both` runs stand in both arms.
    """

    n_examples: int
    a: ArmSummary
    b: ArmSummary
    way: Way
    n_draws: int
    n_draws_each: tuple[int, int]
    pair_weight: float
    same_draws: list[str]
    notes: list[str]
    n_in_both: int
    accuracy_difference: Estimate
    pvalue: float
    pvalue_holm: float
    accuracy_difference_over_examples: Estimate
    accuracy_sd_ratio: Estimate
    hedges_g: Estimate
    probability_of_improvement: Estimate
    cross_entropy_difference: Estimate | None
    churn_difference: Estimate
    churn_ratio: Estimate
    other_draws: Replacement
    same_draw: Replacement
    units_each: int
    outcome: str
    exact_match: ExactMatch | None
    by_label: list[OfLabel]


class ArmRuns(NamedTuple):
    """An arm's runs: what is right, accuracies, draws, the content by which equal runs are known.

    Of numbers, the error or the loss of each unit takes the place of what is right, and its mean that of accuracies.
    """

    name: str
    answers: Answers | Numbers
    right: np.ndarray
    scores: np.ndarray
    drawn: Sequence[Drawn]
    contents: list[Hashable]

    @property
    def unit_of(self) -> np.ndarray:
        """The unit of each run, without regard to other arms."""
        return draws.merged(*draws.units(self.drawn), self.contents)


def compare_all(
    arms: Sequence[Answers], labels: np.ndarray, assumption: Assumption = "independent", by_label: Sequence[str] = ()
) -> list[Comparison]:
    """Compare each arm with the first, on examples with these labels; p-values are also adjusted by Holm.

    Of many labels, those in `by_label` are compared one by one, too.
    """
    sides = [side(name, arm, labels, assumption) for name, arm in zip(NAMES, arms, strict=False)]
    return adjusted([_compare(sides[0], other, assumption, by_label) for other in sides[1:]])


def side(name: str, answers: Answers, labels: np.ndarray, assumption: Assumption) -> ArmRuns:
    """An arm by its name, on examples with these labels; the assumption is for runs whose draws are not known."""
    predicted = answers.predicted
    drawn = designs.assumed(len(predicted), assumption) if answers.drawn is None else answers.drawn
    # Predictions alone may agree by chance on an easy test set, so runs of two arms are never taken for one by them.
    contents = list(answers.bits or [(name, run.tobytes()) for run in predicted])
    return ArmRuns(name, answers, predicted == labels, accuracies(predicted, labels), drawn, contents)


def tested(a: ArmRuns, b: ArmRuns) -> tuple[Design, Result]:
    """How two arms can be compared, and the test of their accuracies."""
    plan = designed(a, b)
    return plan, difference(plan, a.scores, b.scores, _step(a, b))


def designed(a: ArmRuns, b: ArmRuns) -> Design:
    """How two arms can be compared, by the draws of their runs."""
    numbers = draws.merged(np.concatenate(draws.units(a.drawn, b.drawn)), [*a.contents, *b.contents])
    plan = designs.design(*np.split(numbers, [len(a.scores)]))
    # Equal runs of cells whose draws are known are a finding, and so are arms that are equal for sure.
    unknown = a.answers.drawn is b.answers.drawn is None and set(a.contents) != set(b.contents)
    return plan._replace(way="same runs") if unknown and runs_in_both(a, b) else plan


def runs_in_both(a: ArmRuns, b: ArmRuns) -> int:
    """How many runs stand in both arms: bit by bit, or all runs of an arm by their predictions."""
    if a.answers.bits and b.answers.bits:
        return designs.equal_runs(a.contents, b.contents)
    of_a, of_b = ([run.tobytes() for run in arm.answers.predicted] for arm in (a, b))
    return designs.copied_runs(of_a, of_b, len(set(min(of_a, of_b, key=len))))


def _step(a: ArmRuns, b: ArmRuns) -> float:
    """The smallest difference of a rate; equal differences leave no doubt if both arms are the same runs bit by bit."""
    return 0.0 if set(a.contents) == set(b.contents) else 1 / a.right.shape[1]


def _compare(a: ArmRuns, b: ArmRuns, assumption: Assumption, by_label: Sequence[str]) -> Comparison:
    plan, test = tested(a, b)
    scores = unit_means(plan, a.scores, b.scores)
    right_a, right_b = (means.mean(axis=0) for means in unit_means(plan, a.right, b.right))
    entropies = (a.answers.entropies, b.answers.entropies)
    scored = entropies[0] is not None and entropies[1] is not None
    predicted = (a.answers.predicted, b.answers.predicted)
    churns = in_arms(plan, *map(pairwise_churn, predicted))
    changes = [
        between_arms(plan, matrix, _step(a, b))
        for matrix in (cross_churn(*predicted), good_flips(a.right, b.right), bad_flips(a.right, b.right))
    ]
    units = a.answers.units
    lengths = np.full(a.right.shape[1] // units, units)
    return Comparison(
        len(lengths),
        _arm(a),
        _arm(b),
        plan.way,
        plan.shared if plan.way in PAIRED else 0,
        (len(plan.units_a), len(plan.units_b)),
        pair_weight(*scores, plan.shared).value if plan.way == "partly paired" else 0.0,
        designs.shared_between(plan, a.drawn, b.drawn),
        notes(a, b, assumption),
        runs_in_both(a, b),
        test.effect.within(-1, 1),
        test.pvalue,
        test.pvalue,
        mean_over_examples(right_b - right_a, lengths).within(-1, 1),
        sd_ratio(plan, a.scores, b.scores),
        UNDEFINED if plan.way in designs.UNTESTED else hedges_g(*scores),
        UNDEFINED if plan.way in designs.UNTESTED else probability_of_improvement(*scores, plan.shared),
        difference(plan, *entropies, np.nan).effect if scored else None,
        pairs_of_units.difference(*churns).within(-1, 1),
        pairs_of_units.ratio(*churns),
        Replacement(*(other for other, _ in changes)),
        Replacement(*(same for _, same in changes)),
        units,
        a.answers.outcome,
        _exact_match(plan, a, b) if a.answers.outcome == LABELS else None,
        _by_label(plan, a, b, by_label),
    )


def _exact_match(plan: Design, a: ArmRuns, b: ArmRuns) -> ExactMatch:
    whole_a, whole_b = (arm.right.reshape(len(arm.right), -1, arm.answers.units).all(axis=2) for arm in (a, b))
    test = difference(plan, whole_a.mean(axis=1), whole_b.mean(axis=1), _step(a, b) * a.answers.units)
    of_a, of_b = (means.mean(axis=0) for means in unit_means(plan, whole_a, whole_b))
    over_examples = mean_t(of_b - of_a, 0.0).within(-1, 1)
    return ExactMatch(float(of_a.mean()), float(of_b.mean()), test.effect.within(-1, 1), test.pvalue, over_examples)


def _by_label(plan: Design, a: ArmRuns, b: ArmRuns, names: Sequence[str]) -> list[OfLabel]:
    found = []
    for place, name in enumerate(names):
        of_a, of_b = (arm.right[:, place :: len(names)].mean(axis=1) for arm in (a, b))
        test = difference(plan, of_a, of_b, _step(a, b) * len(names))
        means = (float(each.mean()) for each in unit_means(plan, of_a, of_b))
        found.append(OfLabel(name, *means, test.effect.within(-1, 1), test.pvalue, np.nan))
    return adjusted(found)


def _arm(side: ArmRuns) -> ArmSummary:
    answers, unit_of, units = side.answers, side.unit_of, np.unique(side.unit_of)
    churn = pairwise_churn(answers.predicted)
    scores = designs.unit_means(side.scores, unit_of, units)
    entropies = None if answers.entropies is None else designs.unit_means(answers.entropies, unit_of, units)
    variance = in_arm(pair_means(variances(side.scores), unit_of, units), units)
    step = 1 / side.right.shape[1]
    sd = sd_chi2(side.scores, step) if len(units) == len(unit_of) else pairs_of_units.root(variance)
    # Runs of a draw that are all equal bit by bit are equal for sure.
    step_of_draw = 0.0 if len(set(side.contents)) == len(units) else step
    return ArmSummary(
        side.name,
        answers.file,
        len(side.scores),
        answers.missing,
        len(units),
        draws.shared(side.drawn) if len(units) == 1 else [],
        mean_t(scores, step).within(0, 1),
        sd.within(*METRICS["accuracy_sd"].range),
        sd_same_draw(side, step_of_draw).within(*METRICS["accuracy_sd"].range),
        None if entropies is None else mean_t(entropies, np.nan).within(0, np.inf),
        pairs_of_units.estimate(in_arm(pair_means(churn, unit_of, units), units)).within(0, 1),
        mean_t(designs.same_unit_means(churn, unit_of), step_of_draw).within(0, 1),
    )


def sd_same_draw(side: ArmRuns, step: float) -> Estimate:
    """The SD of runs of the same draw, from all draws that have several."""
    of_draws = [side.scores[runs] for runs in draws.members(side.unit_of) if len(runs) > 1]
    freedom = sum(len(scores) - 1 for scores in of_draws)
    if not freedom:
        return UNDEFINED
    squares = sum((len(scores) - 1) * standard_deviation(scores) ** 2 for scores in of_draws)
    return sd_interval(float(np.sqrt(squares / freedom)), freedom + 1) if squares else equal_runs_sd(freedom + 1, step)


def variances(scores: np.ndarray) -> np.ndarray:
    """What each pair of runs says about the variance; the mean over all pairs is the sample variance."""
    return np.square(scores[:, np.newaxis] - scores) / 2


def unit_means(plan: Design, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the runs of each unit of both arms."""
    return designs.unit_means(a, plan.a, plan.units_a), designs.unit_means(b, plan.b, plan.units_b)


def pair_means(matrix: np.ndarray, unit_of: np.ndarray, units: np.ndarray) -> np.ndarray:
    """The mean over pairs of runs of each two units of an arm."""
    return designs.pair_means(matrix, unit_of, unit_of, units, units)


def in_arms(plan: Design, a: np.ndarray, b: np.ndarray) -> tuple[UnitStatistic, UnitStatistic]:
    """Means over pairs of different units from each arm's pairs of runs."""
    of_a, of_b = pair_means(a, plan.a, plan.units_a), pair_means(b, plan.b, plan.units_b)
    return in_arm(of_a, plan.units_a), in_arm(of_b, plan.units_b)


def sd_ratio(plan: Design, a: np.ndarray, b: np.ndarray) -> Estimate:
    """The ratio of the SDs of runs of different units, without an interval that would be too wide."""
    return unless_too_wide(pairs_of_units.ratio(*in_arms(plan, variances(a), variances(b)), 0.5))


def between_arms(plan: Design, matrix: np.ndarray, step: float, most: float = 1) -> tuple[Estimate, Estimate]:
    """The means over pairs of a run of A and a run of B, [A, B], with other draws and with the same; at most `most`."""
    means = designs.pair_means(matrix, plan.a, plan.b, plan.units_a, plan.units_b)
    same = plan.units_a[:, np.newaxis] == plan.units_b
    if plan.way == "one draw":
        of_pairs = means[~same], means[same]
        other, alike = (Estimate(float(of.mean())) if of.size else UNDEFINED for of in of_pairs)
    else:
        other = pairs_of_units.estimate(pairs_of_units.between_arms(means, plan.units_a, plan.units_b))
        alike = mean_t(means[same], step)
    return other.within(0, most), alike.within(0, most)


def difference(plan: Design, a: np.ndarray, b: np.ndarray, step: float) -> Result:
    """The test of a quantity of runs; where the design has none, only the difference."""
    a, b = unit_means(plan, a, b)
    if plan.way == "paired":
        return paired_difference(a, b, step)
    if plan.way == "partly paired":
        return partly_paired_difference(a, b, plan.shared, step)
    if plan.way == "independent":
        return mean_difference(a, b, (step, step))
    return Result(np.nan, np.nan, Estimate(float(b.mean() - a.mean())))


def notes(a: ArmRuns, b: ArmRuns, assumption: Assumption) -> list[str]:
    """What was seen or assumed about the runs, as sentences."""
    notes = []
    for side in (a, b):
        notes += counted_once(
            side.name, side.contents, "bit-identical" if side.answers.bits else "equal in all predictions"
        )
        notes += [f"{side.name}: {note}." for note in side.answers.notes]
    if same := runs_in_both(a, b):
        alike = "bit-identical with" if a.answers.bits and b.answers.bits else "equal in all predictions to"
        runs = f"1 run of {b.name} is {alike} a run" if same == 1 else f"{same} runs of {b.name} are {alike} runs"
        notes.append(f"{runs} of {a.name}.")
    unknown = [side.name for side in (a, b) if side.answers.drawn is None]
    assumed = {
        "independent": f"every run of {' and '.join(unknown)} has draws of its own (no --paired, no --same-start)",
        "paired": f"run s of {a.name} and run s of {b.name} have the same draws (--paired)",
        "same start": "all runs start from the same weights (--same-start)",
    }
    return [*notes, f"Assumed: {assumed[assumption]}."] if unknown else notes


def counted_once(name: str, contents: Sequence[Hashable], alike: str) -> list[str]:
    """The sentence on runs of an arm that have equal contents, if some do."""
    runs, different = len(contents), len(set(contents))
    if different == runs:
        return []
    some = f"Of the {runs} runs of {name}, {different} differ; runs that are {alike} count as one."
    return [f"The {runs} runs of {name} are {alike} and count as one." if different == 1 else some]
