"""Multiple testing: p-values adjusted for the number of tests, across classes, sub-groups or tasks.

Comparing adjusted p-values with a level keeps an error rate below that level: the chance of any false positive (Holm),
or the share of false positives among all positives (Benjamini and Hochberg). An undefined p-value is no test: it stays
NaN and does not count.
"""

from collections.abc import Callable

import numpy as np


def holm(pvalues: np.ndarray) -> np.ndarray:
    """Adjust by Holm's (1979) steps, valid under any dependence between the tests."""
    return _adjusted(pvalues, lambda ordered: np.maximum.accumulate(ordered * np.arange(len(ordered), 0, -1)))


def benjamini_hochberg(pvalues: np.ndarray) -> np.ndarray:
    """Adjust by Benjamini and Hochberg's (1995) steps, valid for independent or positively dependent tests."""

    def from_the_largest(ordered: np.ndarray) -> np.ndarray:
        scaled = ordered * len(ordered) / np.arange(1, len(ordered) + 1)
        return np.minimum.accumulate(scaled[::-1])[::-1]

    return _adjusted(pvalues, from_the_largest)


def _adjusted(pvalues: np.ndarray, steps: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    pvalues = np.asarray(pvalues, float)
    found = np.full(pvalues.shape, np.nan)
    defined = np.flatnonzero(~np.isnan(pvalues))
    order = defined[np.argsort(pvalues[defined], kind="stable")]
    found[order] = np.minimum(steps(pvalues[order]), 1)
    return found
