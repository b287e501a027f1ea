"""Correlation of the logits of two runs, over all examples and classes at once.

As in Summers & Dinneen, the logits of a run form one long vector of examples x classes. They are raw: there is neither
softmax nor centring by example before. Pearson's r uses these values, Spearman's r uses their ranks, and equal values
share the mean of their ranks. A run whose logits are all equal has no correlation: its r is NaN.

Centred and scaled to length 1, two vectors have a squared distance of 2 (1 - r). Over all runs, the sum of the squared
distances from one vector follows from distances from the mean vector, so time grows with the runs, not with their
pairs. All vectors are taken relative to the first run's: equal runs then have an r of exactly 1.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from toolnoise.stats.jackknife import Pairs, some_pairs

BLOCK = 2**16  # values of all runs at a time: small enough for a CPU's cache


def pearson_distances(logits: np.ndarray) -> Pairs:
    """1 - Pearson's r of runs with logits [S, N, C]."""
    values = _flat(logits)
    return _distances(lambda runs: _centred(values[runs]), *values.shape, early=0)


def spearman_distances(logits: np.ndarray) -> Pairs:
    """1 - Spearman's r of runs with float32 logits [S, N, C].

    The ranks of a quarter of the runs are computed twice: those of all runs would take as much memory as the logits.
    """
    values = _flat(logits)
    return _distances(_Ranks(values).of, *values.shape, early=len(values) // 4)


class _Units(NamedTuple):
    """Runs as centred vectors of length 1: their values [S, P], means and inverse lengths, both [S, 1].

    The length of a run that does not vary is NaN. Without means, the mean of each run is 0.
    """

    values: np.ndarray
    means: np.ndarray | None
    scales: np.ndarray

    def less(self, vector: np.ndarray | float, block: slice, runs: slice | np.ndarray = slice(None)) -> np.ndarray:
        """Some values of some runs, minus a vector of these values."""
        some = self.values[runs, block]
        if self.means is None:
            found = some * self.scales[runs]
        else:
            found = some - self.means[runs]
            found *= self.scales[runs]
        found -= vector
        return found


def _flat(logits: np.ndarray) -> np.ndarray:
    runs, examples, classes = logits.shape
    return logits.reshape(runs, examples * classes)


def _centred(values: np.ndarray) -> _Units:
    means, squares = np.zeros((2, len(values), 1))
    # Run by run, so that equal runs have equal sums. Computed relative to the first value: the mean of equal floats can
    # have a rounding error, the mean of zeros cannot.
    for run, row in enumerate(values):
        for start in range(0, len(row), BLOCK):
            moved = np.subtract(row[start : start + BLOCK], row[0], dtype=np.float64)
            means[run] += moved.sum()
            squares[run] += np.einsum("p,p->", moved, moved)
    means /= values.shape[1]
    squares -= values.shape[1] * means**2
    means += values[:, :1]
    return _Units(values, means, _inverse_lengths(squares))


def _inverse_lengths(squares: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(np.where(squares > 0, squares, np.nan))


def _distances(rows: Callable[[slice], _Units], runs: int, count: int, early: int) -> Pairs:
    """Half the squared distances between the vectors of runs, each with `count` values, that `rows` makes.

    It makes the first `early` runs, then all others, then each of the first again, to need less memory.
    """
    first, second = some_pairs(runs)
    some, squares = np.zeros(len(first)), np.zeros(runs)
    if runs < 2:
        return Pairs(squares, some)
    blocks, mean, ones = _blocks(count, runs), np.zeros(count), np.ones(runs)
    origin = rows(slice(0, 1)).less(0, slice(None))[0]

    def visit(part: slice) -> _Units:
        held = rows(part)
        inside = (first >= part.start) & (second < part.stop)
        one, other = first[inside] - part.start, second[inside] - part.start
        for block in blocks:
            moved = held.less(origin[block], block)
            mean[block] += ones[: len(moved)] @ moved
            apart = moved[one]
            apart -= moved[other]
            some[inside] += _squares(apart)
        return held

    visit(slice(0, early))
    held = visit(slice(early, runs))
    mean /= runs
    mean += origin
    for block in blocks:
        squares[early:] += _squares(held.less(mean[block], block))
    for run in range(early):
        alone = rows(slice(run, run + 1))
        across = (first == run) & (second >= early)
        for block in _blocks(count, 1 + np.count_nonzero(across)):
            squares[run] += _squares(alone.less(mean[block], block))[0]
            some[across] += _squares(held.less(alone.less(0, block), block, second[across] - early))
    # r is never below -1, whatever the rounding.
    sums = np.minimum((runs * squares + squares.sum()) / 2, 2 * (runs - 1))
    return Pairs(sums, np.minimum(some / 2, 2))


def _blocks(count: int, runs: int) -> list[slice]:
    step = max(1, BLOCK // runs)
    return [slice(start, start + step) for start in range(0, count, step)]


def _squares(differences: np.ndarray) -> np.ndarray:
    return np.einsum("sp,sp->s", differences, differences)


class _Ranks:
    """Twice the rank of each value of a run, relative to the mean rank: an integer even for shared ranks."""

    def __init__(self, values: np.ndarray) -> None:
        assert values.dtype == np.float32, values.dtype
        self.values = values
        count = values.shape[1]
        self.plain, self.numbers = np.arange(1 - count, count, 2, dtype=np.int32), np.arange(count, dtype=np.int32)
        # Allocated once: fresh memory for every run would take as long as the sort.
        self.keys = np.empty(count, np.int64)
        self.bits = np.empty(count, np.int32)

    def of(self, runs: slice) -> _Units:
        """Some runs."""
        values, count = self.values[runs], len(self.plain)
        ranks, squares = np.empty(values.shape, np.int32), np.empty((len(values), 1))
        for place, run in enumerate(values):
            squares[place] = count * (count**2 - 1) // 3 - self._rank(run, ranks[place])
        return _Units(ranks, None, _inverse_lengths(squares))

    def _rank(self, run: np.ndarray, ranks: np.ndarray) -> int:
        # An integer in the order of the float, above its place: one sort of integers takes a third of the time of an
        # argsort. Adding 0 makes -0 equal to 0.
        np.add(run, 0, out=self.bits.view(np.float32))
        np.right_shift(self.bits, 31, out=ranks)
        ranks &= 0x7FFFFFFF
        self.bits ^= ranks
        self.keys[:] = self.bits
        self.keys <<= 32
        self.keys |= self.numbers
        self.keys.sort()
        np.right_shift(self.keys, 32, out=self.bits, casting="unsafe")
        tied = np.flatnonzero(self.bits[1:] == self.bits[:-1])
        self.keys &= 0xFFFFFFFF
        ranks[self.keys] = self.plain
        return _share(ranks, self.keys, tied)


def _share(ranks: np.ndarray, order: np.ndarray, tied: np.ndarray) -> int:
    """Give equal values the mean of their ranks and return how much smaller the sum of squares becomes.

    `tied` are the places in the `order` whose value equals the next.
    """
    # Hardly any value of a training occurs three times.
    if not (np.diff(tied) == 1).any():
        ranks[order[tied]] += 1
        ranks[order[tied + 1]] -= 1
        return 2 * len(tied)
    begins = np.flatnonzero(np.append(True, np.diff(tied) > 1))
    starts, sizes = tied[begins], np.diff(np.append(begins, len(tied))) + 1
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    ranks[order[np.repeat(starts, sizes) + within]] = np.repeat(2 * starts + sizes - len(order), sizes)
    return sum(size * (size**2 - 1) // 3 for size in sizes.tolist())
