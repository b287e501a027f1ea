"""Differences between two frameworks: by inference alone, by training, and where and when runs diverge.

Run s of one and run s of the other start from the same weights and see the same batches, so only the framework differs.
The runs of each are predicted on the other too: these predictions differ from their own by inference alone. The rest of
the difference between trained runs is training's part.

With all algorithmic draws fixed, replicates are bit-equal and an interval over runs has no width. There, a mean over
test examples has an interval over examples: the range if other examples were used with the same two networks.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.metric_files import MEASURE, PAIR, Columns
from toolnoise.metrics.accuracy import predictions
from toolnoise.metrics.churn import paired_churn
from toolnoise.stats.estimates import UNDEFINED, Estimate, mean_t
from toolnoise.stats.proportion import wilson

# Of runs of two frameworks or, in what inference alone changes, of what is trained on `hardware` and predicted on
# `other_hardware`; of so many test examples, with an interval over `runs` or over `examples`.
FRAMEWORKS: Columns = {**PAIR, "examples": int, "interval": str, **MEASURE}
# Of such runs in a tensor, or in a column of their histories: after an epoch, or within so many.
PARTINGS: Columns = {**PAIR, "what": str, "epoch": int, **MEASURE}

# What an interval is over.
RUNS, EXAMPLES = "runs", "examples"


class Predicted(NamedTuple):
    """Logits [S, N, C] of runs on the tooling that they were trained on, and on the other one."""

    own: np.ndarray
    elsewhere: np.ndarray


def total(one: Predicted, other: Predicted, over: str) -> list[tuple[str, Estimate]]:
    """The churn between run s of each, and how much of it inference alone does not make."""
    (a, a_elsewhere), (b, b_elsewhere) = (tuple(map(predictions, both)) for both in (one, other))
    moved = (a != a_elsewhere).astype(np.int8) + (b != b_elsewhere)
    rest = (a != b) - moved / 2
    return [("churn", _churn(a, b, over)), ("churn_training", _mean(rest, over).within(-1, 1))]


def inference(runs: Predicted, over: str) -> list[tuple[str, Estimate]]:
    """The changes in the predictions of the same networks on the other tooling."""
    largest, relative = np.zeros(len(runs.own)), np.zeros(runs.own.shape[:2])
    for run, both in enumerate(zip(*runs, strict=True)):
        here, there = (logits.astype(np.float64) for logits in both)
        largest[run] = np.abs(there - here).max(initial=0)
        relative[run] = relative_distances(here, there)
    return [
        ("churn_inference", _churn(*map(predictions, runs), over)),
        ("logits_max_difference", _largest(largest)),
        ("logits_relative_difference", _mean(relative, over).within(0, 2)),
    ]


def relative_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """How far each row of `b` [N, P] is from that of `a`, over the root mean square of both lengths.

    Neither comes first, and none is infinite: opposites are 2 apart, unrelated rows of one length the root of 2.
    """
    # In float64: the length of a float32 difference may overflow or vanish.
    a, b = a.astype(np.float64), b.astype(np.float64)
    distances = np.linalg.norm(b - a, axis=1)
    lengths = np.hypot(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)) / np.sqrt(2)
    return np.divide(distances, lengths, out=np.zeros(len(a)), where=lengths > 0)


def first_epochs(one: Sequence[Any], other: Sequence[Any]) -> np.ndarray:
    """The first epoch, counted from 1, after which each thing differs between two runs; NaN if it never does.

    From the values of each thing after each epoch, [E, T].
    """
    differ = np.array(one) != np.array(other)
    return np.where(differ.any(axis=0), differ.argmax(axis=0) + 1.0, np.nan)


def parting(first: np.ndarray) -> list[tuple[str, Estimate, int]]:
    """The share of runs that diverge in a thing, and the mean of their first epochs; each with its number of runs.

    From the first epoch of each run, [S], NaN for a run that does not diverge.
    """
    parted = first[~np.isnan(first)]
    return [
        ("parted", wilson(len(parted), len(first)), len(first)),
        ("first_epoch", mean_t(parted).within(1, np.inf), len(parted)),
    ]


def _churn(a: np.ndarray, b: np.ndarray, over: str) -> Estimate:
    if over == RUNS:
        return mean_t(paired_churn(a, b)).within(0, 1)
    return wilson(np.count_nonzero(a[0] != b[0]), a.shape[1]) if len(a) else UNDEFINED


def _mean(values: np.ndarray, over: str) -> Estimate:
    """The mean of values of each run and example, [S, N]."""
    if not len(values):
        return UNDEFINED
    return mean_t(values.mean(axis=1) if over == RUNS else values[0])


def _largest(values: np.ndarray) -> Estimate:
    """The largest of all runs, [S], which has no interval."""
    return Estimate(float(values.max()), np.nan, np.nan) if len(values) else UNDEFINED
