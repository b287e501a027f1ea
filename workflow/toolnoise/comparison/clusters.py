"""Means over test examples of which each has several units: the tokens of a segment, the pixels of a mask.

What is alike in the units of an example, such as a hard segment, makes them alike. So the interval of a mean over units
treats an example as one draw with all its units. Taken for examples, units would make it far too narrow.
"""

import numpy as np

from toolnoise.stats.estimates import Estimate, mean_t, t_interval


def mean_over_examples(values: np.ndarray, lengths: np.ndarray) -> Estimate:
    """The mean of values of units, [U], with an interval over the examples, which have so many units each, [N].

    Examples of several lengths make it a ratio of two means; its error is that of the ratio's linear part.
    """
    sums = np.add.reduceat(values, np.cumsum(lengths) - lengths)
    if (lengths == lengths[0]).all():
        return mean_t(sums / lengths[0])
    mean, examples = sums.sum() / lengths.sum(), len(lengths)
    apart = sums - mean * lengths
    error = np.sqrt(examples / (examples - 1) * np.square(apart).sum()) / lengths.sum()
    return t_interval(mean, error, examples - 1)
