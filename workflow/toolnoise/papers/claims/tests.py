"""The kinds of tests, each a pure function from a contrast to a finding; and how many units would decide.

A finding has the one-sided p-values for the claim and against it. Units are the independent ones of each arm.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from toolnoise.stats.contrasts import Contrast

POWER = 0.8
# An observed effect is uncertain, and so is the number that follows from it: the next of these, or more than the last.
STEPS = (10, 20, 50, 100, 200, 500, 1000)


class Finding(NamedTuple):
    """The one-sided p-values for a claim and against it."""

    supports: float
    refutes: float

    @property
    def pvalues(self) -> tuple[float, float]:
        """Both as two-sided p-values: for the claim, and against it."""
        return min(1.0, 2 * self.supports), min(1.0, 2 * self.refutes)

    @property
    def agrees(self) -> bool:
        """Whether the effect is on the claim's side."""
        return self.supports < self.refutes

    @property
    def reversed(self) -> "Finding":
        """The finding on the opposite claim."""
        return Finding(self.refutes, self.supports)


def above(effect: Contrast, bound: float) -> Finding:
    """The effect is above a bound."""
    return Finding(effect.above(bound), effect.below(bound))


def equal(effect: Contrast, margin: float) -> Finding:
    """The effect is within a margin to both sides: two one-sided tests; outside is either side."""
    inside = float(np.maximum(effect.below(margin), effect.above(-margin)))
    outside = float(np.minimum(effect.above(margin), effect.below(-margin)))
    return Finding(inside, outside)


class Combined(NamedTuple):
    """The finding of several parts, the place of the part that decides, and of how many it is the best."""

    finding: Finding
    place: int
    looks: int


def every(findings: list[Finding]) -> Combined:
    """Each part must agree: the weakest decides for the claim, and the worst against it, as one of several."""
    weakest = int(np.argmax([part.supports for part in findings]))
    worst = int(np.argmin([part.refutes for part in findings]))
    finding = Finding(findings[weakest].supports, min(1.0, len(findings) * findings[worst].refutes))
    return (
        Combined(finding, weakest, 1) if finding.supports < finding.refutes else Combined(finding, worst, len(findings))
    )


def some(findings: list[Finding]) -> Combined:
    """One part must agree: the best decides for the claim, as one of several, and the most doubtful against it."""
    against = every([part.reversed for part in findings])
    return against._replace(finding=against.finding.reversed)


def units_needed(effect: Contrast, distance: float, level: float) -> float:
    """About how many units per arm resolve a distance at a two-sided level, if the effect is as observed.

    The variance shrinks as 1 over the units, that of the logarithm of few SDs faster. NaN if it is not known.
    """
    if min(effect.units, default=0) < 2 or not effect.error > 0:
        return math.nan
    # Of equal arms that would have the error of these: the harmonic mean.
    present = len(effect.units) / sum(1 / units for units in effect.units)
    threshold = special.ndtri(1 - level / 2) + special.ndtri(POWER)

    def variance(units: float) -> float:
        return special.polygamma(1, (units - 1) / 2) if effect.of_sds else 1 / units

    resolved = (distance / threshold / effect.error) ** 2 * variance(present)
    return next((float(step) for step in STEPS if step > present and variance(step) <= resolved), math.inf)
