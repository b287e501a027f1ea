"""The ratio of two positive quantities, each measured on runs of its own."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from toolnoise.stats.estimates import UNDEFINED, Estimate, standard_deviation, t_interval


def ratio_of_means(numerator: np.ndarray, denominator: np.ndarray) -> Estimate:
    """Mean over mean, with Welch's interval of the ratio's logarithm (delta method); both must be positive.

    The ratio is undefined unless both have at least one run. There is no interval if either has only one run.
    """
    counts = np.array([len(numerator), len(denominator)])
    if counts.min() == 0:
        return UNDEFINED
    ratio = float(np.mean(numerator) / np.mean(denominator))
    if counts.min() == 1:
        return Estimate(ratio, np.nan, np.nan)
    spreads = np.array([standard_deviation(runs) / np.mean(runs) for runs in (numerator, denominator)])
    return _interval(ratio, spreads**2 / counts, counts)


class Jackknifed(NamedTuple):
    """A statistic of an arm, and its value without each of the arm's units, by the number of the unit."""

    value: float
    without: Mapping[int, float]


def ratio_of_jackknifed(numerator: Jackknifed, denominator: Jackknifed) -> Estimate:
    """One statistic over another, with the jackknife interval of the ratio's logarithm.

    A unit that both arms have is left out of both: such arms are paired. Arms without a common unit are independent.
    A ratio to zero is undefined. There is no interval with fewer than three units in either arm, or where a statistic
    without some unit is zero.
    """
    if not denominator.value > 0 or np.isnan(numerator.value):
        return UNDEFINED
    ratio = numerator.value / denominator.value
    fewest = min(len(numerator.without), len(denominator.without))
    left = [*numerator.without.values(), *denominator.without.values()]
    if fewest < 3 or not (np.array([ratio, *left]) > 0).all():
        return Estimate(ratio, np.nan, np.nan)
    one, other = _moved(numerator), _moved(denominator)
    squares = [(one.get(unit, 0.0) - other.get(unit, 0.0)) ** 2 for unit in one.keys() | other.keys()]
    logarithm = t_interval(np.log(ratio), np.sqrt(sum(sorted(squares))), fewest - 1)
    return _of_logarithm(ratio, logarithm)


def _moved(arm: Jackknifed) -> dict[int, float]:
    """How far each unit moves the logarithm of an arm's statistic; the sum of squares is its jackknife variance."""
    logarithms = np.log(list(arm.without.values()))
    count = len(logarithms)
    moved = np.sqrt((count - 1) / count) * (logarithms - logarithms.mean())
    return dict(zip(arm.without, moved.tolist(), strict=True))


def _interval(ratio: float, squares: np.ndarray, counts: np.ndarray) -> Estimate:
    """A ratio with its interval, from the squared standard errors of both logarithms."""
    if not squares.any():
        return Estimate(ratio, ratio, ratio)
    freedom = squares.sum() ** 2 / np.sum(squares**2 / (counts - 1))
    return _of_logarithm(ratio, t_interval(np.log(ratio), np.sqrt(squares.sum()), freedom))


def _of_logarithm(ratio: float, logarithm: Estimate) -> Estimate:
    with np.errstate(over="ignore"):  # an interval too wide for a float ends at infinity, which is true
        return Estimate(ratio, float(np.exp(logarithm.low)), float(np.exp(logarithm.high)))
