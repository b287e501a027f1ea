"""How stable one cell is: the spread of its runs, over all examples and per class.

A row is (metric, group, estimate), and no row is ever left out: where too few runs are left the estimate is
NaN. Bounds of accuracy and churn are clipped to [0, 1] here, where their range is known.
"""

import numpy as np

from toolnoise.metrics.accuracy import accuracies, class_accuracies, predictions
from toolnoise.metrics.churn import pairwise_churn
from toolnoise.metrics.weights import pairwise_l2, unit
from toolnoise.stats.estimates import Estimate, mean_t
from toolnoise.stats.jackknife import pairwise_jackknife
from toolnoise.stats.spread import sd_bootstrap, sd_chi2, sd_ratio

Row = tuple[str, str, Estimate]


def stability(logits: np.ndarray, labels: np.ndarray, vectors: np.ndarray, stream: int) -> list[Row]:
    """Measure the runs of a cell from logits [S, N, C], labels [N] and trainable weights [S, P].

    Every group is bootstrapped with the same resamples of the runs, so one stream serves all.
    """
    predicted = predictions(logits)
    overall = accuracies(predicted, labels)
    rows = [
        *_accuracy("all", overall, stream),
        ("churn", "all", pairwise_jackknife(pairwise_churn(predicted)).within(0, 1)),
        ("l2_unit", "all", pairwise_jackknife(pairwise_l2(unit(vectors)))),
        ("l2_raw", "all", pairwise_jackknife(pairwise_l2(vectors))),
    ]
    for index, accuracy in enumerate(class_accuracies(predicted, labels, logits.shape[-1]).T):
        rows += _accuracy(str(index), accuracy, stream)
        rows.append(("accuracy_sd_ratio", str(index), sd_ratio(accuracy, overall)))
    return rows


def _accuracy(group: str, values: np.ndarray, stream: int) -> list[Row]:
    return [
        ("accuracy_mean", group, mean_t(values).within(0, 1)),
        ("accuracy_sd", group, sd_chi2(values)),
        ("accuracy_sd_bootstrap", group, sd_bootstrap(values, stream)),
    ]
