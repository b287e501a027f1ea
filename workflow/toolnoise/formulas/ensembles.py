"""Ensembles: the gain from averaging the logits of several runs.

The logits are averaged, not the probabilities, as in Summers & Dinneen. The change of a pair is the ensemble's value
minus the mean of its two members. The change of cross-entropy is never above 0, and the labels cancel in it: with L the
log of the sum of exponentials, it is the mean over examples of L((a + b) / 2) - (L(a) + L(b)) / 2, and L is convex.
"""

import numpy as np

from toolnoise.base.metric_files import CELL, MEASURE, Columns
from toolnoise.formulas import Row
from toolnoise.formulas.accuracy import accuracies, cross_entropies, example_entropies, predictions
from toolnoise.formulas.churn import churn
from toolnoise.formulas.declared import within_range
from toolnoise.formulas.equal_runs import bit_equal, rate_step
from toolnoise.formulas.groups import spread_rows
from toolnoise.stats.jackknife import pairwise_jackknife

# Ensembles of `members` runs each; n_runs is the number of ensembles.
ENSEMBLES: Columns = {**CELL, "members": int, **MEASURE}

EXAMPLES = 2**19  # logits of all runs at a time
# Sums of products of exponentials below this are recomputed from logarithms, before they lose digits.
SMALL = 1e-290
LARGEST = 50  # runs in an ensemble: without a limit, computing time would grow with the square of the runs


def pairwise_accuracy_change(logits: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The accuracy of each pair's ensemble minus its members' mean, [S, S], from logits [S, N, C].

    If both members predict the same class, so does their mean. Only the other examples are computed.
    """
    runs, examples, _ = logits.shape
    gained = np.zeros((runs, runs), np.int64)  # doubled, so that the mean of two members is an integer
    for rows in _rows(logits):
        block, wanted = logits[:, rows], labels[rows]
        said = predictions(block)
        right = (said == wanted).astype(np.int64)
        for run in range(runs):
            other, example = np.nonzero(said[run + 1 :] != said[run])
            other += run + 1
            together = np.argmax(np.add(block[other, example], block[run, example], dtype=np.float64), axis=-1)
            gain = 2 * (together == wanted[example]) - right[other, example] - right[run, example]
            gained[run] += np.bincount(other, gain, runs).astype(np.int64)
    return (gained + gained.T) / (2 * examples)


def pairwise_cross_entropy_change(logits: np.ndarray) -> np.ndarray:
    """The cross-entropy of each pair's ensemble minus its members' mean, [S, S], from logits [S, N, C].

    e^((a + b) / 2) is e^(a / 2) times e^(b / 2): one exponential for each logit serves all pairs.
    """
    runs, examples, _ = logits.shape
    total = np.zeros((runs, runs))
    for rows in _rows(logits):
        halves = np.divide(logits[:, rows], 2, dtype=np.float64)
        halves -= halves.max(axis=-1, keepdims=True)
        exponentials = np.exp(halves)
        for run in range(runs):
            # The same summation for every pair, and for a run with itself: equal runs gain exactly 0.
            sums = np.einsum("snc,nc->sn", exponentials[run:], exponentials[run])
            logarithms = np.log(np.maximum(sums, SMALL))
            for other, example in zip(*np.nonzero(sums < SMALL), strict=True):
                logarithms[other, example] = np.logaddexp.reduce(halves[run + other, example] + halves[run, example])
            total[run, run:] += logarithms.sum(axis=1)
    alone = np.diag(total)
    change = np.triu(total - (alone[:, np.newaxis] + alone) / 2, 1) / examples
    return change + change.T


def _measured(logits: np.ndarray, labels: np.ndarray, members: int) -> tuple[np.ndarray, np.ndarray]:
    """The predictions and the cross-entropy of each ensemble of `members` runs, in the order of the runs.

    No run is in two ensembles, so they are as independent as runs, and every measure of runs applies to them. Leftover
    runs are not used. Ensembles are computed one at a time, because all together may need as many bytes as the runs.
    For single runs, the likeliest classes are enough.
    """
    if members == 1:
        return predictions(logits), cross_entropies(logits, labels)
    count = len(logits) // members
    predicted, entropies = np.empty((count, len(labels)), np.intp), np.empty(count)
    for place in range(count):
        ensemble = logits[place * members : (place + 1) * members].mean(axis=0, dtype=np.float64)
        predicted[place], entropies[place] = ensemble.argmax(axis=-1), example_entropies(ensemble, labels).mean()
    return predicted, entropies


def _rows(logits: np.ndarray) -> list[slice]:
    """Slices of the examples, some examples at a time."""
    runs, examples, classes = logits.shape
    step = max(1, EXAMPLES // max(1, runs * classes))
    return [slice(start, start + step) for start in range(0, examples, step)]


def by_size(logits: np.ndarray, labels: np.ndarray, largest: int) -> list[tuple[int, Row, int]]:
    """Measures of ensembles of 1, 2, ... `largest` runs each, at most `LARGEST`, as (size, row, number of ensembles).

    The measures are accuracy and cross-entropy with their SDs, and churn between ensembles, all as for runs. A size
    with only one ensemble has means only.
    """
    rows, step = [], rate_step(len(labels), bit_equal(logits))  # ensembles of bit-equal runs are bit-equal
    for members in range(1, min(largest, LARGEST) + 1):
        predicted, entropies = _measured(logits, labels, members)
        measured = [
            *spread_rows("accuracy", "all", accuracies(predicted, labels), step),
            *spread_rows("cross_entropy", "all", entropies),
            ("churn", "all", pairwise_jackknife(churn(predicted))),
        ]
        rows += [(members, row, len(predicted)) for row in within_range(measured)]
    return rows
