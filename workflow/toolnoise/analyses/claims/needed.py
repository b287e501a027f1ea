"""About how many independent units per arm would decide a claim, with 80 % power if the effect is as observed."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from scipy import special

from toolnoise.analyses.claims.tests import Finding
from toolnoise.stats.contrasts import Contrast
from toolnoise.stats.power import runs_needed

# An observed effect is uncertain, and so is the number that follows from it.
STEPS = (10, 20, 50, 100, 200, 500, 1000)
MANY = 1e6  # degrees of freedom of a t distribution that is normal


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
    if not _have_errors(several):
        return math.nan
    needed = runs_needed(lambda units: power(several, units, level, all_of_them=all_of_them))
    present = max(_present(tested) for tested in several)
    return math.inf if needed is None else max(needed, math.floor(present) + 1)


def power(several: Sequence[TestedContrast], units: int, level: float, *, all_of_them: bool) -> float:
    """The power to decide all of several contrasts with so many units per arm, or the best of them; NaN if unknown."""
    if not _have_errors(several):
        return math.nan
    if all_of_them:
        return math.prod(_power(tested, units, level) for tested in several)
    return max(_power(tested, units, level / len(several)) for tested in several)


def _have_errors(several: Sequence[TestedContrast]) -> bool:
    return bool(several) and all(min(each.units, default=0) > 1 and each.contrast.error > 0 for each in several)


def _power(tested: TestedContrast, units: int, level: float) -> float:
    """The power with so many units in every arm; the standard error shrinks with their root, that of few SDs faster."""
    before, after = _present(tested) - 1, units - 1
    more = special.polygamma(1, before / 2) / special.polygamma(1, after / 2) if tested.sds else after / before
    freedom = min(tested.contrast.freedom * after / before, MANY)
    threshold = special.stdtrit(freedom, 1 - level / 2)
    missed = sum(
        1 - special.stdtr(freedom, distance / tested.contrast.error * more**0.5 - threshold)
        for distance in tested.finding.distances
    )
    return max(0.0, float(1 - missed))


def _present(tested: TestedContrast) -> float:
    """The units of equal arms that would have the error of these: the harmonic mean."""
    return len(tested.units) / sum(1 / units for units in tested.units)
