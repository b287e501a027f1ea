"""Churn of each example: the share of pairs of runs that classify it differently, for runs drawn with repetition.

It is what a bootstrap over runs and examples resamples. Its cost is linear in runs, and only examples on which some
runs disagree are computed.
"""

from collections.abc import Callable

import numpy as np


def example_churn(predictions: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The measure of `two_way_bootstrap` for predictions [S, N]: from how often each run is drawn to churn by example.

    Pairs of a run with itself are left out.
    """
    runs, examples = predictions.shape
    contested = np.flatnonzero((predictions != predictions[:1]).any(axis=0))
    # A camp is the runs that predict the same class for an example.
    classes = int(predictions.max(initial=0)) + 1
    camps, camp_of = np.unique(np.arange(len(contested)) * classes + predictions[:, contested], return_inverse=True)
    members = np.zeros((runs, len(camps)), np.float32)
    members[np.arange(runs)[:, np.newaxis], camp_of.reshape(runs, len(contested))] = 1
    first_camps = np.flatnonzero(np.diff(camps // classes, prepend=-1))

    def measure(times: np.ndarray) -> np.ndarray:
        churn = np.zeros((len(times), examples))
        if len(contested):
            sizes = times.astype(np.float32) @ members  # whole numbers, so nothing rounds
            alike = np.add.reduceat(np.square(sizes), first_camps, axis=1)
            of_all, of_same = (np.square(times.sum(axis=1)), np.square(times).sum(axis=1))
            churn[:, contested] = (of_all[:, np.newaxis] - alike) / (of_all - of_same)[:, np.newaxis]
        return churn

    return measure
