"""Stability of one cell: the spread of its runs, over all examples, per class and per sub-group.

A row is (metric, group, estimate), and no row is ever left out: with too few runs the estimate is NaN. Bounds are
clipped to the declared range of each measure. docs/statistics.md defines each measure.
"""

from collections.abc import Container, Mapping, Sequence

import numpy as np

from toolnoise.base.metric_files import CELL, MEASURE, Columns
from toolnoise.formulas import Row
from toolnoise.formulas.accuracy import accuracies, cross_entropies
from toolnoise.formulas.churn import ExampleChurn, churn, normalised_churns, two_way_bootstrap
from toolnoise.formulas.declared import within_range
from toolnoise.formulas.ensembles import pairwise_accuracy_change, pairwise_cross_entropy_change
from toolnoise.formulas.equal_runs import bit_equal, equality_row, rate_step
from toolnoise.formulas.groups import (
    Rate,
    distribution_wise_sd,
    distribution_wise_variance,
    freedom_within_draws,
    group_rates,
    independent_sd,
    largest_by_size,
    ratio_rows,
    spread_rows,
)
from toolnoise.formulas.likeliest import keeps_all
from toolnoise.formulas.similarity import pairwise_cka, pearson_distances, spearman_distances
from toolnoise.formulas.weights import Apart
from toolnoise.stats.estimates import UNDEFINED, Estimate
from toolnoise.stats.jackknife import Pairs, pairwise_jackknife, pairwise_mean, pairwise_similarity, within_blocks

STABILITY: Columns = {**CELL, **MEASURE}


def stability(
    predicted: np.ndarray,
    labels: np.ndarray,
    classes: int,
    groups: Mapping[str, np.ndarray],
    weights: Apart,
    stream: int,
    units: int = 1,
    scores: np.ndarray | None = None,
) -> list[Row]:
    """Measure the runs of a cell from predicted classes [S, N], labels [N], group members [N] and weight distances.

    Without the scores, which are logits [S, N, C] or the likeliest classes [S, N], measures that need them are left
    out. Churn on other examples is bootstrapped from `stream`. With several `units` per example, such as the tokens of
    a segment, N counts units, and the units of an example are drawn together.
    """
    equal = bit_equal(predicted if scores is None else scores) and weights.equal

    def spread_of(name: str, group: str, rate: Rate) -> list[Row]:
        return spread_rows(name, group, rate.values, rate_step(rate.examples, equal))

    rows: list[Row] = []
    for name, rate in group_rates(predicted, labels, classes, np.ones(len(labels), bool)).items():
        rows += spread_of(name, "all", rate)
    if scores is not None:
        rows += spread_rows("cross_entropy", "all", cross_entropies(scores, labels))
    rows += _churns(predicted, labels, "all")
    rows.append(("churn_new_examples", "all", two_way_bootstrap(ExampleChurn(predicted, units), stream)))
    rows += _diversity(scores, labels) if scores is not None and keeps_all(scores) else []
    rows += distance_rows(weights)
    for index in range(classes):
        rows += spread_of("accuracy", str(index), group_rates(predicted, labels, classes, labels == index)["accuracy"])
    for group, member in groups.items():
        for name, rate in group_rates(predicted, labels, classes, member).items():
            rows += spread_of(name, group, rate)
    for group, member in groups.items():
        rows += _churns(predicted[:, member], labels[member], group)
        if scores is not None:
            rows += spread_rows("cross_entropy", group, cross_entropies(scores, labels, member))
    return within_range([*rows, equality_row(equal, len(predicted))])


def of_all_draws(
    predicted: np.ndarray,
    labels: np.ndarray,
    classes: int,
    groups: Mapping[str, np.ndarray],
    draws: Sequence[np.ndarray],
    over_draws: Sequence[Row],
    units: int = 1,
) -> list[Row]:
    """Measures that compare variances, from predictions [S, N] and the runs of each draw.

    Variances are averaged over draws first: a ratio of means is not the mean of ratios. `over_draws` are the
    rows of `stability` over all draws.
    """
    by_draw = [predicted if len(runs) == len(predicted) else predicted[runs] for runs in draws]

    def rates_of(member: np.ndarray) -> dict[str, list[Rate]]:
        each = [group_rates(of_draw, labels, classes, member) for of_draw in by_draw]
        return {rate: [of_draw[rate] for of_draw in each] for rate in each[0]}

    whole = rates_of(np.ones(len(labels), bool))
    runs = freedom_within_draws(whole["accuracy"]) + 1
    sizes = np.bincount(labels, minlength=classes)
    largest = largest_by_size(sizes, int(runs)) if runs == runs else UNDEFINED
    errors = np.mean(predicted != labels) if len(predicted) else np.nan
    (sd,) = (estimate for *row, estimate in over_draws if row == ["accuracy_sd_robust", "all"])
    variance = distribution_wise_variance([_of_examples(of_draw == labels, units) for of_draw in by_draw], sd)
    rows = [
        # An upper bound, since some examples are easier than others.
        ("accuracy_sd_binomial_null", "all", Estimate(float(np.sqrt(errors * (1 - errors) / len(labels))))),
        ("accuracy_sd_independent_null", "all", Estimate(independent_sd(whole["accuracy"]))),
        ("accuracy_variance_distribution", "all", variance),
        ("accuracy_sd_distribution", "all", distribution_wise_sd(variance)),
        ("accuracy_sd_ratio_largest_null", "all", largest),
    ]
    by_class = [rates_of(labels == index)["accuracy"] for index in range(classes)]
    rows += ratio_rows([("accuracy", str(index), part, whole["accuracy"]) for index, part in enumerate(by_class)])
    by_group = {name: rates_of(member) for name, member in groups.items()}
    families: dict[str, list[tuple[str, str, list[Rate], list[Rate]]]] = {}
    for name, of_group in by_group.items():
        of_whole = by_group.get(whole_of(name, groups), whole)
        parts = families.setdefault(whole_of(name, groups), [])
        parts += [(rate, name, part, of_whole[rate]) for rate, part in of_group.items()]
    for parts in families.values():
        rows += ratio_rows(parts)
    return within_range(rows)


def whole_of(group: str, groups: Container[str]) -> str:
    """The group that contains a group: `label:all` for a group of one of several labels, else `all`."""
    label, _, name = group.rpartition(":")
    return f"{label}:all" if name != "all" and f"{label}:all" in groups else "all"


def _churns(predicted: np.ndarray, labels: np.ndarray, group: str) -> list[Row]:
    """Churn on a group's examples, and churn relative to the range that the errors of two runs allow."""
    if not len(labels):
        return [(metric, group, UNDEFINED) for metric in ("churn", "churn_normalised")]
    normalised = normalised_churns(predicted, 1 - accuracies(predicted, labels))
    measured = {"churn": churn(predicted), "churn_normalised": normalised}
    return [(metric, group, pairwise_jackknife(pairs)) for metric, pairs in measured.items()]


def distance_rows(weights: Apart) -> list[Row]:
    """Distances between trained weights; undefined if a training program stored no weights."""
    measured = {metric: pairwise_jackknife(pairs) for metric, pairs in weights.pairs.items()}
    return [(metric, "all", measured.get(metric, UNDEFINED)) for metric in ("l2_unit", "l2_raw")]


def _of_examples(right: np.ndarray, units: int) -> np.ndarray:
    """Whether examples are classified correctly, [S, N], or the share of each example's units that are."""
    return right if units == 1 else right.reshape(len(right), -1, units).mean(axis=2)


def diversity_rows(logits: np.ndarray, labels: np.ndarray) -> list[Pairs]:
    """The measures of Summers & Dinneen of the difference between the scores of runs.

    They are 1 - Pearson's r, 1 - Spearman's r, and the changes of an ensemble of two in accuracy and cross-entropy."""

    def of(runs: slice) -> list[Pairs]:
        scores = logits[runs]
        return [
            pearson_distances(scores),
            spearman_distances(scores),
            Pairs.of(pairwise_accuracy_change(scores, labels)),
            Pairs.of(pairwise_cross_entropy_change(scores)),
        ]

    return within_blocks(len(logits), of)


def _diversity(logits: np.ndarray, labels: np.ndarray) -> list[Row]:
    """Differences between the scores of runs: the measures of Summers & Dinneen, and CKA."""
    pearson, spearman, gained, saved = diversity_rows(logits, labels)
    plain, debiased = within_blocks(len(logits), lambda runs: [Pairs.of(1 - cka) for cka in pairwise_cka(logits[runs])])
    measured = [
        ("correlation_pearson", pairwise_similarity(pearson)),
        ("correlation_spearman", pairwise_similarity(spearman)),
        ("cka", pairwise_similarity(plain)),
        ("cka_debiased", pairwise_similarity(debiased)),
        ("ensemble_accuracy_change", pairwise_mean(gained)),
        ("ensemble_cross_entropy_change", pairwise_mean(saved)),
    ]
    return [(metric, "all", estimate) for metric, estimate in measured]
