"""Ratios and trends of quantities measured on arms of runs, tested on the logarithm.

An arm is a positive quantity: an SD, a churn, a time. A contrast is a weighted sum of logarithms of arms. Weights 1 and
-1 give a ratio, the weights of a regression give a trend, and a mean over tasks is a contrast, too. So one error and
one test serve them all.

An arm that is measured here has its value without each independent unit, and arms that share a unit are paired: a unit
is left out of all of them at once. An arm that was only published has the error of its logarithm. A ratio of two
SDs has the F test: it is exact for independent normal runs, and rejects less often if runs are paired. The jackknife is
too liberal for the smallest of many p-values of few runs.
"""

from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from toolnoise.stats.estimates import TAIL, UNDEFINED, Estimate
from toolnoise.stats.jackknife import standard_error

NOBODY: Mapping[Hashable, float] = MappingProxyType({})


class Arm(NamedTuple):
    """A quantity of some units, with its value `without` each, or with the `error` of its logarithm.

    `squares` are the degrees of freedom of an SD. An arm is `fixed` if it holds for one draw only of what its runs
    share.
    """

    value: float
    units: int
    without: Mapping[Hashable, float] = NOBODY
    error: float = np.nan
    freedom: float = np.inf
    squares: int = 0
    fixed: bool = False


class Contrast(NamedTuple):
    """A weighted sum of logarithms with its standard error; `ratio` has the degrees of freedom of two SDs."""

    value: float
    error: float
    freedom: float
    units: int
    ratio: tuple[int, int] | None = None
    fixed: bool = False

    def above(self, bound: float) -> float:
        """The one-sided p-value for a true value above a bound."""
        if self.ratio:
            return float(stats.f.sf(np.exp(2 * (self.value - bound)), *self.ratio))
        return self._tail(self.value - bound)

    def below(self, bound: float) -> float:
        """The one-sided p-value for a true value below a bound."""
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
        if self.ratio:
            low, high = self.value - np.log(stats.f.ppf([1 - TAIL, TAIL], *self.ratio)) / 2
            return Estimate(self.value, float(low), float(high))
        half = stats.t.ppf(1 - TAIL, self.freedom) * self.error
        return Estimate(self.value, float(self.value - half), float(self.value + half))


UNDECIDED = Contrast(*UNDEFINED, 0)


def normal_sd(value: float, runs: int) -> Arm:
    """An SD of normal runs, with the standard error of its logarithm."""
    if runs < 2:
        return Arm(value, runs)
    error = np.sqrt(special.polygamma(1, (runs - 1) / 2)) / 2  # of the logarithm of a chi
    return Arm(value, runs, error=float(error), squares=runs - 1)


def together(arms: Sequence[Arm], power: int) -> Arm:
    """Several arms as one: their sum, or with `power` 2 the root of the sum of their squares."""
    if len(arms) == 1:
        return arms[0]
    values = np.array([arm.value for arm in arms])
    labels = dict.fromkeys(label for arm in arms for label in arm.without)
    without = {label: float(np.sum(_values(arms, label) ** power) ** (1 / power)) for label in labels}
    whole = float(np.sum(values**power) ** (1 / power))
    shares = values**power / whole**power if whole > 0 else values
    error = float(np.sqrt(np.sum((shares * [arm.error for arm in arms]) ** 2)))
    return Arm(
        whole,
        min(arm.units for arm in arms),
        without,
        error,
        min(arm.freedom for arm in arms),
        fixed=any(arm.fixed for arm in arms),
    )


def contrast(terms: Sequence[tuple[float, Arm]]) -> Contrast:
    """The weighted sum of the logarithms of some arms; undefined if one is not positive."""
    weights, arms = np.array([weight for weight, _ in terms]), [arm for _, arm in terms]
    values = np.array([arm.value for arm in arms])
    units, fixed = int(np.median([arm.units for arm in arms])), any(arm.fixed for arm in arms)
    if not (values > 0).all():
        return UNDECIDED._replace(units=units, fixed=fixed)
    whole = float(weights @ np.log(values))
    if len(terms) == 2 and tuple(weights) == (1, -1) and all(arm.squares for arm in arms):
        error = np.hypot(arms[0].error, arms[1].error)
        return Contrast(whole, float(error), np.inf, units, (arms[0].squares, arms[1].squares), fixed)
    squares = [
        (weight**2 * arm.error**2, arm.freedom) for weight, arm in zip(weights, arms, strict=True) if not arm.without
    ]
    squares += _jackknife(weights, arms)
    variances, freedoms = np.transpose(squares)
    total = variances.sum()
    freedom = total**2 / np.sum(variances**2 / freedoms) if total > 0 and np.isfinite(freedoms).any() else np.inf
    return Contrast(whole, float(np.sqrt(total)), float(freedom), units, fixed=fixed)


def _jackknife(weights: np.ndarray, arms: Sequence[Arm]) -> list[tuple[float, float]]:
    """The variance of the sum and its degrees of freedom, from each set of arms that share units."""
    found = []
    for members in _connected(arms):
        mine = [arms[place] for place in members]
        labels = dict.fromkeys(label for arm in mine for label in arm.without)
        values = np.array([_values(mine, label) for label in labels])
        freedom = min(len(arm.without) for arm in mine) - 1.0
        if (values > 0).all():
            sums = np.log(values) @ weights[members]
            found.append((standard_error(sums) ** 2, freedom))
        else:
            # Without one unit nothing varies. SDs have the error for normal runs; for other quantities it is unknown.
            errors = np.array([arm.error for arm in mine])
            found.append((float(np.sum((weights[members] * errors) ** 2)), freedom))
    return found


def _connected(arms: Sequence[Arm]) -> list[list[int]]:
    """The places of the arms that share units, directly or through another arm."""
    sets: list[tuple[set[Hashable], list[int]]] = []
    for place, arm in enumerate(arms):
        if arm.without:
            linked = [one for one in sets if not one[0].isdisjoint(arm.without)]
            sets = [one for one in sets if one not in linked]
            labels = set(arm.without).union(*(labels for labels, _ in linked))
            sets.append((labels, sorted([place, *(other for _, places in linked for other in places)])))
    return [places for _, places in sets]


def _values(arms: Sequence[Arm], label: Hashable) -> np.ndarray:
    """The arms without a unit; those that do not have it are as they are."""
    return np.array([arm.without.get(label, arm.value) for arm in arms])
