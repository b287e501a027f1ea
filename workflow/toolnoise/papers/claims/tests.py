"""The kinds of tests, each a pure function from a contrast to a finding; and how many units would decide a claim.

A finding has the one-sided p-values for the claim and against it, on which side of the claim the effect is, and the
distances that more runs would have to resolve for a verdict on that side. Distances are on the contrast's own scale.
Units are the independent ones of each arm; they decide with 80 % power if the effect is as observed.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy

from toolnoise.stats.contrasts import Contrast
from toolnoise.stats.power import runs_needed

# An observed effect is uncertain, and so is the number that follows from it.
STEPS = (10, 20, 50, 100, 200, 500, 1000)
MANY = 1e6  # degrees of freedom of a t distribution that is normal


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


class TestedContrast(NamedTuple):
    """A contrast with its finding, the units of each arm, and whether all arms are SDs."""

    contrast: Contrast
    finding: Finding
    units: tuple[int, ...]
    sds: bool


def rounded(units: float) -> float:
    """A number of units as precise as it deserves: the next of a few steps, infinite above 1000."""
    return next((float(step) for step in STEPS if units <= step), math.inf)


def units_needed(several: Sequence[TestedContrast], level: float, *, all_of_them: bool) -> float:
    """The units per arm at which all of several contrasts are decided, or the best of them; NaN if that is unknown.

    `level` is two-sided. Of a best one, it is divided among all.
    """
    if not several or any(min(each.units, default=0) < 2 or not each.contrast.error > 0 for each in several):
        return math.nan

    def power(units: int) -> float:
        if all_of_them:
            return math.prod(_power(tested, units, level) for tested in several)
        return max(_power(tested, units, level / len(several)) for tested in several)

    needed = runs_needed(power)
    present = max(_present(tested) for tested in several)
    return math.inf if needed is None else max(needed, math.floor(present) + 1)


def _power(tested: TestedContrast, units: int, level: float) -> float:
    """The power with so many units in every arm; the standard error shrinks with their root, that of few SDs faster."""
    before, after = _present(tested) - 1, units - 1
    more = (
        scipy.special.polygamma(1, before / 2) / scipy.special.polygamma(1, after / 2) if tested.sds else after / before
    )
    freedom = min(tested.contrast.freedom * after / before, MANY)
    threshold = scipy.special.stdtrit(freedom, 1 - level / 2)
    missed = sum(
        1 - scipy.special.stdtr(freedom, distance / tested.contrast.error * more**0.5 - threshold)
        for distance in tested.finding.distances
    )
    return max(0.0, float(1 - missed))


def _present(tested: TestedContrast) -> float:
    """The units of equal arms that would have the error of these: the harmonic mean."""
    return len(tested.units) / sum(1 / units for units in tested.units)
