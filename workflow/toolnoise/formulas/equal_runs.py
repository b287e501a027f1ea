"""Are runs equal bit by bit? Only then may an interval have no width.

Bit-equal runs show what a deterministic training does, and another run would be equal, too. Runs that differ anywhere
may agree in one measure by luck: they are all right on a class, or equally often wrong.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from toolnoise.formulas import Row
from toolnoise.stats.estimates import Estimate


class PerRun(Protocol):
    """An array of each run, [S, ...], which need not all be in memory."""

    shape: tuple[int, ...]

    def __len__(self) -> int: ...

    def __getitem__(self, runs: Any, /) -> Any: ...


def bit_equal(runs: PerRun | Sequence[np.ndarray]) -> bool:
    """Whether all runs have the same bits, from one array per run, [S, ...]."""
    return all(np.array_equal(_bits(runs[place]), _bits(runs[0])) for place in range(1, len(runs)))


def rate_step(examples: int, equal: bool) -> float:
    """The `step` (see stats/estimates.py) of a rate over so many examples, for runs that are bit-equal or not."""
    if equal:
        return 0.0
    return 1 / examples if examples else np.nan


def value_step(equal: bool) -> float:
    """The `step` of a quantity without a smallest difference, such as cross-entropy."""
    return 0.0 if equal else np.nan


def with_width(rows: Iterable[Row], equal: bool) -> list[Row]:
    """Rows without any interval that has no width, unless the runs are bit-equal."""
    return [
        (metric, group, Estimate(found.value, np.nan, np.nan) if found.low == found.high and not equal else found)
        for metric, group, found in rows
    ]


def _bits(run: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(run).reshape(-1).view(np.uint8)
