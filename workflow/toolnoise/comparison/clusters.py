"""Means over test examples of which each has several units: the tokens of a segment, the pixels of a mask.

What is alike in the units of an example, such as a hard segment, makes them alike. So the interval of a mean over units
treats an example as one draw with all its units. Taken for examples, units would make it far too narrow.
"""

import numpy as np

from toolnoise.stats.estimates import Estimate, standard_deviation, t_interval


def mean_over_examples(values: np.ndarray, lengths: np.ndarray) -> Estimate:
    """The mean of values of units, [U], with an interval over the examples, which have so many units each, [N].

    It has no width if all examples have the same value.
    """
    mean, error, freedom = mean_error(values, lengths)
    return t_interval(mean, error, freedom) if error else Estimate(mean, mean, mean)


def mean_error(values: np.ndarray, lengths: np.ndarray) -> tuple[float, float, float]:
    """The mean of values of units, [U], its standard error over the examples, and the degrees of freedom.

    Examples of several lengths make it a ratio of two means. Its error is the jackknife's, and it has the degrees of
    freedom of as many equal examples as these are worth (Kish 1965): long ones count for more (bench/error_rates.py).
    """
    sums, whole, examples = _sums(values, lengths), lengths.sum(), len(lengths)
    if (lengths == lengths[0]).all():
        means = sums / lengths[0]
        mean = means[0] + np.mean(means - means[0])
        return float(mean), float(standard_deviation(means) / np.sqrt(examples)), examples - 1
    mean = sums.sum() / whole
    changes = (sums - mean * lengths) / (whole - lengths)
    error = np.sqrt((1 - 1 / examples) * np.square(changes).sum())
    return float(mean), float(error), float(whole**2 / np.square(lengths).sum() - 1)


def _sums(values: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return np.add.reduceat(values, np.cumsum(lengths) - lengths)
