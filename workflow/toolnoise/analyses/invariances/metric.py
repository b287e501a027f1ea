"""What another way to compute one training changes, and how much of what a new seed changes.

Run s has the same initial weights, batches and masks in each way. So a difference is one of rounding, unless a layer
looks at the examples beside each other. In the first epoch the two are orders of magnitude apart, since rounding has
not grown yet. Observations are the draws.
"""

import numpy as np

from toolnoise.base.metric_files import MEASURE, Columns
from toolnoise.formulas import Row
from toolnoise.formulas.accuracy import predictions
from toolnoise.formulas.churn import paired_churn, pairwise_churn
from toolnoise.stats.contrasts import ratio
from toolnoise.stats.estimates import Estimate, mean_t, wilson
from toolnoise.stats.quantities import Arm, jackknifed

# `setting` is what `other_hardware` has changed.
INVARIANCES: Columns = {
    **dict.fromkeys(("model", "dataset", "hardware", "other_hardware", "setting"), str),
    **MEASURE,
}


def way(logits: np.ndarray, others: np.ndarray, losses: np.ndarray, other_losses: np.ndarray, equal: int) -> list[Row]:
    """The rows of one way: logits [D, N, C] of each draw and of the same draw computed the other way.

    `losses` [D] are those of the first epoch's training. `equal` is the number of draws of equal bits.
    """
    here, there = predictions(logits), predictions(others)
    churn, count = paired_churn(here, there), len(here)
    apart = np.abs(other_losses - losses) / np.abs(losses)
    return [
        ("bit_equal", "all", wilson(equal, count)),
        ("churn", "all", mean_t(churn).within(0, 1)),
        ("churn_to_seeds", "all", ratio(_over_draws(np.diag(churn), diagonal=True), seeds(here))),
        ("first_loss_difference", "all", Estimate(float(apart.max()))),
    ]


def seeds(predicted: np.ndarray) -> Arm:
    """The churn between two draws of predictions [D, N]."""
    return _over_draws(pairwise_churn(predicted), diagonal=False)


def _over_draws(values: np.ndarray, diagonal: bool) -> Arm:
    """The mean of a matrix over its diagonal, or over the rest, and without each draw."""

    def mean(kept: np.ndarray) -> float:
        chosen = values[np.ix_(kept, kept)]
        picked = np.diag(chosen) if diagonal else chosen[np.triu_indices(len(kept), 1)]
        return float(picked.mean()) if len(picked) else np.nan

    return jackknifed(mean, len(values))
