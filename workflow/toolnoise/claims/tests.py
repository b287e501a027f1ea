"""The kinds of tests: each a pure function from a contrast to a finding.

A finding has the one-sided p-values for the claim and against it, and the distance that more runs would have to
resolve, on the scale of logarithms.
"""

from typing import NamedTuple

import numpy as np

from toolnoise.stats.contrasts import Contrast


class Finding(NamedTuple):
    """The one-sided p-values for a claim and against it, and how far the effect is from where the verdict changes."""

    supports: float
    refutes: float
    distance: float

    @property
    def pvalues(self) -> tuple[float, float]:
        """Both as two-sided p-values: for the claim, and against it."""
        return min(1.0, 2 * self.supports), min(1.0, 2 * self.refutes)


def above(found: Contrast, bound: float) -> Finding:
    """The effect is above a bound."""
    return Finding(found.above(bound), found.below(bound), abs(found.value - bound))


def below(found: Contrast, bound: float) -> Finding:
    """The effect is below a bound."""
    return Finding(found.below(bound), found.above(bound), abs(found.value - bound))


def equal(found: Contrast, margin: float) -> Finding:
    """The effect is within a margin to both sides: two one-sided tests; outside is either side."""
    inside = float(np.maximum(found.below(margin), found.above(-margin)))
    outside = float(np.minimum(found.above(margin), found.below(-margin)))
    return Finding(inside, outside, abs(margin - abs(found.value)))


def different(found: Contrast, margin: float) -> Finding:
    """The effect is not zero; it is refuted by an effect within a margin."""
    apart = min(1.0, 2 * min(found.above(0), found.below(0)))
    # Either direction counts, so this p-value is two-sided already.
    return Finding(apart / 2, equal(found, margin).supports, abs(found.value))


def every(findings: list[Finding]) -> tuple[Finding, int]:
    """Each part must agree: the weakest decides for the claim, the worst against it; with the place of the former."""
    place = int(np.argmax([one.supports for one in findings]))
    refutes = min(1.0, len(findings) * min(one.refutes for one in findings))
    return findings[place]._replace(refutes=refutes), place


def some(findings: list[Finding]) -> tuple[Finding, int]:
    """One part must agree: the strongest decides for the claim, the best against it; with the place of the former."""
    place = int(np.argmin([one.supports for one in findings]))
    supports = min(1.0, len(findings) * findings[place].supports)
    return Finding(supports, max(one.refutes for one in findings), findings[place].distance), place
