"""Intervals of pairwise measures for other runs on other examples, by resampling both.

The jackknife over runs describes the test set at hand. On another test set of the same kind, the examples vary too. The
variances from runs and from examples add up, but the interaction of a run with an example contributes to both.
Resampling both counts it three times (Owen 2007, the pigeonhole bootstrap), which makes an interval too wide.
Bootstraps over runs, over examples and over both have variances R + I, E + I and R + E + 3 I, which determine I. The
variance from runs is then taken from the jackknife, since a bootstrap of ten runs understates it by a tenth or more.
"""

from collections.abc import Callable

import numpy as np

from toolnoise.stats.estimates import UNDEFINED, Estimate, t_interval
from toolnoise.stats.jackknife import Pairs, pairs_standard_error

RESAMPLES = 999


def two_way_bootstrap(
    measure: Callable[[np.ndarray], np.ndarray], runs: int, examples: int, stream: int, resamples: int = RESAMPLES
) -> Estimate:
    """Mean over the pairs of runs of a symmetric `measure`, [S, S], which takes the indices of examples.

    If a run is drawn twice, its pair with itself is left out. Fewer than three runs have no interval.
    """
    if runs < 2:
        return UNDEFINED
    first, second = np.triu_indices(runs, 1)
    matrix = measure(np.arange(examples))
    whole = matrix[first, second]
    value = float(whole.mean())
    if runs == 2:
        return Estimate(value, np.nan, np.nan)
    draws = np.random.Generator(np.random.Philox(key=stream))
    times = draws.multinomial(runs, np.full(runs, 1 / runs), resamples)
    while (alone := times.max(axis=1) == runs).any():  # one run and no pair
        times[alone] = draws.multinomial(runs, np.full(runs, 1 / runs), np.count_nonzero(alone))
    weights = times[:, first] * times[:, second]
    weights = weights / weights.sum(axis=1, keepdims=True)
    others = np.empty((resamples, len(first)))
    for resample in range(resamples):
        others[resample] = measure(draws.integers(examples, size=examples))[first, second]
    by_runs, by_examples, by_both = weights @ whole, others.mean(axis=1), np.sum(weights * others, axis=1)
    drawn_runs, theirs, both = (np.var(means, ddof=1) for means in (by_runs, by_examples, by_both))
    ours = pairs_standard_error(Pairs.of(matrix)) ** 2
    in_both = both - drawn_runs - theirs
    variance = max(ours + theirs - in_both, ours, theirs)
    if variance == 0:
        return Estimate(value, value, value)
    freedom = variance**2 / (ours**2 / (runs - 1) + theirs**2 / (examples - 1))
    return t_interval(value, np.sqrt(variance), freedom)
