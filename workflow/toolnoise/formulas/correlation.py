"""Correlation of the logits of two runs, over all examples and classes at once.

As in Summers & Dinneen, the logits of a run form one long vector of examples x classes. They are raw: there is neither
softmax nor centring by example before. Pearson's r uses these values, Spearman's r uses their ranks, and equal values
share the mean of their ranks. A run whose logits are all equal has no correlation: its r is NaN.

Centred and scaled to length 1, two vectors have a squared distance of 2 (1 - r). The sum of one run's squared distances
from all runs follows from its length and its product with the mean vector, so time grows with the runs, not with their
pairs. All vectors are taken relative to the first run's: equal runs then have an r of exactly 1.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from toolnoise.stats.jackknife import FEW, Pairs, some_pairs

BLOCK = 2**15  # values of a run at a time: small enough for a CPU's cache
FINITE = np.finfo(np.float32).min, np.finfo(np.float32).max
PLACES = 2**29  # numbers that fit into a float64 below the bits of a float32


def pearson_distances(logits: np.ndarray) -> Pairs:
    """1 - Pearson's r of runs with logits [S, N, C]."""
    values = _flat(logits)
    return _distances(lambda runs: _centred(values[runs]), *values.shape, held=len(values))


def spearman_distances(logits: np.ndarray) -> Pairs:
    """1 - Spearman's r of runs with float32 logits [S, N, C].

    The ranks of all runs would take as much memory as the logits: of many runs, those of a sixth are computed twice.
    """
    values = _flat(logits)
    runs = len(values)
    return _distances(_Ranks(values).of, *values.shape, held=max(runs - runs // 6, min(runs, FEW + 1)))


class _Units(NamedTuple):
    """Runs as centred vectors of length 1: their values [S, P], means [S] and inverse lengths [S].

    The length of a run that does not vary is NaN. Without means, the mean of each run is 0.
    """

    values: np.ndarray
    means: np.ndarray | None
    scales: np.ndarray

    def unit(self, run: int, block: slice) -> np.ndarray:
        """Some values of a run's vector."""
        vector = self.values[run, block].astype(np.float64)
        if self.means is not None:
            vector -= self.means[run]
        vector *= self.scales[run]
        return vector

    def product(self, run: int, block: slice, vector: np.ndarray, total: float) -> float:
        """The sum of products of some values of a run's vector with these of another, whose sum is `total`."""
        summed = _product(self.values[run, block].astype(np.float64), vector)
        if self.means is not None:
            summed -= self.means[run] * total
        return summed * self.scales[run]


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


def _inverse_lengths(squares: np.ndarray) -> np.ndarray:
    return 1 / np.sqrt(np.where(squares > 0, squares, np.nan))


def _distances(rows: Callable[[slice], _Units], runs: int, count: int, held: int) -> Pairs:
    """Half the squared distances between the vectors of runs, each with `count` values, that `rows` makes.

    The first runs are held, those of all pairs whose own values count among them. Each of the others is made twice.
    """
    first, second = some_pairs(runs)
    of_pairs, squares, products = np.zeros(len(first)), np.zeros(runs), np.zeros(runs)
    if runs < 2:
        return Pairs(squares, of_pairs)
    blocks, mean = _blocks(count), np.zeros(count)
    kept = rows(slice(0, held))

    def parts() -> Iterator[tuple[range, _Units]]:
        """All runs, by their numbers: those that are held, then one by one."""
        yield range(held), kept
        for run in range(held, runs):
            yield range(run, run + 1), rows(slice(run, run + 1))

    for numbers, units in parts():
        for block in blocks:
            origin, total = kept.unit(0, block), mean[block]
            for place, run in enumerate(numbers):
                moved = units.unit(place, block)
                moved -= origin
                total += moved
                squares[run] += _product(moved, moved)
    mean /= runs
    for numbers, units in parts():
        for block in blocks:
            total = mean[block].sum()
            for place, run in enumerate(numbers):
                products[run] += units.product(place, block, mean[block], total)
    products -= products[0]
    for pair, (left, right) in enumerate(zip(first, second, strict=True)):
        for block in blocks:
            apart = kept.unit(left, block)
            apart -= kept.unit(right, block)
            of_pairs[pair] += _product(apart, apart)
    # Rounding aside, r is between -1 and 1.
    sums = np.clip((runs * (squares - 2 * products) + squares.sum()) / 2, 0, 2 * (runs - 1))
    return Pairs(sums, np.minimum(of_pairs / 2, 2))


def _blocks(count: int) -> list[slice]:
    return [slice(start, start + BLOCK) for start in range(0, count, BLOCK)]


def _product(left: np.ndarray, right: np.ndarray) -> float:
    # Unlike BLAS, the same bits for the same values wherever they are in memory, and on any number of threads.
    return np.einsum("p,p->", left, right)


class _Ranks:
    """Twice the rank of each value of a run, relative to the mean rank: an integer even for shared ranks."""

    def __init__(self, values: np.ndarray) -> None:
        assert values.dtype == np.float32, values.dtype
        count = values.shape[1]
        assert 2 * count <= PLACES, count
        self.values = values
        self.plain, self.places = np.arange(1 - count, count, 2, dtype=np.int32), np.arange(count)
        # Allocated once: fresh memory for every run would take as long as the sort.
        self.keys, self.ranks, self.single = np.empty(count), np.empty(count, np.int32), np.empty(count, np.float32)

    def of(self, runs: slice) -> _Units:
        """Some runs. Like a run that does not vary, one with NaN among its values has no correlation."""
        values, count = self.values[runs], len(self.plain)
        ranks, squares = np.empty(values.shape, np.int32), np.zeros(len(values))
        for place, run in enumerate(values):
            if not self._sort(run) and (np.isnan(run).any() or not self._sort(np.clip(run, *FINITE))):
                ranks[place] = 0
                continue
            lost = self._rank()
            ranks[place], squares[place] = self.ranks, count * (count**2 - 1) // 3 - lost
        return _Units(ranks, None, _inverse_lengths(squares))

    def _sort(self, run: np.ndarray) -> bool:
        """Sort keys in the order of the values; whether all of these are finite.

        A key has the bits of a value and, below them, its place in the run. One sort of such numbers takes a third of
        the time of an argsort. With a place below its bits, an infinite value is NaN, and NaN is last in the order.
        """
        self.keys[:] = run
        bits = self.keys.view(np.int64)
        bits |= self.places
        self.keys.sort()
        return bool(np.isfinite(self.keys[-1]))

    def _rank(self) -> int:
        """Rank the sorted values and return how much smaller shared ranks make the sum of squares."""
        self.single[:] = self.keys  # rounds to the value: its place is less than half of the last bit
        tied = np.flatnonzero(self.single[1:] == self.single[:-1])
        order = self.keys.view(np.int64)
        order &= PLACES - 1
        self.ranks[order] = self.plain
        return _share(self.ranks, order, tied)


def _share(ranks: np.ndarray, order: np.ndarray, tied: np.ndarray) -> int:
    """Give equal values the mean of their ranks and return how much smaller the sum of squares becomes.

    `tied` are the places in the `order` whose value equals the next.
    """
    if not len(tied):
        return 0
    gaps = tied[1:] - tied[:-1]
    if gaps.min(initial=2) > 1:  # no value occurs three times, as in most runs
        shared, lost = 2 * (tied + 1) - len(order), 2 * len(tied)
    else:
        edges = np.flatnonzero(np.concatenate(([True], gaps > 1, [True])))
        starts, sizes = tied[edges[:-1]], np.diff(edges) + 1
        shared = np.repeat(2 * starts + sizes - len(order), sizes - 1)
        lost = sum(size * (size**2 - 1) // 3 for size in sizes.tolist())
    ranks[order[tied]] = ranks[order[tied + 1]] = shared
    return lost
