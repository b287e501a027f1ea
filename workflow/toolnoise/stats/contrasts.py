"""Ratios and trends of quantities measured on arms of runs, tested on the logarithm.

A quantity of noise is an SD, a churn or a mean of the runs of an arm. The arm records how far each independent unit
(`stats.draws`) moves its logarithm: the sum of the squares is the logarithm's variance. A contrast is a weighted sum of
logarithms of arms. Weights 1 and -1 give a ratio, the weights of a regression give a trend, and a mean over tasks is a
contrast, too. One error and one test serve them all.

A unit that several arms share moves all of them at once, so such arms are paired. An arm that was only published has
the error of its logarithm. Student's t has one degree of freedom fewer than the arm with the fewest units: with more,
as in Welch's test, it is too liberal at small levels if one arm has four draws (bench/error_rates.py).

A ratio of two SDs has this test, too, whether runs are paired or not: the exact tests for normal runs, F and
Pitman-Morgan, reject far too often if runs have heavy tails (bench/error_rates.py). F is used only if nothing but SDs
and numbers of runs is known, as for published numbers. An uninformative interval is left out.
"""

from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import scipy

from toolnoise.stats.estimates import TAIL, UNDEFINED, WIDEST, Estimate, standard_deviation
from toolnoise.stats.jackknife import sd_without_each

NOBODY: Mapping[Hashable, float] = MappingProxyType({})
SD, MEAN, PAIRS = "sd", "mean", "pairs"  # statistics of a draw's runs; for PAIRS, a run has its mean over its pairs
FEWEST = 3  # units that show the variance of a quantity


class Arm(NamedTuple):
    """A positive quantity of some units, with how far each unit `moves` its logarithm, or with the logarithm's `error`.

    `squares` are the degrees of freedom of an SD. An arm is `measured` if its single runs are known, and `fixed` if it
    holds for one draw only of the sources that its runs share.
    """

    value: float
    units: int
    moves: Mapping[Hashable, float] = NOBODY
    error: float = np.nan
    freedom: float = np.inf
    squares: int = 0
    measured: bool = False
    fixed: bool = False

    @property
    def alone(self) -> "Arm":
        """The value without any error: it holds for these runs and no others."""
        return Arm(self.value, self.units, fixed=self.fixed)


def normal_sd(value: float, runs: int) -> Arm:
    """An SD of normal runs, with the standard error of its logarithm."""
    if runs < 2:
        return Arm(value, runs)
    error = np.sqrt(scipy.special.polygamma(1, (runs - 1) / 2)) / 2  # of the logarithm of a chi
    return Arm(value, runs, error=float(error), squares=runs - 1)


def of_runs(values: np.ndarray, units: Sequence[Hashable], statistic: str) -> Arm:
    """A statistic of runs, [S], whose units are given.

    If units have several runs, the statistic is computed within each unit and averaged over units, as in
    metrics/stability.csv. For an SD the variances are averaged.
    """
    members: dict[Hashable, list[float]] = {}
    for unit, value in zip(units, values.tolist(), strict=True):
        members.setdefault(unit, []).append(value)
    if max(map(len, members.values()), default=1) > 1:
        arm = _over_units({unit: np.array(in_unit) for unit, in_unit in members.items()}, statistic)
        return arm._replace(measured=True)
    if statistic == SD:
        arm = normal_sd(float(standard_deviation(values)), len(values))
    else:
        arm = Arm(float(np.mean(values)) if len(values) else np.nan, len(values))
    arm = arm._replace(measured=True)
    if len(values) < FEWEST:
        return arm
    if statistic == SD:
        arm = arm._replace(freedom=len(values) - 1)
    return arm._replace(moves=dict(zip(units, _moves(values, arm.value, statistic), strict=False)))


def _over_units(members: Mapping[Hashable, np.ndarray], statistic: str) -> Arm:
    if statistic == SD:
        each = {unit: float(standard_deviation(in_unit)) ** 2 for unit, in_unit in members.items() if len(in_unit) > 1}
    else:
        each = {unit: float(np.mean(in_unit)) for unit, in_unit in members.items()}
    by_unit = np.array(list(each.values()))
    mean, power = float(by_unit.mean()), 0.5 if statistic == SD else 1.0
    arm = normal_sd(mean**power, len(by_unit)) if statistic == SD else Arm(mean, len(by_unit))
    if len(by_unit) < FEWEST or not mean > 0:
        return arm
    # The jackknife of the logarithm of a mean, to first order: a single unit may be 0.
    moves = power * (by_unit - mean) / (mean * np.sqrt(len(by_unit) * (len(by_unit) - 1)))
    return arm._replace(moves=dict(zip(each, moves.tolist(), strict=True)))


def _moves(values: np.ndarray, whole: float, statistic: str) -> list[float]:
    """How far each run moves the logarithm; empty if that is unknown, as for an SD that comes from one run alone."""
    count = len(values)
    if not whole > 0:
        return []
    if statistic == MEAN:
        return ((values - whole) / (whole * np.sqrt(count * (count - 1)))).tolist()
    # The mean over pairs without a run, from the runs' means over their pairs.
    without = sd_without_each(values) if statistic == SD else (count * whole - 2 * values) / (count - 2)
    if (without > 0).all():
        return _jackknife(np.log(without)).tolist()
    return [] if statistic == SD else (_jackknife(without) / whole).tolist()


def _jackknife(without: np.ndarray) -> np.ndarray:
    """How far each unit moves a quantity, from its values `without` each: without a unit that raises it, it falls."""
    return np.sqrt((len(without) - 1) / len(without)) * (without.mean() - without)


class Contrast(NamedTuple):
    """A weighted sum of logarithms with its standard error.

    `units` has the smallest number of units among the arms with a positive weight, and among those with a negative one;
    a single number if both are equal. `of_sds` marks the ratio of two SDs, and `known` has the degrees of freedom of F
    if only the SDs and their numbers of runs are known.
    """

    value: float
    error: float
    freedom: float
    units: tuple[int, ...]
    fixed: bool = False
    of_sds: bool = False
    known: tuple[int, int] | None = None

    def above(self, bound: float) -> float:
        """The one-sided p-value for a true value above a bound."""
        if self.known:
            return float(scipy.stats.f.sf(np.exp(2 * (self.value - bound)), *self.known))
        return self._tail(self.value - bound)

    def below(self, bound: float) -> float:
        """The one-sided p-value for a true value below a bound."""
        if self.known:
            return float(scipy.stats.f.cdf(np.exp(2 * (self.value - bound)), *self.known))
        return self._tail(bound - self.value)

    def _tail(self, distance: float) -> float:
        if self.error == 0:
            return float(distance <= 0)
        return float(scipy.stats.t.sf(distance / self.error, self.freedom))

    @property
    def estimate(self) -> Estimate:
        """The value with its 95 % interval."""
        return self.interval(TAIL)

    def interval(self, tail: float) -> Estimate:
        """The value with the interval beyond whose ends a one-sided p-value is below `tail`."""
        if self.known:
            low, high = self.value - np.log(scipy.stats.f.ppf([1 - tail, tail], *self.known)) / 2
        else:
            half = scipy.stats.t.ppf(1 - tail, self.freedom) * self.error
            low, high = self.value - half, self.value + half
        if self.of_sds and not high - low <= np.log(WIDEST):
            return Estimate(self.value)
        return Estimate(self.value, float(low), float(high))


UNDECIDED = Contrast(*UNDEFINED, ())


def contrast(terms: Sequence[tuple[float, Arm]]) -> Contrast:
    """The weighted sum of the logarithms of some arms; undefined if one is not positive."""
    weights, arms = np.array([weight for weight, _ in terms]), [arm for _, arm in terms]
    values = np.array([arm.value for arm in arms])
    sides = ([arm.units for weight, arm in terms if weight * sign > 0] for sign in (1, -1))
    units, fixed = tuple(dict.fromkeys(min(side) for side in sides if side)), any(arm.fixed for arm in arms)
    if not (values > 0).all():
        return UNDECIDED._replace(units=units, fixed=fixed)
    whole = float(weights @ np.log(values))
    both = len(terms) == 2 and tuple(weights) == (1, -1) and all(arm.squares for arm in arms) and arms[0] is not arms[1]
    of_sds = both and all(arm.error != 0 for arm in arms)
    if both and not all(arm.measured for arm in arms):
        error, degrees = float(np.hypot(*(arm.error for arm in arms))), (arms[0].squares, arms[1].squares)
        return Contrast(whole, error, np.inf, units, fixed, of_sds, degrees)
    if both and not all(arm.moves for arm in arms):
        return UNDECIDED._replace(value=whole, units=units, fixed=fixed)
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
    return Contrast(whole, float(np.sqrt(variance)), float(freedom), units, fixed, of_sds)


def ratio_of_estimates(numerator: Arm, denominator: Arm) -> Estimate:
    """One quantity over another with its interval; undefined if the other is zero."""
    if not denominator.value > 0 or np.isnan(numerator.value):
        return UNDEFINED
    if numerator.value == 0:
        return Estimate(0.0)
    with np.errstate(over="ignore"):  # an interval too wide for a float ends at infinity, which is true
        low, high = np.exp(contrast([(1, numerator), (-1, denominator)]).estimate[1:])
    return Estimate(numerator.value / denominator.value, float(low), float(high))
