"""Distance between the weights of runs.

Distances come from sums of squared differences in float64, never from a Gram matrix, whose cancellation would give
equal weights a distance. Equal weights have a distance of exactly 0. Working block by block needs little memory.
"""

from collections.abc import Iterator

import numpy as np

BLOCK = 2**14  # weights of each run at a time: small enough for a CPU's cache with a few runs, 13 MB with 100


def pairwise_l2(vectors: np.ndarray) -> np.ndarray:
    """The L2 distance between every two runs, [S, S], symmetric with a zero diagonal, from vectors [S, P]."""
    runs = len(vectors)
    squares = np.zeros((runs, runs))
    for block in _blocks(vectors):
        for run in range(runs):
            squares[run, run + 1 :] += _squares(block[run + 1 :] - block[run])
    return np.sqrt(squares + squares.T)


def paired_l2(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The L2 distance between run s of `a` and run s of `b`, [S]."""
    assert a.shape == b.shape, f"{a.shape} against {b.shape}"
    squares = np.zeros(len(a))
    for block_a, block_b in zip(_blocks(a), _blocks(b), strict=True):
        squares += _squares(block_a - block_b)
    return np.sqrt(squares)


def unit(vectors: np.ndarray) -> np.ndarray:
    """Each vector scaled to norm 1; a zero vector stays zero.

    The result is in float64: rounding to float32 moves each vector by more than the first bits of a divergence do.
    """
    squares = np.zeros(len(vectors))
    for block in _blocks(vectors):
        squares += _squares(block)
    norms = np.sqrt(squares)
    return vectors / np.where(norms > 0, norms, 1.0)[:, np.newaxis]


def _blocks(vectors: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, vectors.shape[1], BLOCK):
        yield vectors[:, start : start + BLOCK].astype(np.float64)


def _squares(differences: np.ndarray) -> np.ndarray:
    return np.einsum("sp,sp->s", differences, differences)
