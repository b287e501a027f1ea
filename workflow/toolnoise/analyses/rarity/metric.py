"""The SD over runs of a rate on a group of fewer test examples than there are: what the size of a test set changes.

No subset is drawn. The variance over runs of the rate on m of n examples, averaged over all subsets of that size,
follows from two numbers: the mean variance of one example and the mean covariance of two. With m examples it is
variance / m + (1 - 1/m) covariance. Only the first part falls with the size: the second is noise that all examples of
the group share, and no test set is large enough to remove it.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from toolnoise.base.metric_files import CELL, ESTIMATE, Columns
from toolnoise.formulas.declared import METRICS
from toolnoise.stats.estimates import Estimate
from toolnoise.stats.jackknife import log_jackknife
from toolnoise.stats.spread import root_mean_square
from toolnoise.stats.testset import moments

PART_SIZES: Columns = {**CELL, "metric": str, "group": str, "examples": int, **ESTIMATE}
SMALLEST = 8  # examples of a part: with fewer, a rate has few values


def sizes(examples: int) -> list[int]:
    """The number of examples, its half, and so on."""
    halves = [examples] if examples else []
    while examples // 2 >= SMALLEST:
        examples //= 2
        halves.append(examples)
    return halves


def sd_by_size(wrong: np.ndarray, groups: Sequence[np.ndarray]) -> Iterator[tuple[str, int, Estimate]]:
    """The SD at each size, and what it would be if examples erred independently, from errors of runs [S, N].

    `groups` are the runs of each draw, over which variances are averaged. The interval is over draws or, if there is
    one, that of the logarithm by leaving out a run.
    """
    groups = [runs for runs in groups if len(runs) > 1] or groups[:1]
    each = np.array([moments(wrong[runs]) for runs in groups])
    alone = groups[0] if len(groups) == 1 else groups[0][:0]
    without = np.array([moments(wrong[np.delete(alone, place)]) for place in range(len(alone))]).reshape(-1, 2)
    for size in sizes(wrong.shape[1]):
        for name, weight in (("sd", 1 - 1 / size), ("sd_independent_null", 0)):
            by_size = np.array([1 / size, weight])
            sds = _roots(each @ by_size)
            alike = log_jackknife(sds[0], _roots(without @ by_size)) if len(sds) == 1 else root_mean_square(sds)
            yield name, size, alike.within(*METRICS["accuracy_sd"].range)


def _roots(variances: np.ndarray) -> np.ndarray:
    return np.sqrt(np.maximum(variances, 0))  # rounding may leave a variance of 0 a little below
