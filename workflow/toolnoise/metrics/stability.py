"""How stable one cell is: the spread of its runs, over all examples, per class and per sub-group.

A row is (metric, group, estimate), and no row is ever left out: where too few runs are left the estimate is
NaN. Bounds of rates and churn are clipped to [0, 1] here, where their range is known.
"""

from collections.abc import Mapping

import numpy as np

from toolnoise.metrics import Row
from toolnoise.metrics.accuracy import class_accuracies, predictions
from toolnoise.metrics.churn import pairwise_churn
from toolnoise.metrics.groups import Rate, part_rows, rates, spread_rows
from toolnoise.metrics.weights import pairwise_l2, unit
from toolnoise.stats.jackknife import pairwise_jackknife
from toolnoise.stats.spread import largest_sd_ratio_by_size


def stability(
    logits: np.ndarray, labels: np.ndarray, groups: Mapping[str, np.ndarray], vectors: np.ndarray, stream: int
) -> list[Row]:
    """Measure the runs of a cell from logits [S, N, C], labels [N], members of groups [N] and trained weights [S, P].

    Every part is bootstrapped with the same resamples of the runs, so one stream serves all.
    """
    predicted, classes = predictions(logits), logits.shape[-1]
    whole = rates(predicted, labels, classes, np.ones(len(labels), bool))
    sizes = np.bincount(labels, minlength=classes)
    rows = [row for rate, found in whole.items() for row in spread_rows(rate, "all", found.values, stream)]
    rows += [
        ("churn", "all", pairwise_jackknife(pairwise_churn(predicted)).within(0, 1)),
        ("l2_unit", "all", pairwise_jackknife(pairwise_l2(unit(vectors)))),
        ("l2_raw", "all", pairwise_jackknife(pairwise_l2(vectors))),
        ("accuracy_sd_ratio_largest_null", "all", largest_sd_ratio_by_size(sizes, len(logits), stream)),
    ]
    for index, values in enumerate(class_accuracies(predicted, labels, classes).T):
        rows += part_rows("accuracy", str(index), Rate(values, int(sizes[index])), whole["accuracy"], stream)
    for name, member in groups.items():
        for rate, found in rates(predicted, labels, classes, member).items():
            rows += part_rows(rate, name, found, whole[rate], stream)
    return rows
