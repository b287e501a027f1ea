"""What the page calls a cell's measures, and in which unit it shows them."""

from typing import NamedTuple


class Measure(NamedTuple):
    """A measure's name on the page, its unit, the factor from the metric file to that unit, the decimals shown."""

    label: str
    unit: str = ""
    scale: float = 1
    digits: int = 4


PERCENT = ("%", 100, 2)
POINTS = ("points", 100, 2)

# Those that the first table can show, the usual ones first.
CELL = {
    "accuracy_mean": Measure("Accuracy", *PERCENT),
    "accuracy_sd": Measure("SD of accuracy", *POINTS),
    "churn": Measure("Churn", *PERCENT),
    "l2_unit": Measure("L2 distance of unit-norm weights"),
    "churn_normalised": Measure("Normalised churn", *PERCENT),
    "churn_same_draw": Measure("Churn, same draw", *PERCENT),
    "churn_other_draw": Measure("Churn, other draw", *PERCENT),
    "churn_impl_share": Measure("IMPL's share of churn", *PERCENT),
    "cross_entropy_mean": Measure("Cross-entropy"),
    "cross_entropy_sd": Measure("SD of cross-entropy"),
    "cka": Measure("CKA of logits"),
    "correlation_pearson": Measure("Correlation of logits (Pearson)"),
    "ensemble_accuracy_change": Measure("Accuracy gain of an ensemble of two", *POINTS),
    "accuracy_sd_independent_null": Measure("SD if examples erred independently", *POINTS),
}
# Those in the table before anybody chooses columns.
USUAL = ("accuracy_mean", "accuracy_sd", "churn", "l2_unit")
# Those of single runs, which are shown as dots.
RUN = {
    "accuracy": Measure("Accuracy", *PERCENT),
    "cross_entropy": Measure("Cross-entropy"),
    "churn": Measure("Mean churn against other runs", *PERCENT),
}
