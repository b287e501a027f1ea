"""The similarity of two runs: correlation of their logits, and linear CKA of their logits or activations.

Correlation is over all examples and classes at once. As in Summers & Dinneen, the logits of a run form one long vector
of examples x classes. They are used raw, without softmax or centring by example. Pearson's r uses these values,
Spearman's r uses their ranks, and equal values share the mean of their ranks. A run whose logits are all equal has no
correlation: its r is NaN. Centred and scaled to length 1, two vectors have a squared distance of 2 (1 - r). The sum of
one run's squared distances from all runs follows from its length and its product with the mean vector, so time grows
with the runs, not with their pairs. The first run's vector is subtracted from all vectors, so that equal runs have an r
of exactly 1.

CKA is invariant to rotation and scaling. It is HSIC(X, Y) / sqrt(HSIC(X, X) HSIC(Y, Y)) of two matrices of the same
examples (Kornblith et al. 2019). With centred columns the linear HSIC is |X'Y|^2, summed over all entries. It is
biased upwards if examples are few for the number of columns: independent noise then has a CKA far from 0. Debiased CKA
(Song et al. 2012; Nguyen et al. 2021) uses the unbiased HSIC instead. It is near 0 for such noise, and can be negative.
Both are computed from columns, never from the examples x examples matrices that define them.
"""

from typing import NamedTuple

import numpy as np

from toolnoise.stats.jackknife import Pairs, some_pairs

VECTOR_BLOCK = 2**15  # values of a run at a time: small enough for a CPU's cache
STACK_BLOCK = 2**19  # values of all runs at a time
FINITE = np.finfo(np.float32).min, np.finfo(np.float32).max
PLACES = 2**29  # the number of indices that fit into the bits of a float64 below those of a float32


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
        """The dot product of some values of a run's vector with another vector."""
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
    """Twice the rank of each value, relative to the mean rank: an integer, even if equal values share a rank.

    A run with NaN among its values has no correlation, like a run that does not vary.
    """
    runs, count = values.shape
    ranks, squares = np.zeros(values.shape, np.int32), np.zeros(runs)
    plain, places = np.arange(1 - count, count, 2, dtype=np.int32), np.arange(count)
    for run, row in enumerate(values):
        if np.isnan(row).any():
            continue
        # A key has the bits of a value and, below them, its index. Sorting such numbers is faster than argsort.
        keys = (row if np.isfinite(row).all() else np.clip(row, *FINITE)).astype(np.float64)
        bits = keys.view(np.int64)
        bits |= places
        keys.sort()
        ordered, order = keys.astype(np.float32), bits & (PLACES - 1)
        ranks[run, order] = plain
        tied = np.flatnonzero(ordered[1:] == ordered[:-1])  # indices of values that equal the next
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
    return [slice(start, start + VECTOR_BLOCK) for start in range(0, count, VECTOR_BLOCK)]


def _product(left: np.ndarray, right: np.ndarray) -> float:
    # Unlike BLAS, the same bits for the same values wherever they are in memory, and on any number of threads.
    return np.einsum("p,p->", left, right)


# Linear CKA


def pairwise_cka(stack: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Linear CKA of every two runs, [S, S], from activations or logits [S, N, P], and the debiased one.

    They are 1 for a run with itself.
    """
    runs = _Centred(stack)
    joint = np.zeros((2, len(stack), len(stack)))
    for run in range(len(stack)):
        joint[:, run, run:] = _hsic(runs, run)
    alone = np.diagonal(joint, axis1=1, axis2=2)
    similarity = np.triu(_ratio(joint, alone[:, :, np.newaxis], alone[:, np.newaxis]))
    plain, debiased = similarity + np.triu(similarity, 1).transpose(0, 2, 1)
    return plain, debiased


class _Centred:
    """Runs with centred columns, and the terms of each run and example that the unbiased HSIC needs."""

    def __init__(self, stack: np.ndarray) -> None:
        self.stack = stack
        # Computed relative to the first example: the mean of equal floats can have a rounding error, the mean of zeros
        # cannot.
        self.means = stack[:, :1].astype(np.float64)
        self.means += (
            sum(self.block(slice(None), rows).sum(axis=1, keepdims=True) for rows in self.rows()) / stack.shape[1]
        )
        self.squares = np.empty(stack.shape[:2])  # the diagonal of XX'
        for rows in self.rows():
            block = self.block(slice(None), rows)
            self.squares[:, rows] = np.einsum("snp,snp->sn", block, block)

    def block(self, runs: slice, rows: slice) -> np.ndarray:
        """Some examples of some runs, centred."""
        return self.stack[runs, rows] - self.means[runs]

    def rows(self) -> list[slice]:
        """Slices of the examples: the same for every pair, so that equal runs have equal sums."""
        runs, examples, columns = self.stack.shape
        step = max(1, STACK_BLOCK // max(1, runs * columns))
        return [slice(start, start + step) for start in range(0, examples, step)]


def _hsic(runs: _Centred, run: int) -> np.ndarray:
    """HSIC of a run with itself and with each later run, and in a second row the unbiased HSIC."""
    later = slice(run, None)
    count = len(runs.stack) - run
    products = np.zeros((count, runs.stack.shape[2], runs.stack.shape[2]))
    for rows in runs.rows():
        products += np.matmul(runs.block(slice(run, run + 1), rows).transpose(0, 2, 1), runs.block(later, rows))
    # Not with einsum, which rounds a long sum differently if it is the only one: equal runs would not have a CKA of 1.
    inner = np.square(products).reshape(count, -1).sum(axis=1)
    # The same sums over pairs of two different examples. Columns are centred, so each row of XX' sums to 0; without its
    # diagonal entry, it sums to the negative of that entry.
    examples = runs.stack.shape[1]
    if examples < 4:
        return np.stack([inner, np.full(count, np.nan)])
    a, b = runs.squares[run], runs.squares[later]
    diagonal = (a * b).sum(axis=1)
    sums = a.sum() * b.sum(axis=1)
    unbiased = inner - diagonal + sums / ((examples - 1) * (examples - 2)) - 2 * diagonal / (examples - 2)
    return np.stack([inner, unbiased / (examples * (examples - 3))])


def _ratio(joint: np.ndarray, of_rows: np.ndarray, of_columns: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        product = of_rows * of_columns
        # The root of the product is exact for equal runs, but the product of large numbers may overflow.
        scale = np.where(np.isinf(product), np.sqrt(of_rows) * np.sqrt(of_columns), np.sqrt(product))
        return np.where((of_rows > 0) & (of_columns > 0), joint / scale, np.nan)
