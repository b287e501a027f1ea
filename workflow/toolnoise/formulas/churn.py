"""Churn: the share of examples that two runs classify differently.

It counts disagreement between runs, right or wrong. It is exactly count / number of examples, so equal predictions have
a churn of exactly 0. Each run's churn with the others follows from the number of runs that give each answer to an
example, so the computing time grows with the runs, not with their pairs.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from toolnoise.stats.estimates import UNDEFINED, Estimate, t_interval
from toolnoise.stats.jackknife import Pairs, some_pairs, standard_error, within_blocks

BLOCK = 2**20  # predictions of all runs at a time, or counts of answers
IN_CAMPS = 2**24  # memberships of all runs in camps at a time
RESAMPLES = 999
ROUNDING = 1e-12  # rates of whole examples that are closer are equal
AT_ONCE = 1 << 20  # examples of all resamples that are in memory together


def churn(predictions: np.ndarray) -> Pairs:
    """The churn of runs with predictions [S, N]."""
    runs, examples = predictions.shape
    alike = agreements(predictions, predictions)  # including each run with itself
    of_pairs = [np.count_nonzero(predictions[i] != predictions[j]) for i, j in zip(*some_pairs(runs), strict=True)]
    return Pairs((runs * examples - alike) / examples, np.array(of_pairs, np.int64) / examples)


def agreements(predictions: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The number of agreements of each run with the runs of `others`, [S], over all examples; both [S, N]."""
    classes = 1 + int(max(predictions.max(initial=0), others.max(initial=0)))
    width = max(len(predictions), len(others), classes)
    alike = np.zeros(len(predictions), np.int64)
    for block, of_others in zip(_blocks(predictions, width), _blocks(others, width), strict=True):
        first = classes * np.arange(block.shape[1])
        counts = np.bincount((of_others + first).ravel(), minlength=classes * block.shape[1])
        for run, given in enumerate(block + first):
            alike[run] += counts[given].sum()
    return alike


def pairwise_churn(predictions: np.ndarray) -> np.ndarray:
    """The churn between every two runs, [S, S], symmetric with a zero diagonal, from predictions [S, N]."""
    runs, examples = predictions.shape
    different = np.zeros((runs, runs), np.int64)
    for block in _blocks(predictions, runs):
        for run in range(runs):
            different[run, run + 1 :] += np.count_nonzero(block[run + 1 :] != block[run], axis=1)
    return (different + different.T) / examples


def paired_churn(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The churn between run s of `a` and run s of `b`, [S]."""
    assert a.shape == b.shape, f"{a.shape} against {b.shape}"
    return np.count_nonzero(a != b, axis=1) / a.shape[1]


def disagreements(predictions: np.ndarray) -> float:
    """The sum of the churns of all pairs of runs, from predictions [S, N]."""
    alike = int(agreements(predictions, predictions).sum())  # each pair twice, and each run with itself
    return (len(predictions) * predictions.size - alike) // 2 / predictions.shape[1]


def normalised_churn(churn: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """The position of every two runs' churn, [S, S], within the range that their error rates, [S], allow.

    Two runs' churn is at least the difference of their error rates and at most the sum (no more than 1): exactly 0 is
    the minimum and exactly 1 the maximum. NaN where the range is a single value, as for two runs without errors.
    """
    least = np.abs(errors[:, np.newaxis] - errors)
    most = np.minimum(errors[:, np.newaxis] + errors, 1)
    span = most - least
    has_range = span > ROUNDING
    position = np.divide(churn - least, span, out=np.full(churn.shape, np.nan), where=has_range)
    # A draw whose runs are all at the minimum must not count as noisy: the log of 1e-17 would widen an interval.
    position[has_range & (churn - least < ROUNDING)] = 0
    position[has_range & (most - churn < ROUNDING)] = 1
    return position


def normalised_churns(predictions: np.ndarray, errors: np.ndarray) -> Pairs:
    """The normalised churn of runs with predictions [S, N]; its range differs by pair, so it needs each pair."""

    def of(runs: slice) -> list[Pairs]:
        return [Pairs.of(normalised_churn(pairwise_churn(predictions[runs]), errors[runs]))]

    (pairs,) = within_blocks(len(predictions), of)
    return pairs


def _blocks(predictions: np.ndarray, width: int) -> Iterator[np.ndarray]:
    """The predictions of some examples at a time, in the smallest integer type that fits."""
    step = max(1, BLOCK // max(1, width))
    small = np.min_scalar_type(predictions.max(initial=0))
    for start in range(0, predictions.shape[1], step):
        yield predictions[:, start : start + step].astype(small)


class _Camps(NamedTuple):
    """The camps of some contested examples: a camp is the runs that predict the same class for an example.

    `of_run` [S, examples] has the index of each run's camp, `first` the index of each example's first camp.
    """

    examples: np.ndarray
    of_run: np.ndarray
    first: np.ndarray
    count: int


class ExampleChurn:
    """The churn of each example, for predictions [S, N]. Pairs of a run with itself are left out."""

    def __init__(self, predictions: np.ndarray, units: int = 1) -> None:
        """Find the examples on which runs disagree, and the runs that agree, from predictions of units [S, N x units].

        The `units` of each example are adjacent.
        """
        (self.runs, count), self.units = predictions.shape, units
        self.examples = count // units
        contested = np.flatnonzero((predictions != predictions[:1]).any(axis=0))
        classes = int(predictions.max(initial=0)) + 1
        step = max(1, IN_CAMPS // max(1, self.runs * classes))
        blocks = (contested[start : start + step] for start in range(0, len(contested), step))
        self.camps = [_camps(predictions, chosen, classes) for chosen in blocks]

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """The churn of each example, [R, N], from the number of times that each run is drawn, [R, S]."""
        churn = np.zeros((len(times), self.examples))
        drawn, of_all, of_same = times.astype(np.float32), np.square(times.sum(axis=1)), np.square(times).sum(axis=1)
        for camps in self.camps:
            members = np.zeros((self.runs, camps.count), np.float32)
            members[np.arange(self.runs)[:, np.newaxis], camps.of_run] = 1
            sizes = drawn @ members  # whole numbers, so nothing rounds
            alike = np.add.reduceat(np.square(sizes, dtype=np.float64), camps.first, axis=1)
            self._add(churn, camps, (of_all[:, np.newaxis] - alike) / (of_all - of_same)[:, np.newaxis])
        return churn

    def _add(self, churn: np.ndarray, camps: _Camps, of_units: np.ndarray) -> None:
        """Add the churn of contested units to their examples."""
        if self.units == 1:
            churn[:, camps.examples] = of_units
        else:
            np.add.at(churn.T, camps.examples // self.units, of_units.T / self.units)

    def without_each(self) -> np.ndarray:
        """The mean churn of the examples without the first run, without the second, and so on, [S]."""
        churn, others = np.zeros((self.runs, self.examples)), self.runs - 1
        for camps in self.camps:
            sizes = np.bincount(camps.of_run.ravel(), minlength=camps.count)
            alike = np.add.reduceat(np.square(sizes), camps.first) - 2 * sizes[camps.of_run] + 1
            self._add(churn, camps, (others**2 - alike) / (others**2 - others))
        return churn.mean(axis=1)


def _camps(predictions: np.ndarray, chosen: np.ndarray, classes: int) -> _Camps:
    answers = np.arange(len(chosen)) * classes + predictions[:, chosen]
    camps, of_run = np.unique(answers, return_inverse=True)
    of_run = of_run.reshape(answers.shape).astype(np.min_scalar_type(len(camps)))
    return _Camps(chosen, of_run, np.flatnonzero(np.diff(camps // classes, prepend=-1)), len(camps))


def two_way_bootstrap(measure: ExampleChurn, stream: int, resamples: int = RESAMPLES) -> Estimate:
    """The churn with an interval for other runs on other examples; fewer than three runs have no interval.

    The jackknife over runs describes the test set at hand. On another test set of the same kind, the examples vary too.
    The variances from runs and from examples add up, but the interaction of a run with an example contributes to both.
    Resampling both counts it three times (Owen 2007, the pigeonhole bootstrap), which makes an interval too wide.
    Bootstraps over runs, over examples and over both have variances R + I, E + I and R + E + 3 I, which determine I.
    The variance from runs is then taken from the jackknife: a bootstrap of ten runs understates it by a tenth or more.
    """
    runs, examples = measure.runs, measure.examples
    if runs < 2:
        return UNDEFINED
    here = measure(np.ones((1, runs)))[0]
    value = float(here.mean())
    if runs == 2:
        return Estimate(value)
    draws = np.random.Generator(np.random.Philox(key=stream))
    times = draws.multinomial(runs, np.full(runs, 1 / runs), resamples)
    while (alone := times.max(axis=1) == runs).any():  # one run only, so no pair
        times[alone] = draws.multinomial(runs, np.full(runs, 1 / runs), np.count_nonzero(alone))
    by_runs, by_examples, by_both = np.empty((3, resamples))
    at_once = max(1, AT_ONCE // examples)
    for start in range(0, resamples, at_once):
        together = slice(start, start + at_once)
        of_each = measure(times[together])
        drawn = np.array([np.bincount(draws.integers(examples, size=examples), minlength=examples) for _ in of_each])
        by_runs[together] = of_each.mean(axis=1)
        by_examples[together] = drawn @ here / examples
        by_both[together] = np.einsum("re,re->r", drawn, of_each) / examples
    drawn_runs, theirs, both = (np.var(means, ddof=1) for means in (by_runs, by_examples, by_both))
    ours = standard_error(measure.without_each()) ** 2
    in_both = both - drawn_runs - theirs
    variance = max(ours + theirs - in_both, ours, theirs)
    if variance == 0:
        return Estimate(value)
    freedom = variance**2 / (ours**2 / (runs - 1) + theirs**2 / (examples - 1))
    return t_interval(value, np.sqrt(variance), freedom)
