"""A quantity of noise measured on the runs of an arm: an SD, a churn, a mean, and how far each unit moves it.

Contrasts add up the logarithms of quantities (`stats.contrasts`), so an arm records how far each independent unit moves
its logarithm: the sum of the squares is its variance. Arms that share a unit are paired, since both move with it. Units
come from `stats.draws`.
"""

from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import scipy

from toolnoise.stats.estimates import standard_deviation
from toolnoise.stats.spread import sd_without_each

NOBODY: Mapping[Hashable, float] = MappingProxyType({})
SD, MEAN, PAIRS = "sd", "mean", "pairs"  # what is taken of a draw's runs; a value over pairs is each run's mean of them
FEWEST = 3  # units of which the variance of a quantity can be seen


class Arm(NamedTuple):
    """A positive quantity of some units, with how far each unit `moves` its logarithm, or with the logarithm's `error`.

    `squares` are the degrees of freedom of an SD. An arm is `measured` if its single runs are known, and `fixed` if it
    holds for one draw only of what its runs share.
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
        """The value without any error: what holds for these runs and no others."""
        return Arm(self.value, self.units, fixed=self.fixed)


def normal_sd(value: float, runs: int) -> Arm:
    """An SD of normal runs, with the standard error of its logarithm."""
    if runs < 2:
        return Arm(value, runs)
    error = np.sqrt(scipy.special.polygamma(1, (runs - 1) / 2)) / 2  # of the logarithm of a chi
    return Arm(value, runs, error=float(error), squares=runs - 1)


def of_runs(values: np.ndarray, units: Sequence[Hashable], statistic: str) -> Arm:
    """A statistic of runs, [S], whose units are given.

    Where units have several runs, it is the noise among the runs of a unit, averaged over units, as in
    metrics/stability.csv: the variances of an SD.
    """
    members: dict[Hashable, list[float]] = {}
    for unit, value in zip(units, values.tolist(), strict=True):
        members.setdefault(unit, []).append(value)
    if max(map(len, members.values()), default=1) > 1:
        arm = _over_units({unit: np.array(in_unit) for unit, in_unit in members.items()}, statistic)
        return arm._replace(measured=True)
    arm = normal_sd(float(standard_deviation(values)), len(values)) if statistic == SD else _mean(values)
    arm = arm._replace(measured=True)
    if len(values) < FEWEST:
        return arm
    if statistic == SD:
        arm = arm._replace(freedom=len(values) - 1)
    return arm._replace(moves=dict(zip(units, _moves(values, arm.value, statistic), strict=False)))


def _mean(values: np.ndarray) -> Arm:
    return Arm(float(np.mean(values)) if len(values) else np.nan, len(values))


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
    """How far each run moves the logarithm; nothing where that is unknown, as for an SD that one run alone makes."""
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
    """A quantity falls without a unit that raises it."""
    return np.sqrt((len(without) - 1) / len(without)) * (without.mean() - without)
