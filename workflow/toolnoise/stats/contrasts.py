"""Ratios and trends of quantities measured on arms of runs, tested on the logarithm.

A contrast is a weighted sum of logarithms of arms (`stats.quantities`). Weights 1 and -1 give a ratio, the weights of a
regression give a trend, and a mean over tasks is a contrast, too. So one error and one test serve them all, and a ratio
has the same interval wherever it is shown.

A unit that several arms share moves all of them at once, so such arms are paired. An arm that was only published has
the error of its logarithm. Student's t has one degree of freedom fewer than the arm with the fewest units: more of
them, as in Welch's test, are too liberal at small levels where one arm is four draws (bench/contrasts.py).

A ratio of two SDs has a test that is exact for normal runs: Pitman's and Morgan's if both arms have the same units with
one run each, and F otherwise. F rejects too seldom where some runs are paired, or where several runs of each draw are
about equally noisy. The jackknife is too liberal for the smallest of many p-values of few runs.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

from toolnoise.stats.estimates import TAIL, UNDEFINED, Estimate, standard_deviation
from toolnoise.stats.quantities import Arm


class PairedRatio(NamedTuple):
    """The logarithm of the second of two SDs of paired runs over the first, on the scale `sinh`.

    Run u of both arms has the same draw, so their values are correlated. For normal runs with correlation r,
    sinh(log(ratio of SDs / true ratio)) * sqrt((n - 2) / (1 - r^2)) has Student's distribution with n - 2 degrees of
    freedom: Pitman's and Morgan's test (1939), and the interval that it inverts. The F test takes the arms for
    independent: it rejects far too seldom where r is large.
    """

    logarithm: float
    scale: float
    freedom: int

    def above(self, bound: float) -> float:
        """The one-sided p-value for a true logarithm above a bound."""
        return float(stats.t.sf(np.sinh(self.logarithm - bound) / self.scale, self.freedom))

    def below(self, bound: float) -> float:
        """The one-sided p-value for a true logarithm below a bound."""
        return float(stats.t.cdf(np.sinh(self.logarithm - bound) / self.scale, self.freedom))

    @property
    def estimate(self) -> Estimate:
        """The logarithm with its interval."""
        half = float(np.arcsinh(stats.t.ppf(1 - TAIL, self.freedom) * self.scale))
        return Estimate(self.logarithm, self.logarithm - half, self.logarithm + half)


def paired_sd_ratio(a: np.ndarray, b: np.ndarray) -> PairedRatio | None:
    """SD of `b` over SD of `a` of paired runs; None where an SD is 0, of fewer than three pairs, or where |r| is 1."""
    if len(a) < 3:
        return None
    sd_a, sd_b = float(standard_deviation(a)), float(standard_deviation(b))
    if not (sd_a > 0 and sd_b > 0):
        return None
    correlation = float(np.mean((a - a.mean()) * (b - b.mean())) * len(a) / (len(a) - 1) / (sd_a * sd_b))
    if not abs(correlation) < 1 - 1e-12:
        return None
    scale = float(np.sqrt((1 - correlation**2) / (len(a) - 2)))
    return PairedRatio(float(np.log(sd_b / sd_a)), scale, len(a) - 2)


class Contrast(NamedTuple):
    """A weighted sum of logarithms with its standard error.

    `units` are the numbers of units on each side: of the arms with a positive weight, and with a negative one; the
    smallest on each side, and one number if both are equal. A ratio of two SDs has the degrees of freedom of F, or the
    test of paired runs.
    """

    value: float
    error: float
    freedom: float
    units: tuple[int, ...]
    ratio: tuple[int, int] | None = None
    paired: PairedRatio | None = None
    fixed: bool = False

    def above(self, bound: float) -> float:
        """The one-sided p-value for a true value above a bound."""
        if self.paired:
            return self.paired.above(bound)
        if self.ratio:
            return float(stats.f.sf(np.exp(2 * (self.value - bound)), *self.ratio))
        return self._tail(self.value - bound)

    def below(self, bound: float) -> float:
        """The one-sided p-value for a true value below a bound."""
        if self.paired:
            return self.paired.below(bound)
        if self.ratio:
            return float(stats.f.cdf(np.exp(2 * (self.value - bound)), *self.ratio))
        return self._tail(bound - self.value)

    def _tail(self, distance: float) -> float:
        if self.error == 0:
            return float(distance <= 0)
        return float(stats.t.sf(distance / self.error, self.freedom))

    @property
    def estimate(self) -> Estimate:
        """The value with its interval."""
        if self.paired:
            return self.paired.estimate
        if self.ratio:
            low, high = self.value - np.log(stats.f.ppf([1 - TAIL, TAIL], *self.ratio)) / 2
            return Estimate(self.value, float(low), float(high))
        half = stats.t.ppf(1 - TAIL, self.freedom) * self.error
        return Estimate(self.value, float(self.value - half), float(self.value + half))


UNDECIDED = Contrast(*UNDEFINED, ())


def contrast(terms: Sequence[tuple[float, Arm]]) -> Contrast:
    """The weighted sum of the logarithms of some arms; undefined if one is not positive."""
    weights, arms = np.array([weight for weight, _ in terms]), [arm for _, arm in terms]
    values = np.array([arm.value for arm in arms])
    units, fixed = _units(terms), any(arm.fixed for arm in arms)
    if not (values > 0).all():
        return UNDECIDED._replace(units=units, fixed=fixed)
    whole = float(weights @ np.log(values))
    if len(terms) == 2 and tuple(weights) == (1, -1) and all(arm.squares for arm in arms) and arms[0] is not arms[1]:
        numerator, denominator = arms
        if numerator.runs and numerator.runs.keys() == denominator.runs.keys():
            first, second = (np.array([arm.runs[unit] for unit in numerator.runs]) for arm in arms)
            if paired := paired_sd_ratio(second, first):
                return Contrast(whole, paired.scale, paired.freedom, units, paired=paired, fixed=fixed)
        else:
            error = float(np.hypot(numerator.error, denominator.error))
            return Contrast(whole, error, np.inf, units, (numerator.squares, denominator.squares), fixed=fixed)
    moves: dict[Hashable, float] = {}
    for weight, arm in terms:
        for unit, moved in arm.moves.items():
            moves[unit] = moves.get(unit, 0.0) + weight * moved
    variance = sum(moved**2 for moved in moves.values())
    variance += sum((weight * arm.error) ** 2 for weight, arm in terms if not arm.moves)
    if variance == 0:
        # Units that agree show no variance: by chance, or because both sides are the same runs bit by bit.
        return UNDECIDED._replace(value=whole, units=units, fixed=fixed)
    freedom = min(arm.units - 1 if arm.moves else arm.freedom for arm in arms)
    return Contrast(whole, float(np.sqrt(variance)), float(freedom), units, fixed=fixed)


def ratio(numerator: Arm, denominator: Arm) -> Estimate:
    """One quantity over another with its interval; to zero, it is undefined."""
    if not denominator.value > 0 or np.isnan(numerator.value):
        return UNDEFINED
    if numerator.value == 0:
        return Estimate(0.0)
    with np.errstate(over="ignore"):  # an interval too wide for a float ends at infinity, which is true
        low, high = np.exp(contrast([(1, numerator), (-1, denominator)]).estimate[1:])
    return Estimate(numerator.value / denominator.value, float(low), float(high))


def _units(terms: Sequence[tuple[float, Arm]]) -> tuple[int, ...]:
    sides = ([arm.units for weight, arm in terms if weight * sign > 0] for sign in (1, -1))
    smallest = [min(side) for side in sides if side]
    return tuple(dict.fromkeys(smallest))
