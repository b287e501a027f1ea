"""Distance between the weights of runs.

Distances come from sums of squares in float64. Equal weights have a distance of exactly 0. Working block by block needs
little memory.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from toolnoise.formulas.equal_runs import PerRun, bit_equal
from toolnoise.stats.jackknife import Pairs, within_blocks

BLOCK = 2**17  # weights of all runs at a time
# A squared distance below this share of the squared distances from the first run is computed from differences.
NEAR = 0.01


class Apart(NamedTuple):
    """The distances between the trained weights of runs by metric; empty if a program stored no weights.

    `equal` states whether the weights are bit-equal.
    """

    pairs: Mapping[str, Pairs]
    equal: bool

    def of_each(self) -> dict[str, np.ndarray]:
        """Each run's mean distance from the others, [S], by metric; NaN for a single run."""
        return {metric: pairs.sums / (len(pairs.sums) - 1 or np.nan) for metric, pairs in self.pairs.items()}


def weight_distances(vectors: PerRun) -> Apart:
    """The distances between weights [S, P], scaled to unit norm and as they are."""
    equal = bit_equal(vectors)
    if not vectors.shape[1]:
        return Apart({}, equal)

    def of(runs: slice) -> list[Pairs]:
        block = vectors[runs]
        return [Pairs.of(pairwise_l2(unit_vectors(block))), Pairs.of(pairwise_l2(block))]

    return Apart(dict(zip(("l2_unit", "l2_raw"), within_blocks(len(vectors), of), strict=True)), equal)


def pairwise_l2(vectors: np.ndarray) -> np.ndarray:
    """The L2 distance between every two runs, [S, S], symmetric with a zero diagonal, from vectors [S, P].

    Matrix products of the distances from the first run give all pairs at once. Two runs that are much nearer to each
    other than to the first would lose digits by cancellation, so such runs are subtracted directly.
    """
    runs = len(vectors)
    products = np.zeros((runs, runs))
    for block in _blocks(vectors):
        block -= block[:1].copy()
        products += block @ block.T
    from_first = np.diag(products)[:, np.newaxis] + np.diag(products)
    squares = np.triu(from_first - 2 * products, 1)
    near = np.triu(squares < NEAR * from_first, 1)
    for run in np.flatnonzero(near.any(axis=1)):
        others = np.flatnonzero(near[run])
        squares[run, others] = sum(_squares(block[1:] - block[0]) for block in _blocks(vectors, [run, *others]))
    return np.sqrt(squares + squares.T)


def paired_l2(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The L2 distance between run s of `a` and run s of `b`, [S]."""
    assert a.shape == b.shape, f"{a.shape} against {b.shape}"
    squares = np.zeros(len(a))
    for block_a, block_b in zip(_blocks(a), _blocks(b), strict=True):
        squares += _squares(block_a - block_b)
    return np.sqrt(squares)


def relative_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The distance between each row of `a` and `b` [N, P], divided by the root mean square of both lengths.

    It is symmetric and never infinite. For rows of equal length, it is 2 if opposite, and sqrt(2) if unrelated.
    """
    # In float64: the length of a float32 difference may overflow or vanish.
    a, b = a.astype(np.float64), b.astype(np.float64)
    distances = np.linalg.norm(b - a, axis=1)
    lengths = np.hypot(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)) / np.sqrt(2)
    return np.divide(distances, lengths, out=np.zeros(len(a)), where=lengths > 0)


def unit_vectors(vectors: np.ndarray) -> np.ndarray:
    """Each vector scaled to norm 1; a zero vector stays zero.

    The result is in float64: rounding to float32 moves each vector by more than the first bits of a divergence do.
    """
    squares = np.zeros(len(vectors))
    for block in _blocks(vectors):
        squares += _squares(block)
    norms = np.sqrt(squares)
    return vectors / np.where(norms > 0, norms, 1.0)[:, np.newaxis]


def _blocks(vectors: np.ndarray, runs: list[int] | slice = slice(None)) -> Iterator[np.ndarray]:
    step = max(1, BLOCK // max(1, len(vectors)))
    for start in range(0, vectors.shape[1], step):
        yield vectors[runs, start : start + step].astype(np.float64)


def _squares(differences: np.ndarray) -> np.ndarray:
    return np.einsum("sp,sp->s", differences, differences)
