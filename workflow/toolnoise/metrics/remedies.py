"""How much of the variability between runs a remedy takes away, in one number.

Summers & Dinneen report a "variability reduction" without a formula. That it is the mean, over their five measures,
of the share by which each one shrinks, correlation taken as its distance from 1, was found from their table: it gives
all eight of their values (resources/published-remedies.csv). With correlation itself in its place they come out lower.
"""

from collections.abc import Mapping

# Each is 0 where runs are equal, but for correlation, which is 1 there. Which correlation theirs is, is not published.
MEASURES = ("accuracy_sd", "cross_entropy_sd", "churn", "correlation", "ensemble_accuracy_change")


def variability_reduction(single: Mapping[str, float], remedied: Mapping[str, float]) -> float:
    """The mean relative reduction of the five measures from single runs to remedied ones: 1 takes all away."""
    return sum(1 - _distance(remedied, name) / _distance(single, name) for name in MEASURES) / len(MEASURES)


def _distance(measures: Mapping[str, float], name: str) -> float:
    return 1 - measures[name] if name == "correlation" else measures[name]
