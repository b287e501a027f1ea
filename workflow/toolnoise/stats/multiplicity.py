"""Multiple testing: p-values adjusted for the number of tests, across classes, sub-groups or tasks.

Comparing adjusted p-values with a level keeps the chance of any false positive below that level. An undefined p-value
is no test: it stays NaN and does not count.
"""

import numpy as np


def holm(pvalues: np.ndarray) -> np.ndarray:
    """Adjust by Holm's (1979) steps, valid under any dependence between the tests."""
    pvalues = np.asarray(pvalues, float)
    adjusted = np.full(pvalues.shape, np.nan)
    defined = np.flatnonzero(~np.isnan(pvalues))
    order = defined[np.argsort(pvalues[defined], kind="stable")]
    ordered = pvalues[order]
    adjusted[order] = np.minimum(np.maximum.accumulate(ordered * np.arange(len(ordered), 0, -1)), 1)
    return adjusted
