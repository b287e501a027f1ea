"""Finds runs that are equal bit by bit, which have no intervals.

Bit-equal runs show that training is deterministic: another run would be equal, too. Runs that differ anywhere may
still agree in one measure by chance: all are right on a class, or equally often wrong.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from toolnoise.base.arrays import as_bytes
from toolnoise.formulas import Row
from toolnoise.stats.estimates import UNDEFINED, Estimate

BIT_EQUAL = "bit_equal"


class PerRun(Protocol):
    """One array per run, [S, ...]; they need not be in memory."""

    shape: tuple[int, ...]

    def __len__(self) -> int: ...

    def __getitem__(self, runs: Any, /) -> Any: ...


def bit_equal(runs: PerRun | Sequence[np.ndarray]) -> bool:
    """Whether all runs have the same bits, from one array per run, [S, ...]."""
    return all(np.array_equal(as_bytes(runs[place]), as_bytes(runs[0])) for place in range(1, len(runs)))


def equality_row(equal: bool, runs: int) -> Row:
    """The row that states whether all runs are bit-equal and so have no intervals; undefined for a single run."""
    return BIT_EQUAL, "all", Estimate(float(equal)) if runs > 1 else UNDEFINED


def digests_of_runs(runs: Iterable[np.ndarray]) -> list[str]:
    """The SHA-256 of each run's numbers: equal runs have equal digests."""
    return [hashlib.sha256(np.ascontiguousarray(run)).hexdigest() for run in runs]


def rate_step(examples: int, equal: bool) -> float:
    """The `step` (see stats/estimates.py) of a rate over this many examples; NaN for bit-equal runs."""
    return 1 / examples if examples and not equal else np.nan


def first_epochs(first: Sequence[Any], second: Sequence[Any]) -> np.ndarray:
    """The first epoch, counted from 1, after which each quantity differs between two runs; NaN if it never does.

    Both arguments hold the value of each quantity after each epoch, [E, T].
    """
    differ = np.array(first) != np.array(second)
    return np.where(differ.any(axis=0), differ.argmax(axis=0) + 1.0, np.nan)
