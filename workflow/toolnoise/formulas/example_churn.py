"""Churn of each example: the share of pairs of runs that classify it differently, for runs drawn with repetition.

It is what a bootstrap over runs and examples resamples: where an example has several units, such as the tokens of a
segment, all of them are drawn together, and its churn is their mean. Its cost is linear in runs, and only examples on
which some runs disagree are computed, some at a time.
"""

from typing import NamedTuple

import numpy as np

BLOCK = 2**24  # of all runs, whether each is in a camp


class _Camps(NamedTuple):
    """The camps of some contested examples: a camp is the runs that predict the same class for an example.

    `of_run` [S, examples] has the place of each run's camp, `first` the places of the examples' first camps.
    """

    examples: np.ndarray
    of_run: np.ndarray
    first: np.ndarray
    count: int


class ExampleChurn:
    """The churn of each example, for predictions [S, N]. Pairs of a run with itself are left out."""

    def __init__(self, predictions: np.ndarray, units: int = 1) -> None:
        """Find the examples on which some runs disagree, and who agrees with whom; predictions of units [S, N units].

        The `units` of each example lie side by side.
        """
        (self.runs, count), self.units = predictions.shape, units
        self.examples = count // units
        contested = np.flatnonzero((predictions != predictions[:1]).any(axis=0))
        classes = int(predictions.max(initial=0)) + 1
        step = max(1, BLOCK // max(1, self.runs * classes))
        blocks = (contested[start : start + step] for start in range(0, len(contested), step))
        self.camps = [_camps(predictions, chosen, classes) for chosen in blocks]

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """The churn of each example, [R, N], from how often each run is drawn, [R, S]."""
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
        """Give contested units' churn to their examples."""
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
