"""Correlation of the logits of two runs, over all examples and classes at once.

As in Summers & Dinneen, the logits of a run form one long vector of examples x classes. They are raw: there is neither
softmax nor centring by example before. Pearson's r uses these values, Spearman's r uses their ranks, and equal values
share the mean of their ranks. A run whose logits are all equal has no correlation: its r is NaN.

Centred and scaled to length 1, two vectors have a squared distance of 2 (1 - r). The sum of one run's squared distances
from all runs follows from its length and its product with the mean vector, so time grows with the runs, not with their
pairs. All vectors are taken relative to the first run's: equal runs then have an r of exactly 1.
"""

from typing import NamedTuple

import numpy as np

from toolnoise.stats.jackknife import Pairs, some_pairs

BLOCK = 2**15  # values of a run at a time: small enough for a CPU's cache
FINITE = np.finfo(np.float32).min, np.finfo(np.float32).max
PLACES = 2**29  # numbers that fit into a float64 below the bits of a float32


def pearson_distances(logits: np.ndarray) -> Pairs:
    """1 - Pearson's r of runs with logits [S, N, C]."""
    return _distances(_centred(_flat(logits)))


def spearman_distances(logits: np.ndarray) -> Pairs:
    """1 - Spearman's r of runs with float32 logits [S, N, C]."""
    assert logits.dtype == np.float32, logits.dtype
    return _distances(_ranked(_flat(logits)))


class _Units(NamedTuple):
    """Runs as centred vectors of length 1: their values [S, P], means [S] and inverse lengths [S].

    The length of a run that does not vary is NaN.
    """

    values: np.ndarray
    means: np.ndarray
    scales: np.ndarray

    def unit(self, run: int, block: slice) -> np.ndarray:
        """Some values of a run's vector."""
        vector = self.values[run, block].astype(np.float64)
        vector -= self.means[run]
        vector *= self.scales[run]
        return vector

    def product(self, run: int, block: slice, vector: np.ndarray) -> float:
        """The sum of products of some values of a run's vector with these of another."""
        summed = _product(self.values[run, block].astype(np.float64), vector)
        return (summed - self.means[run] * vector.sum()) * self.scales[run]


def _flat(logits: np.ndarray) -> np.ndarray:
    runs, examples, classes = logits.shape
    return logits.reshape(runs, examples * classes)


def _centred(values: np.ndarray) -> _Units:
    means, squares = np.zeros((2, len(values)))
    # Relative to the first value: the mean of equal floats can have a rounding error, the mean of zeros cannot.
    for run, row in enumerate(values):
        for block in _blocks(len(row)):
            moved = np.subtract(row[block], row[0], dtype=np.float64)
            means[run] += moved.sum()
            squares[run] += _product(moved, moved)
    means /= values.shape[1]
    squares -= values.shape[1] * means**2
    means += values[:, 0]
    return _Units(values, means, _inverse_lengths(squares))


def _ranked(values: np.ndarray) -> _Units:
    """Twice the rank of each value, relative to the mean rank: an integer even where equal values share one.

    Like a run that does not vary, one with NaN among its values has no correlation.
    """
    runs, count = values.shape
    ranks, squares = np.zeros(values.shape, np.int32), np.zeros(runs)
    plain, places = np.arange(1 - count, count, 2, dtype=np.int32), np.arange(count)
    for run, row in enumerate(values):
        if np.isnan(row).any():
            continue
        # A key has the bits of a value and, below them, its place. Sorting such numbers is faster than argsort.
        keys = (row if np.isfinite(row).all() else np.clip(row, *FINITE)).astype(np.float64)
        bits = keys.view(np.int64)
        bits |= places
        keys.sort()
        ordered, order = keys.astype(np.float32), bits & (PLACES - 1)
        ranks[run, order] = plain
        tied = np.flatnonzero(ordered[1:] == ordered[:-1])  # places of values that equal the next
        first = np.flatnonzero(np.diff(tied, prepend=-2) > 1)
        sizes = np.diff(first, append=len(tied)) + 1
        shared = np.repeat(2 * tied[first] + sizes - count, sizes - 1)
        ranks[run, order[tied]] = ranks[run, order[tied + 1]] = shared
        squares[run] = count * (count**2 - 1) // 3 - sum(size * (size**2 - 1) // 3 for size in sizes.tolist())
    return _Units(ranks, np.zeros(runs), _inverse_lengths(squares))


def _inverse_lengths(squares: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(np.where(squares > 0, squares, np.nan))


def _distances(units: _Units) -> Pairs:
    """Half the squared distances between the vectors of runs."""
    runs, count = units.values.shape
    pairs = list(zip(*some_pairs(runs), strict=True))
    of_pairs, squares, products = np.zeros(len(pairs)), np.zeros(runs), np.zeros(runs)
    if runs < 2:
        return Pairs(squares, of_pairs)
    for block in _blocks(count):
        origin = units.unit(0, block)
        mean = np.zeros(len(origin))
        for run in range(runs):
            moved = units.unit(run, block) - origin
            mean += moved
            squares[run] += _product(moved, moved)
        mean /= runs
        for run in range(runs):
            products[run] += units.product(run, block, mean)
        for pair, (left, right) in enumerate(pairs):
            apart = units.unit(left, block) - units.unit(right, block)
            of_pairs[pair] += _product(apart, apart)
    products -= products[0]
    # Rounding aside, r is between -1 and 1.
    sums = np.clip((runs * (squares - 2 * products) + squares.sum()) / 2, 0, 2 * (runs - 1))
    return Pairs(sums, np.minimum(of_pairs / 2, 2))


def _blocks(count: int) -> list[slice]:
    return [slice(start, start + BLOCK) for start in range(0, count, BLOCK)]


def _product(left: np.ndarray, right: np.ndarray) -> float:
    # Unlike BLAS, the same bits for the same values wherever they are in memory, and on any number of threads.
    return np.einsum("p,p->", left, right)
