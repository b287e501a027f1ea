"""The SD over runs of a rate on a group of fewer test examples than there are: what the size of a test set changes.

No subset is drawn. The variance over runs of the rate on m of n examples, averaged over all subsets of that size,
follows from two numbers: the mean variance of one example and the mean covariance of two. With m examples it is
variance / m + (1 - 1/m) covariance. Only the first part falls with the size: the second is noise that all examples of
the group share, and no test set is large enough to remove it.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from toolnoise.base.metric_files import CELL, ESTIMATE, Columns
from toolnoise.stats.estimates import Estimate, t_interval
from toolnoise.stats.jackknife import standard_error
from toolnoise.stats.testset import moments

PART_SIZES: Columns = {**CELL, "metric": str, "group": str, "examples": int, **ESTIMATE}
SMALLEST = 8  # examples of a part: with fewer, a rate has few values


def sizes(examples: int) -> list[int]:
    """The number of examples, its half, and so on."""
    found = [examples] if examples else []
    while examples // 2 >= SMALLEST:
        examples //= 2
        found.append(examples)
    return found


def sd_by_size(wrong: np.ndarray, groups: Sequence[np.ndarray]) -> Iterator[tuple[str, int, Estimate]]:
    """The SD at each size, and what it would be if examples erred independently, from errors of runs [S, N].

    `groups` are the runs of each draw, over which variances are averaged. The interval is that of the logarithm, by
    leaving out a draw or, if there is one, a run.
    """
    each = np.array([moments(wrong[runs]) for runs in groups])
    if len(groups) == 1:
        runs = groups[0]
        without = np.array([moments(wrong[np.delete(runs, place)]) for place in range(len(runs))]).reshape(-1, 2)
    else:
        without = np.array([np.delete(each, place, axis=0).mean(axis=0) for place in range(len(each))])
    for size in sizes(wrong.shape[1]):
        for name, weight in (("sd", 1 - 1 / size), ("sd_independent_null", 0)):
            by_size = np.array([1 / size, weight])
            yield name, size, _root(float(each.mean(axis=0) @ by_size), without @ by_size)


def _root(variance: float, without: np.ndarray) -> Estimate:
    """An SD with its interval, from its square and that without each unit."""
    # Rounding may leave a variance of 0 a little below.
    value = float(np.sqrt(max(variance, 0))) if variance == variance else np.nan
    if not (value > 0 and len(without) > 2 and (without > 0).all()):
        return Estimate(value, np.nan, np.nan)
    logarithm = t_interval(np.log(value), standard_error(np.log(without)) / 2, len(without) - 1)
    return Estimate(value, *np.exp(logarithm[1:]).tolist())
