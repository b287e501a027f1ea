"""Differences between two toolings: each run on one is compared with the run of the same seed on the other.

Both runs have the same initial weights and batches, so under `control` only the implementation differs. Every seed then
gives the same bits, and the intervals have zero width; otherwise no interval has. Bounds are clipped to the range of
each metric.
"""

import numpy as np

from toolnoise.base.metric_files import MEASURE, PAIR, Columns
from toolnoise.metrics import Row
from toolnoise.metrics.accuracy import accuracies, predictions
from toolnoise.metrics.churn import paired_churn
from toolnoise.metrics.equal_runs import bit_equal, rate_step, value_step
from toolnoise.metrics.weights import paired_l2, unit
from toolnoise.stats.estimates import mean_t

CROSS_TOOLING: Columns = {**PAIR, **MEASURE}


def cross_tooling(
    logits_a: np.ndarray,
    logits_b: np.ndarray,
    labels: np.ndarray,
    vectors_a: np.ndarray,
    vectors_b: np.ndarray,
) -> list[Row]:
    """Compare run s of `a` with run s of `b`, aligned by seed; the accuracy difference is b - a."""
    predicted_a, predicted_b = predictions(logits_a), predictions(logits_b)
    difference = accuracies(predicted_b, labels) - accuracies(predicted_a, labels)
    # Every seed shows the same if all runs of each tooling are bit-equal, or if both toolings give the same bits.
    equal = all(map(bit_equal, (logits_a, logits_b, vectors_a, vectors_b)))
    equal |= bit_equal((logits_a, logits_b)) and bit_equal((vectors_a, vectors_b))
    of_rates, of_values = rate_step(len(labels), equal), value_step(equal)
    return [
        ("churn", "all", mean_t(paired_churn(predicted_a, predicted_b), of_rates).within(0, 1)),
        ("l2_unit", "all", mean_t(paired_l2(unit(vectors_a), unit(vectors_b)), of_values).within(0, np.inf)),
        ("l2_raw", "all", mean_t(paired_l2(vectors_a, vectors_b), of_values).within(0, np.inf)),
        ("accuracy_difference", "all", mean_t(difference, of_rates).within(-1, 1)),
    ]
