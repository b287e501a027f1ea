"""Correlation of the logits of two runs, over all examples and classes at once.

As in Summers & Dinneen, the logits of a run form one long vector of examples x classes. They are raw: there is neither
softmax nor centring by example before. Pearson's r uses these values, Spearman's r uses their ranks, and equal values
share the mean of their ranks. A run whose logits are all equal has no correlation: its r is NaN.

Each product of two runs, or of a run with itself, is computed by the same summation. It is never an entry of a matrix
product, where the order of summation depends on the position. So equal runs have an r of exactly 1.
"""

from collections.abc import Iterator

import numpy as np

BLOCK = 2**12  # values of each run at a time: small enough for a CPU's cache with 100 runs
TILES = 4  # parts of the runs; ranks of two parts are held at a time: half the memory of the logits


def pairwise_pearson(logits: np.ndarray) -> np.ndarray:
    """Pearson's r of every two runs, [S, S], from logits [S, N, C]."""
    values = _flat(logits)
    # Computed relative to the first value: the mean of equal floats can have a rounding error, the mean of zeros
    # cannot.
    shifts = values[:, :1].astype(np.float64)
    shifts += sum(part.sum(axis=1, keepdims=True) for part in _blocks(values, shifts)) / values.shape[1]
    products = np.zeros((len(values), len(values)))
    for part in _blocks(values, shifts):
        products += _products(part, part)
    return _correlation(products)


def pairwise_spearman(logits: np.ndarray) -> np.ndarray:
    """Spearman's r of every two runs, [S, S], from logits [S, N, C]."""
    values = _flat(logits)
    products = np.zeros((len(values), len(values)))
    tiles = np.array_split(np.arange(len(values)), TILES)
    for number, tile in enumerate(tiles):
        ranks = _ranks(values, tile)
        for later in tiles[number:]:
            products[np.ix_(tile, later)] = _rank_products(ranks, ranks if later is tile else _ranks(values, later))
    return _correlation(products)


def _flat(logits: np.ndarray) -> np.ndarray:
    runs, examples, classes = logits.shape
    return logits.reshape(runs, examples * classes)


def _blocks(values: np.ndarray, shifts: np.ndarray | int = 0) -> Iterator[np.ndarray]:
    """The values minus the shift of each run, in float64, some columns at a time."""
    for start in range(0, values.shape[1], BLOCK):
        yield np.subtract(values[:, start : start + BLOCK], shifts, dtype=np.float64)


def _rank_products(ranks: np.ndarray, others: np.ndarray) -> np.ndarray:
    pairs = zip(_blocks(ranks), _blocks(others), strict=True)
    return sum((_products(one, other) for one, other in pairs), np.zeros((len(ranks), len(others))))


def _products(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The sum of products of each row of `one` with each row of `other`."""
    return np.array([np.einsum("sp,p->s", other, row) for row in one]).reshape(len(one), len(other))


def _correlation(products: np.ndarray) -> np.ndarray:
    """Correlations from the upper triangle of the products of centred values."""
    squares = np.diag(products)
    varies = (squares > 0) & (squares > 0)[:, np.newaxis]
    lengths = np.sqrt(np.where(varies, squares * squares[:, np.newaxis], 1))
    found = np.triu(np.where(varies, np.clip(products / lengths, -1, 1), np.nan))
    return found + np.triu(found, 1).T


def _ranks(values: np.ndarray, runs: np.ndarray) -> np.ndarray:
    """Twice the rank of each value of these runs, relative to the mean rank: an integer even for shared ranks."""
    count = values.shape[1]
    ranks = np.empty((len(runs), count), np.int32)
    for row, run in zip(ranks, runs, strict=True):
        order = np.argsort(values[run])
        ordered = values[run][order]
        starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
        ends = np.append(starts[1:], count)
        row[order] = np.repeat(starts + ends - count, ends - starts)
    return ranks
