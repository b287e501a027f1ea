"""Pairwise measures of other runs on other examples: an interval from drawing both anew.

The jackknife over runs speaks of the test set at hand. For another of the same kind the examples vary too. What comes
of runs and what comes of examples add up, but the luck of a run on an example is in both, and drawing both anew counts
it three times (Owen 2007, the pigeonhole bootstrap), which makes an interval too wide. Bootstraps over runs, over
examples and over both have variances R + I, E + I and R + E + 3 I, from which R + E + I follows.
"""

from collections.abc import Callable

import numpy as np

from toolnoise.stats.estimates import UNDEFINED, Estimate, t_interval

RESAMPLES = 999


def two_way_bootstrap(
    measure: Callable[[np.ndarray], np.ndarray], runs: int, examples: int, stream: int, resamples: int = RESAMPLES
) -> Estimate:
    """Mean over the pairs of runs of a symmetric `measure`, [S, S], of the examples whose indices it is given.

    Where a run is drawn twice, its pair with itself is left out. Fewer than three runs have no interval.
    """
    if runs < 2:
        return UNDEFINED
    whole = measure(np.arange(examples))
    value = float(whole[np.triu_indices(runs, 1)].mean())
    if runs == 2:
        return Estimate(value, np.nan, np.nan)
    pairs = ~np.eye(runs, dtype=bool)
    draws = np.random.Generator(np.random.Philox(key=stream))
    by_runs, by_examples, by_both = np.empty((3, resamples))
    for resample in range(resamples):
        times = np.bincount(draws.integers(runs, size=runs), minlength=runs)
        while np.count_nonzero(times) < 2:  # no pair at all
            times = np.bincount(draws.integers(runs, size=runs), minlength=runs)
        weights = (pairs * np.outer(times, times))[pairs]
        others = measure(draws.integers(examples, size=examples))[pairs]
        by_runs[resample] = np.average(whole[pairs], weights=weights)
        by_examples[resample] = others.mean()
        by_both[resample] = np.average(others, weights=weights)
    ours, theirs, both = (np.var(means, ddof=1) for means in (by_runs, by_examples, by_both))
    variance = max(2 * (ours + theirs) - both, ours, theirs)
    if variance == 0:
        return Estimate(value, value, value)
    freedom = variance**2 / (ours**2 / (runs - 1) + theirs**2 / (examples - 1))
    return t_interval(value, np.sqrt(variance), freedom)
