"""The difference of two arms over draws of two kinds at once: training runs, and examples, questions or groups of them.

Every run of an arm answers every question, so runs and questions are crossed; both arms have the same questions.
Samples are nested in a run's answers to a question; only their mean is used. With one run per arm, the interval is over
questions. With several, it has three mean squares: V_Q for the differences of questions, V_R for runs, and V_I for
their interaction, which V_Q and V_R both contain. The half-width is the root of t^2 V_Q + t^2 V_R - t^2 V_I, each with
its own degrees of freedom. It is never less than the half-width over questions or over runs alone (the modified
large-sample method, as in `formulas/variance_components.py`). If all runs are equal, it is the interval over questions;
if all questions are equal, it is Welch's or the paired one. Satterthwaite's degrees of freedom for the sum would
declare too many false winners with two or three runs (bench/evals.py at 365ea18e).

An example may have several units: the tokens of a segment, the pixels of a mask, the questions of a group. Units of one
example are alike, for instance all in a hard segment. So an interval draws an example with all its units. Drawing
single units would make it far too narrow.
"""

from typing import NamedTuple

import numpy as np
from scipy import optimize, stats

from toolnoise.stats.estimates import TAIL, Estimate, standard_deviation, t_interval
from toolnoise.stats.significance import Result, cautious_freedom, equal_arms

# Smaller tails count as 0.
LEAST = 1e-100


class Square(NamedTuple):
    """A part of the variance of the difference, with its degrees of freedom."""

    variance: float
    freedom: float

    def reach(self, tail: float) -> float:
        """The square of its own half-width, with this tail on each side."""
        quantile = float(stats.t.isf(tail, self.freedom)) if self.variance else 0.0
        return quantile * quantile * self.variance


NOTHING = Square(0.0, np.inf)


class Squares(NamedTuple):
    """The mean squares of a difference; none for runs if arms have one run."""

    difference: float
    questions: Square
    runs: Square = NOTHING
    interaction: Square = NOTHING

    def half_width(self, tail: float) -> float:
        """The half-width of the interval over all draws, with this tail on each side."""
        return _of_both(*(part.reach(tail) for part in self[1:]))


def _of_both(questions: float, runs: float, interaction: float) -> float:
    """The half-width over both kinds of draws, from the squared half-widths over each kind."""
    if np.isinf(questions + runs):
        return np.inf
    return float(np.sqrt(max(questions + runs - interaction, questions, runs)))


def mean_squares(a: np.ndarray, b: np.ndarray, lengths: np.ndarray, *, paired: bool) -> Squares:
    """The mean squares of B - A from scores, [R, Q]; `lengths` are the sizes of consecutive groups of questions.

    Paired arms share the seed of each run.
    """
    mean, error, freedom = mean_error(b.mean(axis=0) - a.mean(axis=0), lengths)
    questions = Square(error**2, freedom)
    if min(len(a), len(b)) < 2:
        return Squares(mean, questions)
    arms = [b - a] if paired else [a, b]
    of_runs = [float(standard_deviation(arm.mean(axis=1))) ** 2 / len(arm) for arm in arms]
    runs = Square(sum(of_runs), _freedom(of_runs, arms))
    return Squares(mean, questions, runs, _interaction(arms, lengths, freedom))


def _interaction(arms: list[np.ndarray], lengths: np.ndarray, freedom: float) -> Square:
    both = 0.0
    for arm in arms:
        rest = arm - arm.mean(axis=0)
        both += sum(mean_error(run, lengths)[1] ** 2 for run in rest) / (len(arm) * (len(arm) - 1))
    return Square(both, sum(len(arm) - 1 for arm in arms) * freedom)


def over_runs_and_examples(
    over_runs: Estimate,
    over_examples: Estimate,
    a: np.ndarray,
    b: np.ndarray,
    lengths: np.ndarray,
    *,
    paired: bool | None,
) -> Estimate:
    """The difference with one interval over runs and examples, from the intervals over each.

    `a` and `b` have what is judged (right, error or loss) for each draw and unit, [R, U]. If only some draws are paired
    (None), the interaction is not subtracted, since it differs between pairs and other draws.
    """
    halves = [(each.high - each.low) / 2 for each in (over_examples, over_runs)]
    if np.isnan(halves).any():
        return Estimate(over_runs.value)
    arms = [] if paired is None else [b - a] if paired else [a, b]
    freedom = mean_error(b.mean(axis=0) - a.mean(axis=0), lengths)[2]
    interaction = _interaction(arms, lengths, freedom).reach(TAIL) if arms else 0.0
    half = _of_both(halves[0] ** 2, halves[1] ** 2, interaction)
    return Estimate(over_runs.value, over_runs.value - half, over_runs.value + half)


def test_of_difference(of: Squares, questions: int, step: float) -> Result:
    """The difference with its interval and p-value; `step` is the largest difference of two scores of a question.

    If all questions and all runs have the same difference, which proves nothing, the test is that of `equal_arms`.
    """
    if questions < 2:
        return Result(np.nan, np.nan, Estimate(of.difference))
    half = of.half_width(TAIL)
    if half == 0:
        return equal_arms(of.difference, step / questions)
    effect = Estimate(of.difference, of.difference - half, of.difference + half)
    if not of.runs.variance:
        statistic = of.difference / np.sqrt(of.questions.variance)
        return Result(statistic, float(2 * stats.t.sf(abs(statistic), of.questions.freedom)), effect)
    return Result(np.nan, _pvalue(of), effect)


def _pvalue(of: Squares) -> float:
    """The significance level at which one end of the interval is 0."""
    size = abs(of.difference)
    if size == 0:
        return 1.0
    if of.half_width(LEAST) < size:
        return 0.0
    found = optimize.brentq(lambda tail: of.half_width(np.exp(tail)) - size, np.log(LEAST), np.log(0.5), xtol=1e-12)
    return float(2 * np.exp(found))


def over_runs(of: Squares) -> Estimate:
    """The difference with its interval over runs, for these questions; no interval if arms have one run."""
    if of.runs is NOTHING:
        return Estimate(of.difference)
    half = float(np.sqrt(of.runs.reach(TAIL)))
    return Estimate(of.difference, of.difference - half, of.difference + half)


def _freedom(of_runs: list[float], arms: list[np.ndarray]) -> float:
    """Welch's degrees of freedom of two arms, or those of pairs."""
    if len(arms) == 1 or not sum(of_runs):
        return len(arms[0]) - 1
    welch = sum(of_runs) ** 2 / sum(part**2 / (len(arm) - 1) for part, arm in zip(of_runs, arms, strict=True))
    return cautious_freedom(welch, *map(len, arms))


def mean_over_examples(values: np.ndarray, lengths: np.ndarray) -> Estimate:
    """The mean of values of units, [U], with an interval over examples; `lengths`, [N], counts each example's units.

    The interval has width 0 if all examples have the same mean.
    """
    mean, error, freedom = mean_error(values, lengths)
    return t_interval(mean, error, freedom) if error else Estimate(mean, mean, mean)


def mean_error(values: np.ndarray, lengths: np.ndarray) -> tuple[float, float, float]:
    """The mean of values of units, [U], its standard error over examples, and its degrees of freedom.

    With examples of different lengths, it is a ratio of two means. Its error is the jackknife's, and its degrees of
    freedom are Kish's effective number of examples (1965) minus 1: long ones count for more (bench/error_rates.py).
    """
    sums = np.add.reduceat(values, np.cumsum(lengths) - lengths)
    whole, examples = lengths.sum(), len(lengths)
    if (lengths == lengths[0]).all():
        means = sums / lengths[0]
        mean = means[0] + np.mean(means - means[0])
        return float(mean), float(standard_deviation(means) / np.sqrt(examples)), examples - 1
    mean = sums.sum() / whole
    changes = (sums - mean * lengths) / (whole - lengths)
    error = np.sqrt((1 - 1 / examples) * np.square(changes).sum())
    return float(mean), float(error), float(whole**2 / np.square(lengths).sum() - 1)
