"""Linear CKA: similarity of two runs' representations of the same examples, invariant to rotation and scaling.

CKA is HSIC(X, Y) / sqrt(HSIC(X, X) HSIC(Y, Y)) of two matrices of the same examples (Kornblith et al. 2019). With
centred columns the linear HSIC is |X'Y|^2, summed over all entries. It is biased upwards if examples are few for the
number of columns: independent noise then has a CKA far from 0. Debiased CKA (Song et al. 2012; Nguyen et al. 2021) uses
the unbiased HSIC instead. It is near 0 for such noise, and can be negative. Both are computed from columns, never from
the examples x examples matrices that define them.
"""

import numpy as np

BLOCK = 2**19  # values of all runs at a time


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
        step = max(1, BLOCK // max(1, runs * columns))
        return [slice(start, start + step) for start in range(0, examples, step)]


def _hsic(runs: _Centred, run: int) -> np.ndarray:
    """HSIC of a run with itself and with each later run; below it, the unbiased HSIC."""
    later = slice(run, None)
    count = len(runs.stack) - run
    products = np.zeros((count, runs.stack.shape[2], runs.stack.shape[2]))
    for rows in runs.rows():
        products += np.matmul(runs.block(slice(run, run + 1), rows).transpose(0, 2, 1), runs.block(later, rows))
    # Not by einsum, which rounds a long sum differently if it is the only one: equal runs would not have 1.
    inner = np.square(products).reshape(count, -1).sum(axis=1)
    # The same sums over pairs of two different examples. Columns are centred, so each row of XX' sums to 0, and without
    # its diagonal to the negative of the diagonal entry.
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
        # The root of the product, which is exact for equal runs, unless the product of such large numbers has no float.
        scale = np.where(np.isinf(product), np.sqrt(of_rows) * np.sqrt(of_columns), np.sqrt(product))
        return np.where((of_rows > 0) & (of_columns > 0), joint / scale, np.nan)
