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


def above(found: Contrast, bound: float) -> Finding:
    """The effect is above a bound."""
    return Finding(found.above(bound), found.below(bound), found.value > bound, (abs(found.value - bound),))


def below(found: Contrast, bound: float) -> Finding:
    """The effect is below a bound."""
    return Finding(found.below(bound), found.above(bound), found.value < bound, (abs(found.value - bound),))


def equal(found: Contrast, margin: float) -> Finding:
    """The effect is within a margin to both sides: two one-sided tests; outside is either side."""
    inside = float(np.maximum(found.below(margin), found.above(-margin)))
    outside = float(np.minimum(found.above(margin), found.below(-margin)))
    agrees, size = abs(found.value) < margin, abs(found.value)
    return Finding(inside, outside, agrees, (margin - size, margin + size) if agrees else (size - margin,))


def different(found: Contrast, margin: float) -> Finding:
    """The effect is not zero; it is refuted by an effect within a margin."""
    apart = min(1.0, 2 * min(found.above(0), found.below(0)))
    within = equal(found, margin)
    # Either direction counts, so the p-value for it is two-sided already.
    agrees = apart / 2 < within.supports
    return Finding(apart / 2, within.supports, agrees, (abs(found.value),) if agrees else within.distances)


class Combined(NamedTuple):
    """The finding of several parts, the place of the part that decides, and of how many it is the best."""

    finding: Finding
    place: int
    looks: int


def every(findings: list[Finding]) -> Combined:
    """Each part must agree: the weakest decides for the claim, and the worst against it, as one of several."""
    weakest = int(np.argmax([one.supports for one in findings]))
    worst = int(np.argmin([one.refutes for one in findings]))
    refutes = min(1.0, len(findings) * findings[worst].refutes)
    agrees = all(one.agrees for one in findings)
    for_it = findings[weakest].supports < refutes
    return Combined(
        Finding(findings[weakest].supports, refutes, agrees),
        weakest if for_it else worst,
        1 if for_it else len(findings),
    )


def some(findings: list[Finding]) -> Combined:
    """One part must agree: the best decides for the claim, as one of several, and the most doubtful against it."""
    against = every([one._replace(supports=one.refutes, refutes=one.supports) for one in findings])
    finding = against.finding
    agrees = any(one.agrees for one in findings)
    return against._replace(finding=Finding(finding.refutes, finding.supports, agrees))
