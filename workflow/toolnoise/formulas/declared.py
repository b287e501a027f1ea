"""Declares every measure of a cell: its range, its rule for several draws, and its label on the page.

A measure without a row here causes an error, so a new measure needs a function that yields it, and a row. No bound of
an interval is outside the range, unless the estimate itself is.
If a cell has several algorithmic draws with several runs each, a measure is computed for each draw, and `over` combines
the values of the draws. It is None for a measure that is computed from all draws at once.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

from toolnoise.formulas import Row
from toolnoise.stats.estimates import Estimate, mean_t, positive_mean_t, root_mean_square

Over = Callable[[np.ndarray], Estimate]


class Label(NamedTuple):
    """A measure's name on the page, its unit, the factor from the metric file to that unit, the decimals shown."""

    name: str
    unit: str = ""
    scale: float = 1
    digits: int = 4


class Metric(NamedTuple):
    """The range of a measure, its rule over draws, and its label if a page shows it."""

    range: tuple[float, float]
    over: Over | None = None
    label: Label | None = None


def mean_similarity(values: np.ndarray) -> Estimate:
    """A mean of similarities, from their distances from 1, the similarity of equal runs."""
    distance = positive_mean_t(np.maximum(1 - values, 0))
    return Estimate(1 - distance.value, 1 - distance.high, 1 - distance.low)


def mean_loss(values: np.ndarray) -> Estimate:
    """A mean of values that are never positive."""
    gain = positive_mean_t(np.maximum(-values, 0))
    return Estimate(-gain.value, -gain.high, -gain.low)


def mean_change(values: np.ndarray) -> Estimate:
    """A mean of changes that may have either sign; if none is negative, they differ between draws by factors."""
    return positive_mean_t(values) if (values >= 0).all() else mean_t(values)


def mean_alone(values: np.ndarray) -> Estimate:
    """A mean without an interval, because the draws do not show its variation."""
    return Estimate(float(values.mean()))


ANY, POSITIVE, SHARE, CHANGE = (-np.inf, np.inf), (0, np.inf), (0, 1), (-1, 1)
CORRELATION = (-1, 1)  # also for the cosine of two matrices
DISTANCE = (0, 2)  # between vectors of length 1, or relative to both lengths
PERPLEXITY = (1, np.inf)
# On each example, an ensemble of two gains or loses 0.5 if one member is right, and gains at most 1 if neither is.
GAIN = (-0.5, 1)
# Differences of variances of shares, which are at most 0.25. Negative differences are shown; their roots keep the sign.
VARIANCE, SIGNED_SD = (-0.25, 0.25), (-0.5, 0.5)
PERCENT, POINTS = ("%", 100, 2), ("points", 100, 2)


def declare_spread(name: str, limits: tuple[float, float], *labels: Label) -> dict[str, Metric]:
    """The mean and the SDs over runs of a quantity; `labels` are for the mean and the first SD.

    The true SD is at most half the width of the range.
    """
    mean, sd = labels or (None, None)
    of_sd = 0, (limits[1] - limits[0]) / 2
    return {
        f"{name}_mean": Metric(limits, mean_t, mean),
        f"{name}_sd": Metric(of_sd, root_mean_square, sd),
        f"{name}_sd_robust": Metric(of_sd, root_mean_square),
    }


def declare_rate(name: str, *labels: Label) -> dict[str, Metric]:
    """A rate's mean and SDs, and the ratio of its SD on a part of the test set to its SD on the whole."""
    return declare_spread(name, SHARE, *labels) | {
        f"{name}_sd_ratio": Metric(POSITIVE),
        f"{name}_sd_ratio_null": Metric(POSITIVE),
        f"{name}_sd_ratio_difficulty_null": Metric(POSITIVE),
        f"{name}_sd_ratio_holm": Metric(SHARE),
        f"{name}_sd_ratio_difficulty_holm": Metric(SHARE),
    }


# In the order of the page's columns.
METRICS: Mapping[str, Metric] = {
    **declare_rate("accuracy", Label("Accuracy", *PERCENT), Label("SD of accuracy", *POINTS)),
    "churn": Metric(SHARE, positive_mean_t, Label("Churn", *PERCENT)),
    "l2_unit": Metric(DISTANCE, positive_mean_t, Label("L2 distance of unit-norm weights")),
    "churn_normalised": Metric(SHARE, positive_mean_t, Label("Normalised churn", *PERCENT)),
    "churn_same_draw": Metric(SHARE, label=Label("Churn, same draw", *PERCENT)),
    "churn_other_draw": Metric(SHARE, label=Label("Churn, other draw", *PERCENT)),
    "churn_impl_share": Metric(SHARE, label=Label("IMPL's share of churn", *PERCENT)),
    **declare_spread("cross_entropy", POSITIVE, Label("Cross-entropy"), Label("SD of cross-entropy")),
    "cka": Metric(SHARE, mean_similarity, Label("CKA of logits")),
    "correlation_pearson": Metric(CORRELATION, mean_similarity, Label("Correlation of logits (Pearson)")),
    "ensemble_accuracy_change": Metric(GAIN, mean_change, Label("Accuracy gain of an ensemble of two", *POINTS)),
    "accuracy_sd_independent_null": Metric(POSITIVE, label=Label("SD if examples erred independently", *POINTS)),
    "accuracy_sd_binomial_null": Metric(POSITIVE),
    "accuracy_sd_ratio_largest_null": Metric(POSITIVE),
    "accuracy_variance_distribution": Metric(VARIANCE),
    "accuracy_sd_distribution": Metric(SIGNED_SD),
    **declare_rate("fpr"),
    **declare_rate("fnr"),
    "l2_raw": Metric(POSITIVE, positive_mean_t),
    "churn_new_examples": Metric(SHARE, mean_alone),  # the examples are the same in every draw
    "correlation_spearman": Metric(CORRELATION, mean_similarity),
    "cka_debiased": Metric(CORRELATION, mean_similarity),
    "ensemble_cross_entropy_change": Metric((-np.inf, 0), mean_loss),
    **{
        f"{of}_variance_{part}": Metric(VARIANCE)
        for of in ("accuracy", "correctness")
        for part in ("algo", "impl", "impl_alone", "interaction")
    },
    **declare_spread("mean_absolute_error", POSITIVE, Label("Mean absolute error"), Label("SD of mean absolute error")),
    **declare_spread("rmse", POSITIVE, Label("RMSE"), Label("SD of RMSE")),
    **declare_spread("loss", POSITIVE, Label("Loss of a token", "nats"), Label("SD of a token's mean loss", "nats")),
    **declare_spread("perplexity", PERPLEXITY, Label("Perplexity", "", 1, 2), Label("SD of perplexity")),
    "mean_absolute_difference": Metric(POSITIVE, positive_mean_t, Label("Mean absolute difference between runs")),
    "n_draws": Metric(POSITIVE),
    "bit_equal": Metric(SHARE, mean_alone),  # over draws: the share of draws with bit-equal runs
}
# The columns of the page's table of cells; a cell's own page has all measures.
USUAL = ("accuracy_mean", "accuracy_sd", "churn", "l2_unit", "mean_absolute_error_mean", "mean_absolute_error_sd")
USUAL += ("loss_mean", "loss_sd", "perplexity_mean", "perplexity_sd", "mean_absolute_difference")
# The values of single runs that a cell's page shows.
OF_RUNS = {
    "accuracy": Label("Accuracy", *PERCENT),
    "cross_entropy": Label("Cross-entropy"),
    "churn": Label("Mean churn against other runs", *PERCENT),
    "mean_absolute_error": Label("Mean absolute error"),
    "loss": Label("Loss of a token", "nats"),
    "perplexity": Label("Perplexity", "", 1, 2),
}


def labels_of_measures() -> dict[str, Label]:
    """The label of each measure that a page shows."""
    return {name: metric.label for name, metric in METRICS.items() if metric.label}


def within_range(rows: Iterable[Row], declared: Mapping[str, Metric] = METRICS) -> list[Row]:
    """Rows whose bounds are within the range of their measure; bounds that rounding has made equal are left out."""
    clipped = [(metric, group, estimate.within(*declared[metric].range)) for metric, group, estimate in rows]
    return [(*row, Estimate(found.value) if found.low == found.high else found) for *row, found in clipped]
