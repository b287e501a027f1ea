"""Stability of one cell: the spread of its runs, over all examples, per class and per sub-group.

A row is (metric, group, estimate), and no row is ever left out: with too few runs the estimate is NaN. Bounds are
clipped here, where the range of each measure is known. docs/measures.md defines each measure.
"""

from collections.abc import Mapping

import numpy as np

from toolnoise.base.metric_files import CELL, MEASURE, Columns
from toolnoise.metrics import Row
from toolnoise.metrics.accuracy import class_accuracies, predictions
from toolnoise.metrics.churn import churn, normalised_churn, pairwise_churn
from toolnoise.metrics.correlation import pearson_distances, spearman_distances
from toolnoise.metrics.ensembles import pairwise_accuracy_change, pairwise_cross_entropy_change
from toolnoise.metrics.entropy import cross_entropies
from toolnoise.metrics.groups import Rate, part_rows, rates, spread_rows, unlike_by_size
from toolnoise.metrics.similarity import pairwise_cka
from toolnoise.metrics.weights import pairwise_l2, unit
from toolnoise.stats.estimates import Estimate
from toolnoise.stats.jackknife import Pairs, pairwise_jackknife, pairwise_mean, pairwise_similarity
from toolnoise.stats.spread import largest_sd_ratio_by_size
from toolnoise.stats.testset import binomial_sd, distribution_wise_variance, independent_errors_sd

STABILITY: Columns = {**CELL, **MEASURE}


def stability(
    logits: np.ndarray, labels: np.ndarray, groups: Mapping[str, np.ndarray], vectors: np.ndarray, stream: int
) -> list[Row]:
    """Measure the runs of a cell from logits [S, N, C], labels [N], group members [N] and trained weights [S, P].

    Every part is bootstrapped with the same resamples of the runs, so one stream serves all.
    """
    predicted, classes = predictions(logits), logits.shape[-1]
    whole = rates(predicted, labels, classes, np.ones(len(labels), bool))
    sizes = np.bincount(labels, minlength=classes)
    rows = [row for rate, found in whole.items() for row in spread_rows(rate, "all", found.values, stream)]
    rows += _diversity(logits, labels, predicted, whole["accuracy"].values, stream)
    right = predicted == labels
    errors = np.mean(~right) if len(right) else np.nan
    rows += [
        ("accuracy_sd_binomial_null", "all", _plain(binomial_sd(errors, len(labels)))),
        ("accuracy_sd_independent_null", "all", _plain(independent_errors_sd(right))),
        ("accuracy_variance_distribution", "all", distribution_wise_variance(right)),
        ("l2_unit", "all", pairwise_jackknife(Pairs.of(pairwise_l2(unit(vectors))))),
        ("l2_raw", "all", pairwise_jackknife(Pairs.of(pairwise_l2(vectors)))),
        ("accuracy_sd_ratio_largest_null", "all", largest_sd_ratio_by_size(sizes, len(logits), stream)),
    ]
    by_class = class_accuracies(predicted, labels, classes).T
    of_classes = [("accuracy", str(index), Rate(by_class[index], int(sizes[index]))) for index in range(classes)]
    of_groups = [
        (rate, name, found)
        for name, member in groups.items()
        for rate, found in rates(predicted, labels, classes, member).items()
    ]
    for family in (of_classes, of_groups):
        adjusted = unlike_by_size([(part, whole[rate]) for rate, _, part in family])
        for (rate, group, part), pvalue in zip(family, adjusted, strict=True):
            rows += [
                *part_rows(rate, group, part, whole[rate], stream),
                (f"{rate}_sd_ratio_holm", group, _plain(pvalue)),
            ]
    return rows


def _diversity(
    logits: np.ndarray, labels: np.ndarray, predicted: np.ndarray, accuracies: np.ndarray, stream: int
) -> list[Row]:
    """Differences between the predictions of runs: the measures of Summers & Dinneen, and normalised churn."""
    # It is not linear in the churn of a pair, so it needs every pair.
    normalised = Pairs.of(normalised_churn(pairwise_churn(predicted), 1 - accuracies))
    gained = Pairs.of(pairwise_accuracy_change(logits, labels))
    saved = Pairs.of(pairwise_cross_entropy_change(logits))
    plain, debiased = (Pairs.of(1 - similarities) for similarities in pairwise_cka(logits))
    found = [
        ("churn", pairwise_jackknife(churn(predicted)).within(0, 1)),
        ("churn_normalised", pairwise_jackknife(normalised).within(0, 1)),
        ("correlation_pearson", pairwise_similarity(pearson_distances(logits)).within(-1, 1)),
        ("correlation_spearman", pairwise_similarity(spearman_distances(logits)).within(-1, 1)),
        ("cka", pairwise_similarity(plain).within(0, 1)),
        ("cka_debiased", pairwise_similarity(debiased).within(-np.inf, 1)),
        ("ensemble_accuracy_change", pairwise_mean(gained).within(-1, 1)),
        ("ensemble_cross_entropy_change", pairwise_mean(saved).within(-np.inf, 0)),
    ]
    return [
        *spread_rows("cross_entropy", "all", cross_entropies(logits, labels), stream, np.inf),
        *((metric, "all", estimate) for metric, estimate in found),
    ]


def _plain(value: float) -> Estimate:
    """A value without an interval."""
    return Estimate(float(value), np.nan, np.nan)
