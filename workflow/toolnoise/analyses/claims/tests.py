"""The kinds of tests: each a pure function from a contrast to a finding.

A finding has the one-sided p-values for the claim and against it, on which side of the claim the effect is, and the
distances that more runs would have to resolve for a verdict on that side. Distances are on the contrast's own scale.
"""

from typing import NamedTuple

import numpy as np

from toolnoise.stats.contrasts import Contrast


class Finding(NamedTuple):
    """The one-sided p-values for a claim and against it; each of `distances` must be resolved for a verdict."""

    supports: float
    refutes: float
    agrees: bool
    distances: tuple[float, ...] = ()

    @property
    def pvalues(self) -> tuple[float, float]:
        """Both as two-sided p-values: for the claim, and against it."""
        return min(1.0, 2 * self.supports), min(1.0, 2 * self.refutes)


def above(effect: Contrast, bound: float) -> Finding:
    """The effect is above a bound."""
    return Finding(effect.above(bound), effect.below(bound), effect.value > bound, (abs(effect.value - bound),))


def below(effect: Contrast, bound: float) -> Finding:
    """The effect is below a bound."""
    return Finding(effect.below(bound), effect.above(bound), effect.value < bound, (abs(effect.value - bound),))


def equal(effect: Contrast, margin: float) -> Finding:
    """The effect is within a margin to both sides: two one-sided tests; outside is either side."""
    inside = float(np.maximum(effect.below(margin), effect.above(-margin)))
    outside = float(np.minimum(effect.above(margin), effect.below(-margin)))
    agrees, size = abs(effect.value) < margin, abs(effect.value)
    return Finding(inside, outside, agrees, (margin - size, margin + size) if agrees else (size - margin,))


def different(effect: Contrast, margin: float) -> Finding:
    """The effect is not zero; it is refuted by an effect within a margin."""
    apart = min(1.0, 2 * min(effect.above(0), effect.below(0)))
    within = equal(effect, margin)
    # Either direction counts, so the p-value for it is two-sided already.
    agrees = apart / 2 < within.supports
    return Finding(apart / 2, within.supports, agrees, (abs(effect.value),) if agrees else within.distances)


class Combined(NamedTuple):
    """The finding of several parts, the place of the part that decides, and of how many it is the best."""

    finding: Finding
    place: int
    looks: int


def every(findings: list[Finding]) -> Combined:
    """Each part must agree: the weakest decides for the claim, and the worst against it, as one of several."""
    weakest = int(np.argmax([part.supports for part in findings]))
    worst = int(np.argmin([part.refutes for part in findings]))
    refutes = min(1.0, len(findings) * findings[worst].refutes)
    agrees = all(part.agrees for part in findings)
    for_it = findings[weakest].supports < refutes
    return Combined(
        Finding(findings[weakest].supports, refutes, agrees),
        weakest if for_it else worst,
        1 if for_it else len(findings),
    )


def some(findings: list[Finding]) -> Combined:
    """One part must agree: the best decides for the claim, as one of several, and the most doubtful against it."""
    against = every([part._replace(supports=part.refutes, refutes=part.supports) for part in findings])
    finding = against.finding
    agrees = any(part.agrees for part in findings)
    return against._replace(finding=Finding(finding.refutes, finding.supports, agrees))
