"""Differences between the scores of runs: the measures of pairs of Summers & Dinneen."""

import numpy as np

from toolnoise.formulas.correlation import pearson_distances, spearman_distances
from toolnoise.formulas.ensembles import pairwise_accuracy_change, pairwise_cross_entropy_change
from toolnoise.stats.jackknife import Pairs, within_blocks


def diversity(logits: np.ndarray, labels: np.ndarray) -> list[Pairs]:
    """1 - Pearson's r, 1 - Spearman's r, and what two runs together gain in accuracy and in cross-entropy."""

    def of(runs: slice) -> list[Pairs]:
        scores = logits[runs]
        return [
            pearson_distances(scores),
            spearman_distances(scores),
            Pairs.of(pairwise_accuracy_change(scores, labels)),
            Pairs.of(pairwise_cross_entropy_change(scores)),
        ]

    return within_blocks(len(logits), of)
