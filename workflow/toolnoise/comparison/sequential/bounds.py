"""The p-value that decides at each look of a sequential comparison, and the power that follows.

The error level is spent over the looks (Lan and DeMets 1983): of the studies without a difference, the share that has
stopped by the fraction t of the runs is `spent(t)`. The test is Student's, and the SD comes from few runs: the bounds
of a normal test let through up to 6.3 % of such studies (bench/sequential.py). The path of t over the looks does not
depend on the SD, so its distribution is simulated. At each look, as many studies stop as the level may be spent, those
with the largest |t|. What a look spends too much or too little in the simulation is made up for at the next one. The
seed is fixed, so a plan always has the same bounds, and further looks leave those of earlier looks unchanged.

The bounds are those of one arm, or of pairs. Welch's test of two arms with n runs each has between n - 1 and 2n - 2
degrees of freedom. It has the fewest if one arm has all the noise, and t is that of one arm then. So the bounds hold
for it, too, and are a little strict where both SDs are equal.
"""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from scipy import stats

from toolnoise.stats.two_means import SMALL_ARMS

STUDIES = 400_000  # the type I error is known to 0.03 points
FEWEST_STOPPED = 100  # of them: a look that may spend less leaves it to the next
POWER_STUDIES = 20_000  # power is known to 0.3 points
FUTILE = 0.1  # conditional power below which a plan with futility stops
FUTILE_FROM = 0.5  # of the runs: before, an SD of few runs would stop studies that go on to find their gain


def obrien_fleming(fraction: float, level: float) -> float:
    """What is spent by a fraction if little is spent early, nearly as O'Brien and Fleming (1979); level one-sided."""
    return float(2 * stats.norm.sf(stats.norm.isf(level / 2) / np.sqrt(fraction)))


def pocock(fraction: float, level: float) -> float:
    """What is spent by a fraction if the bounds are nearly equal, as Pocock's (1977)."""
    return float(level * np.log1p((np.e - 1) * fraction))


SPENDING: dict[str, Callable[[float, float], float]] = {"obrien-fleming": obrien_fleming, "pocock": pocock}


def decisive(runs: Sequence[int], most: int, level: float, spending: str) -> list[float]:
    """The two-sided p-value that decides at looks with these runs of each arm, of `most` in the plan; 0: none does."""
    return list(_decisive(tuple(runs), most, level, spending))


@cache
def _decisive(runs: tuple[int, ...], most: int, level: float, spending: str) -> tuple[float, ...]:
    arm, going, found = _Arms(_rng(0), STUDIES, 0.0), np.ones(STUDIES, bool), []
    for count in runs:
        arm.train_to(count)
        statistic = np.abs(arm.mean) / np.sqrt(arm.variance / count)
        stopping = round(STUDIES * 2 * SPENDING[spending](count / most, level / 2)) - int((~going).sum())
        if stopping < FEWEST_STOPPED:
            found.append(0.0)
            continue
        critical = np.partition(statistic[going], -stopping)[-stopping]
        found.append(float(2 * stats.t.sf(critical, count - 1)))
        going &= statistic < critical
    return tuple(found)


def power(
    runs: Sequence[int], effect: float, *, paired: bool, level: float, spending: str, futility: bool = False
) -> float:
    """The share of studies that find a gain of so many SDs (of the pairs' differences, if paired), simulated."""
    b, a = _Arms(_rng(1), POWER_STUDIES, effect), _Arms(_rng(2), POWER_STUDIES, 0.0)
    decides = decisive(runs, runs[-1], level, spending)
    going, finds = np.ones(POWER_STUDIES, bool), np.zeros(POWER_STUDIES, bool)
    for count, at in zip(runs, decides, strict=True):
        b.train_to(count)
        a.train_to(count)
        if paired:
            difference, error, freedom = b.mean, np.sqrt(b.variance / count), count - 1
        else:
            difference, error = b.mean - a.mean, np.sqrt((a.variance + b.variance) / count)
            freedom = (count - 1) * (a.variance + b.variance) ** 2 / (a.variance**2 + b.variance**2)
            freedom = np.minimum(freedom, SMALL_ARMS[2]) if count == 2 else freedom
        if at:
            stopping = np.abs(difference / error) >= stats.t.isf(at / 2, freedom)
            finds |= going & stopping & (difference > 0)
            going &= ~stopping
        if futility and is_late(count / runs[-1]):
            chance = conditional_power(difference / error, count / runs[-1], effect / error, decides[-1])
            going &= chance >= FUTILE
    return float(finds.mean())


def is_late(fraction: float) -> bool:
    """Whether a look at this fraction may stop a study for futility."""
    return FUTILE_FROM <= fraction < 1


def conditional_power(
    statistic: float | np.ndarray, fraction: float | np.ndarray, gain: float | np.ndarray, last: float
) -> float | np.ndarray:
    """The chance to decide at the end, with the p-value `last`, in either direction, if the planned gain is true.

    `gain` is in standard errors of this look. Only a study that goes on is asked, so the larger side is enough.
    """
    score, drift = np.abs(statistic) * np.sqrt(fraction), gain / np.sqrt(fraction)
    bound = stats.norm.isf(last / 2)
    return stats.norm.cdf((score + drift * (1 - fraction) - bound) / np.sqrt(1 - fraction))


class _Arms:
    """An arm of each study, with SD 1: the mean and the variance of its runs so far."""

    def __init__(self, rng: np.random.Generator, studies: int, true: float) -> None:
        self.rng, self.true, self.runs = rng, true, 0
        self.mean, self.squares = np.zeros(studies), np.zeros(studies)

    def train_to(self, runs: int) -> None:
        """Add runs: the mean and the squares of the new ones, joined with those before."""
        new = runs - self.runs
        mean = self.true + self.rng.standard_normal(len(self.mean)) / np.sqrt(new)
        squares = self.rng.chisquare(new - 1, len(mean)) if new > 1 else 0.0
        apart = mean - self.mean
        self.squares += squares + apart**2 * self.runs * new / runs
        self.mean += apart * new / runs
        self.runs = runs

    @property
    def variance(self) -> np.ndarray:
        return self.squares / (self.runs - 1)


def _rng(stream: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(stream))
