"""The last checkpoints of a run at one learning rate: how far they lie apart, and whether they still change.

Under a rate that falls at every step, late checkpoints become equal, whatever seeds do. So only checkpoints at a rate
that stays are taken, and the rate is stated as a share of the largest, because the spread falls with it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

FEWEST, MOST = 4, 8  # checkpoints: with fewer there is no spread, earlier ones may be those of another network
TREND_LEVEL = 0.05


class Tail(NamedTuple):
    """The spread of the last checkpoints, their number, and their rate as a share of the largest."""

    spread: float
    checkpoints: int
    rate: float


class Cannot(Exception):  # noqa: N818 (an answer, not an error)
    """Why late checkpoints say nothing here."""


def tail(values: Sequence[float], rates: Sequence[float]) -> Tail:
    """The tail of a run, from each checkpoint's metric and learning rate, as a share of the largest."""
    values, rates = np.asarray(values, float), np.asarray(rates, float)
    count = staying(rates)
    if count < FEWEST:
        raise Cannot(f"{count} of the last checkpoints have one learning rate; it takes {FEWEST} or more")
    last = values[-min(count, MOST) :]
    spread = of_checkpoints(last)
    if not spread > 0:
        raise Cannot(f"the last {len(last)} checkpoints are equal")
    if changes(last):
        raise Cannot(f"the last {len(last)} checkpoints still change: their trend has p < {TREND_LEVEL:g}")
    return Tail(spread, len(last), float(rates[-1]))


def staying(rates: np.ndarray) -> int:
    """How many of the last checkpoints have the last one's rate."""
    others = np.flatnonzero(~np.isclose(rates, rates[-1], rtol=1e-3, atol=0))
    return len(rates) - (int(others[-1]) + 1 if len(others) else 0)


def of_checkpoints(values: np.ndarray) -> float:
    """The SD of checkpoints by the differences of neighbours, which a slow trend hardly moves (von Neumann 1941)."""
    return float(np.sqrt(np.mean(np.diff(values) ** 2) / 2))


def changes(values: np.ndarray) -> bool:
    """Whether a line through the checkpoints has a slope, by Student's two-sided test."""
    line = stats.linregress(np.arange(len(values)), values)
    return bool(line.pvalue < TREND_LEVEL)
