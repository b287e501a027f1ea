"""How many test examples all runs of a cell answer right, some of them, or none.

The three shares add up to 1. They are of these runs: with more of them, more examples are in `sometimes`.
"""

import numpy as np

from toolnoise.base.metric_files import CELL, MEASURE, Columns
from toolnoise.formulas import Row
from toolnoise.stats.estimates import UNDEFINED, Estimate

LUCK: Columns = {**CELL, **MEASURE}
SHARES = ("always", "sometimes", "never")


def luck(predictions: np.ndarray, labels: np.ndarray) -> list[Row]:
    """The share of examples of each kind, from predictions [S, N] and labels [N]; undefined without a run."""
    if not len(predictions):
        return [(share, "all", UNDEFINED) for share in SHARES]
    right = np.count_nonzero(predictions == labels, axis=0)
    always, never = right == len(predictions), right == 0
    members = dict(zip(SHARES, (always, ~always & ~never, never), strict=True))
    return [(share, "all", Estimate(np.count_nonzero(member) / len(labels))) for share, member in members.items()]
