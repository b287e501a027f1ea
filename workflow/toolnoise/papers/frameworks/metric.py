"""Differences between two frameworks: by inference alone, by training, and where and when runs diverge.

Run s of one framework and run s of the other start from the same weights and see the same batches, so only the
framework differs. The runs of each framework also predict on the other: these predictions differ from their own by
inference alone. The rest of the difference between trained runs is due to training.

With all algorithmic draws fixed, replicates are bit-equal and there is no interval over runs. In that case, a mean
over test examples has an interval over examples: the range if other examples were used with the same two networks.
"""

from typing import NamedTuple

import numpy as np

from toolnoise.base.metric_files import MEASURE, PAIR, Columns
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.churn import paired_churn
from toolnoise.formulas.equal_runs import bit_equal, rate_step
from toolnoise.formulas.weights import relative_distances
from toolnoise.stats.estimates import UNDEFINED, Estimate, mean_t, wilson

# Rows compare runs of two frameworks. Rows of inference alone compare predictions of the same runs, trained on
# `hardware`, with those on `other_hardware`. `examples` is the number of test examples; `interval` is over `runs` or
# over `examples`.
FRAMEWORKS: Columns = {**PAIR, "examples": int, "interval": str, **MEASURE}
# The same pairs of runs in one tensor, or in one column of their histories: after an epoch, or within that many epochs.
PARTINGS: Columns = {**PAIR, "what": str, "epoch": int, **MEASURE}

# The units that an interval is over.
RUNS, EXAMPLES = "runs", "examples"


class Predicted(NamedTuple):
    """Logits [S, N, C] of runs on their training tooling, and on the other one."""

    here: np.ndarray
    elsewhere: np.ndarray


def total(first: Predicted, second: Predicted, over: str) -> list[tuple[str, Estimate]]:
    """The churn between run s of each framework, and the part of it that inference alone does not explain."""
    (a, a_elsewhere), (b, b_elsewhere) = (tuple(map(predictions, both)) for both in (first, second))
    moved = (a != a_elsewhere).astype(np.int8) + (b != b_elsewhere)
    rest, equal = (a != b) - moved / 2, bit_equal((first.here, second.here))
    return [
        ("churn", _churn(a, b, over, equal)),
        ("churn_training", _mean(rest, over, rate_step(2 * a.shape[1], equal)).within(-1, 1)),
    ]


def inference(runs: Predicted, over: str) -> list[tuple[str, Estimate]]:
    """The changes in the predictions of the same networks on the other tooling."""
    largest, relative = np.zeros(len(runs.here)), np.zeros(runs.here.shape[:2])
    for run, both in enumerate(zip(*runs, strict=True)):
        here, elsewhere = (logits.astype(np.float64) for logits in both)
        largest[run] = np.abs(elsewhere - here).max(initial=0)
        relative[run] = relative_distances(here, elsewhere)
    equal = bit_equal(runs)
    return [
        ("churn_inference", _churn(*map(predictions, runs), over, equal)),
        ("logits_max_difference", _largest(largest)),
        ("logits_relative_difference", _mean(relative, over).within(0, 2)),
    ]


def parting(first: np.ndarray) -> list[tuple[str, Estimate, int]]:
    """The share of runs that diverge in a quantity, and their mean first epoch; each with its number of runs.

    `first` is the first epoch of each run, [S]; it is NaN for a run that does not diverge.
    """
    parted = first[~np.isnan(first)]
    return [
        ("parted", wilson(len(parted), len(first)), len(first)),
        ("first_epoch", mean_t(parted, step=1).within(1, np.inf), len(parted)),
    ]


def _churn(a: np.ndarray, b: np.ndarray, over: str, equal: bool) -> Estimate:
    if over == RUNS:
        return mean_t(paired_churn(a, b), rate_step(a.shape[1], equal)).within(0, 1)
    return wilson(np.count_nonzero(a[0] != b[0]), a.shape[1]) if len(a) else UNDEFINED


def _mean(values: np.ndarray, over: str, step: float = np.nan) -> Estimate:
    """The mean of values [S, N], one for each run and example."""
    if not len(values):
        return UNDEFINED
    return mean_t(values.mean(axis=1), step) if over == RUNS else mean_t(values[0])


def _largest(values: np.ndarray) -> Estimate:
    """The largest value of all runs, [S]; it has no interval."""
    return Estimate(float(values.max())) if len(values) else UNDEFINED
