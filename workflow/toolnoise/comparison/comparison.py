"""Is B better than A on examples, and what changes if B replaces A? The numbers that `toolnoise compare` prints.

Runs are judged by accuracy, by the errors of a regression, or by the losses of tokens. Differences are B - A and ratios
B / A. The draws of the runs decide what is independent and whether arms are paired (toolnoise.stats.draws). Intervals
over draws cover the results of training again, on these examples. An interval over examples covers the results of these
runs on other examples of the same kind, and one interval is over both (`crossed`). If an arm is a single draw, only the
interval over examples exists.

The loss of a run is the mean over its tokens, its perplexity the exponential of the loss. So a difference of losses is
the logarithm of a ratio of perplexities, and so are its bounds.
"""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from toolnoise.comparison import comparison_text, crossed, designs, two_arms
from toolnoise.comparison.arms import RIGHTS, Arm
from toolnoise.comparison.crossed import mean_over_examples
from toolnoise.comparison.designs import Compared, Design, UnitStatistic
from toolnoise.comparison.naming import NAMES
from toolnoise.comparison.two_arms import PAIRED, between_arms, difference, of_units, sd_ratio, variances
from toolnoise.formulas.churn import pairwise_churn
from toolnoise.formulas.declared import METRICS
from toolnoise.formulas.outcomes import LABELS, LOSSES, NUMBERS
from toolnoise.stats import draws
from toolnoise.stats.draws import Drawn
from toolnoise.stats.estimates import (
    UNDEFINED,
    Estimate,
    equal_runs_sd,
    mean_t,
    sd_chi2,
    sd_interval,
    standard_deviation,
)
from toolnoise.stats.significance import Result


class ArmRuns(NamedTuple):
    """An arm's runs: each unit's judgement, [S, U] (right, error or loss), and its mean per run, [S].

    Runs with equal `contents` count as one run.
    """

    name: str
    arm: Arm
    judged: np.ndarray
    scores: np.ndarray
    drawn: Sequence[Drawn]
    contents: list[Hashable]

    @property
    def unit_of(self) -> np.ndarray:
        """The unit of each run, without regard to other arms."""
        return draws.merge_equal_runs(*draws.units_of_arms(self.drawn), self.contents)

    @property
    def step(self) -> float:
        """The smallest possible difference of two accuracies; NaN for values and losses."""
        return np.nan if self.arm.kind in NUMBERS else 1 / self.judged.shape[1]


def compare_all(arms: Sequence[Arm], *, paired: bool = False) -> list[Compared]:
    """Compare each arm with the first; p-values are also adjusted by Holm.

    If runs are `paired` and their draws unknown, run s of every arm has the same draws.

    In addition to the results of `two_arms.of_units`: `n_draws` of the `n_draws_each` draws are in both arms, and
    `same_draws` are the sources for which runs of both arms have the same draw.
    """
    arms = _judged_alike(arms)
    sides = [side_of_comparison(name, arm, paired=paired) for name, arm in zip(NAMES, arms, strict=False)]
    return two_arms.adjust_pvalues([_compare(sides[0], other, paired=paired) for other in sides[1:]])


def _judged_alike(arms: Sequence[Arm]) -> Sequence[Arm]:
    """The arms; if one has only right and wrong answers, all are reduced to such answers."""
    if not any(arm.kind == RIGHTS for arm in arms):
        return arms
    ones = np.ones(arms[0].answers.shape[1], np.int64)
    return [
        arm._replace(answers=(arm.answers == arm.truth).astype(np.int64), kind=RIGHTS, truth=ones, classes=None)
        for arm in arms
    ]


def side_of_comparison(name: str, arm: Arm, *, paired: bool = False) -> ArmRuns:
    """An arm's runs, judged; runs whose draws are not known may be paired."""
    drawn = designs.assumed_draws(arm.runs, paired=paired) if arm.drawn is None else arm.drawn
    # Predictions may agree by chance on an easy test set, so equal predictions do not make runs of two arms equal.
    contents = list(arm.bits or [(name, run.tobytes()) for run in arm.answers])
    if arm.kind in NUMBERS:
        judged = arm.answers if arm.truth is None else np.abs(arm.answers - arm.truth)
        return ArmRuns(name, arm, judged, judged.mean(axis=1), drawn, contents)
    right = arm.answers == arm.truth
    return ArmRuns(name, arm, right, np.count_nonzero(right, axis=1) / right.shape[1], drawn, contents)


def design_and_test(a: ArmRuns, b: ArmRuns) -> tuple[Design, Result]:
    """The design for two arms, from the draws of their runs, and the test of their scores."""
    numbers = draws.merge_equal_runs(np.concatenate(draws.units_of_arms(a.drawn, b.drawn)), [*a.contents, *b.contents])
    plan = designs.design(*np.split(numbers, [len(a.scores)]))
    # If draws are known, equal runs are a result, and so are bit-equal arms.
    unknown = a.arm.drawn is b.arm.drawn is None and set(a.contents) != set(b.contents)
    if unknown and runs_in_both(a, b):
        plan = plan._replace(way="same runs")
    return plan, difference(plan, a.scores, b.scores, _step(a, b))


def runs_in_both(a: ArmRuns, b: ArmRuns) -> int:
    """The number of runs in both arms: bit-equal runs, or, by predictions, all runs of the smaller arm."""
    if a.arm.bits and b.arm.bits:
        return designs.equal_runs(a.contents, b.contents)
    of_a, of_b = ([run.tobytes() for run in each.arm.answers] for each in (a, b))
    return designs.copied_runs(of_a, of_b, len(set(min(of_a, of_b, key=len))))


def _step(a: ArmRuns, b: ArmRuns) -> float:
    """The smallest possible difference; 0 if both arms have bit-equal runs."""
    return 0.0 if set(a.contents) == set(b.contents) else a.step


def _compare(a: ArmRuns, b: ArmRuns, *, paired: bool) -> Compared:
    plan, test = design_and_test(a, b)
    judged = plan.means(a.judged, b.judged)
    lengths, numbers = a.arm.lengths, a.arm.kind in NUMBERS
    over_examples = mean_over_examples(judged[1].mean(axis=0) - judged[0].mean(axis=0), lengths)
    pairs = None if plan.way == "partly paired" else plan.way == "paired"
    over_both = crossed.over_runs_and_examples(test.effect, over_examples, *judged, lengths, paired=pairs)
    most = np.inf if numbers else 1
    measured = _further_of_numbers(plan, a, b, test.effect, over_examples) if numbers else _further(plan, a, b)
    return Compared(
        kind=a.arm.kind,
        outcome=a.arm.outcome,
        n_examples=len(lengths),
        n_units=int(lengths.sum()),
        a=_arm(a),
        b=_arm(b),
        n_draws=plan.shared if plan.way in PAIRED else 0,
        n_draws_each=(len(plan.units_a), len(plan.units_b)),
        same_draws=designs.shared_between(plan, a.drawn, b.drawn),
        notes=notes_on_runs(a, b, paired=paired),
        n_in_both=runs_in_both(a, b),
        **of_units(plan, a.scores, b.scores, test, lower=numbers) | {"difference": test.effect.within(-most, most)},
        difference_over_examples=over_examples.within(-most, most),
        difference_over_both=over_both.within(-most, most),
        sd_ratio=sd_ratio(plan, a.scores, b.scores),
        **measured,
    )


def _further(plan: Design, a: ArmRuns, b: ArmRuns) -> dict[str, Any]:
    """The measures of classification besides accuracy."""
    entropies, predicted = (a.arm.entropies, b.arm.entropies), (a.arm.answers, b.arm.answers)
    scored = entropies[0] is not None and entropies[1] is not None
    churns = plan.of_pairs(*map(pairwise_churn, predicted))
    changes = {
        "churn": two_arms.cross_churn(*predicted),
        "good_flips": two_arms.good_flips(a.judged, b.judged),
        "bad_flips": two_arms.bad_flips(a.judged, b.judged),
    }
    changes = {name: between_arms(plan, matrix, _step(a, b)) for name, matrix in changes.items()}
    return {
        "cross_entropy_difference": difference(plan, *entropies, np.nan).effect if scored else None,
        "churn_difference": designs.difference(*churns).within(-1, 1),
        "churn_ratio": designs.ratio(*churns),
        "other_draws": {name: other for name, (other, _) in changes.items()},
        "same_draw": {name: same for name, (_, same) in changes.items()},
        "units_each": int(a.arm.lengths[0]),
        "exact_match": _exact_match(plan, a, b) if a.arm.outcome == LABELS else None,
    }


def _further_of_numbers(
    plan: Design, a: ArmRuns, b: ArmRuns, effect: Estimate, over_examples: Estimate
) -> dict[str, Estimate | None]:
    """The measures of values and losses besides their mean."""
    of_losses, step = a.arm.kind == LOSSES, _step(a, b)
    apart = np.array([np.abs(b.arm.answers - run).mean(axis=1) for run in a.arm.answers])
    other, same = between_arms(plan, apart, step, np.inf)
    return {
        "perplexity_ratio": _exponential(effect) if of_losses else None,
        "perplexity_ratio_over_examples": _exponential(over_examples) if of_losses else None,
        "rmse_difference": None if of_losses else difference(plan, _rmse(a), _rmse(b), step).effect,
        "apart_other_draws": other,
        "apart_same_draw": same,
    }


def _exact_match(plan: Design, a: ArmRuns, b: ArmRuns) -> dict[str, Any]:
    """The share of examples with every label right, and its difference over runs and over examples."""
    units = int(a.arm.lengths[0])
    whole_a, whole_b = (each.judged.reshape(len(each.judged), -1, units).all(axis=2) for each in (a, b))
    test = difference(plan, whole_a.mean(axis=1), whole_b.mean(axis=1), _step(a, b) * units)
    of_a, of_b = (means.mean(axis=0) for means in plan.means(whole_a, whole_b))
    over_examples = mean_t(of_b - of_a, 0.0).within(-1, 1)
    found = {"a": float(of_a.mean()), "b": float(of_b.mean()), "difference": test.effect.within(-1, 1)}
    return found | {"pvalue": test.pvalue, "over_examples": over_examples}


def _arm(of: ArmRuns) -> Compared:
    """One arm: mean and SD over draws of its score, and its further measures."""
    arm, unit_of, units = of.arm, of.unit_of, np.unique(of.unit_of)

    def mean(values: np.ndarray, step: float) -> Estimate:
        return mean_t(designs.unit_means(values, unit_of, units), step)

    def of_pairs(matrix: np.ndarray) -> UnitStatistic:
        return designs.of_pairs(matrix, unit_of, units)

    each_own = len(units) == len(unit_of)
    sd = sd_chi2(of.scores, of.step) if each_own else designs.root(of_pairs(variances(of.scores)))
    found = mean(of.scores, of.step)
    if arm.kind == LOSSES:
        further = {"perplexity": _exponential(found), "rmse": None}
    elif arm.kind in NUMBERS:
        further = {"perplexity": None, "rmse": mean(_rmse(of), np.nan)}
    if arm.kind in NUMBERS:
        apart = np.array([np.abs(arm.answers - run).mean(axis=1) for run in arm.answers])
        further["apart"] = designs.estimate(of_pairs(apart)).within(0, np.inf)
    else:
        found, largest = found.within(0, 1), METRICS["accuracy_sd"].range
        churn, sd = pairwise_churn(arm.answers), sd.within(*largest)
        # If all runs of each draw are bit-equal, their SD is exactly 0.
        step = 0.0 if len(set(of.contents)) == len(units) else of.step
        further = {
            "accuracy_sd_same_draw": sd_same_draw(of, step).within(*largest),
            "cross_entropy_mean": None if arm.entropies is None else mean(arm.entropies, np.nan).within(0, np.inf),
            "churn": designs.estimate(of_pairs(churn)).within(0, 1),
            "churn_same_draw": mean_t(designs.same_unit_means(churn, unit_of), step).within(0, 1),
        }
    one_draw_of = draws.shared_sources(of.drawn) if len(units) == 1 else []
    return Compared(
        name=of.name,
        file=arm.file,
        n_runs=arm.runs,
        n_missing=arm.missing,
        n_draws=len(units),
        one_draw_of=one_draw_of,
        mean=found,
        sd=sd,
        **further,
    )


def sd_same_draw(of: ArmRuns, step: float) -> Estimate:
    """The SD among runs of the same draw, from all draws with several runs."""
    of_draws = [of.scores[runs] for runs in draws.members_of_units(of.unit_of) if len(runs) > 1]
    freedom = sum(len(scores) - 1 for scores in of_draws)
    if not freedom:
        return UNDEFINED
    squares = sum((len(scores) - 1) * standard_deviation(scores) ** 2 for scores in of_draws)
    return sd_interval(float(np.sqrt(squares / freedom)), freedom + 1) if squares else equal_runs_sd(freedom + 1, step)


def _rmse(of: ArmRuns) -> np.ndarray:
    return np.sqrt(np.square(of.judged).mean(axis=1))


def _exponential(estimate: Estimate) -> Estimate:
    with np.errstate(over="ignore"):  # too large for a float is infinite
        return Estimate(*np.exp(estimate).tolist())


def notes_on_runs(a: ArmRuns, b: ArmRuns, *, paired: bool) -> list[str]:
    """Sentences on what was observed or assumed about the runs."""
    notes = []
    for of in (a, b):
        notes += comparison_text.counted_once(
            of.name, of.contents, "bit-identical" if of.arm.bits else "equal in all predictions"
        )
        notes += [f"{of.name}: {note}." for note in of.arm.notes]
    if same := runs_in_both(a, b):
        alike = "bit-identical with" if a.arm.bits and b.arm.bits else "equal in all predictions to"
        runs = f"1 run of {b.name} is {alike} a run" if same == 1 else f"{same} runs of {b.name} are {alike} runs"
        notes.append(f"{runs} of {a.name}.")
    unknown = [of.name for of in (a, b) if of.arm.drawn is None]
    assumed = f"every run of {' and '.join(unknown)} has draws of its own (not paired)"
    if paired:
        assumed = f"run s of {a.name} and run s of {b.name} have the same draws (paired)"
    return [*notes, f"Assumed: {assumed}."] if unknown else notes
