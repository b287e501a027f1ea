"""Churn: the share of examples that two runs classify differently.

It counts disagreement between runs, right or wrong. It is exactly count / number of examples, so equal predictions have
a churn of exactly 0. The number of runs that give each answer to an example is enough for each run's churn with the
others. So its time grows with the runs, not with their pairs.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from toolnoise.stats.jackknife import Pairs, some_pairs, within_blocks

BLOCK = 2**20  # predictions of all runs at a time, or counts of answers


def churn(predictions: np.ndarray) -> Pairs:
    """The churn of runs with predictions [S, N]."""
    runs, examples = predictions.shape
    alike = agreements(predictions, predictions)  # itself among them
    of_pairs = [np.count_nonzero(predictions[i] != predictions[j]) for i, j in zip(*some_pairs(runs), strict=True)]
    return Pairs((runs * examples - alike) / examples, np.array(of_pairs, np.int64) / examples)


def agreements(predictions: np.ndarray, others: np.ndarray) -> np.ndarray:
    """How often each run with predictions [S, N] agrees with another on an example, [S]: over examples and others."""
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


def pairs_that_differ(predictions: np.ndarray) -> np.ndarray:
    """The number of pairs of runs that answer an example differently, [N], from predictions [S, N]."""
    runs, examples = predictions.shape
    alike, before = np.zeros((2, examples), np.int64)
    # Of sorted answers, each is alike with those before it until another one begins.
    for answer, following in itertools.pairwise(np.sort(predictions, axis=0)):
        before = (before + 1) * (answer == following)
        alike += before
    return runs * (runs - 1) // 2 - alike


def normalised_churn(churn: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """The position of every two runs' churn, [S, S], within the range that their error rates, [S], allow.

    Two runs' churn is at least the difference of their error rates and at most the sum (no more than 1): 0 is the
    minimum and 1 the maximum, also after rounding. NaN where the range is a single value, as for two runs without
    errors.
    """
    least = np.abs(errors[:, np.newaxis] - errors)
    most = np.minimum(errors[:, np.newaxis] + errors, 1)
    span = most - least
    return np.clip(np.divide(churn - least, span, out=np.full(churn.shape, np.nan), where=span > 0), 0, 1)


def normalised_churns(predictions: np.ndarray, errors: np.ndarray) -> Pairs:
    """The same of runs with predictions [S, N]: it is not linear in the churn of a pair, so it needs every pair."""

    def of(runs: slice) -> list[Pairs]:
        return [Pairs.of(normalised_churn(pairwise_churn(predictions[runs]), errors[runs]))]

    (pairs,) = within_blocks(len(predictions), of)
    return pairs


def _blocks(predictions: np.ndarray, width: int) -> Iterator[np.ndarray]:
    """The predictions of some examples at a time, in the smallest integers that hold them."""
    step = max(1, BLOCK // max(1, width))
    small = np.min_scalar_type(predictions.max(initial=0))
    for start in range(0, predictions.shape[1], step):
        yield predictions[:, start : start + step].astype(small)
