"""Intervals of pairwise measures for other runs on other examples, by resampling both.

The jackknife over runs describes the test set at hand. On another test set of the same kind, the examples vary too. The
variances from runs and from examples add up, but the interaction of a run with an example contributes to both.
Resampling both counts it three times (Owen 2007, the pigeonhole bootstrap), which makes an interval too wide.
Bootstraps over runs, over examples and over both have variances R + I, E + I and R + E + 3 I, which determine I. The
variance from runs is then taken from the jackknife, since a bootstrap of ten runs understates it by a tenth or more.
"""

from typing import Protocol

import numpy as np

from toolnoise.stats.estimates import UNDEFINED, Estimate, t_interval
from toolnoise.stats.jackknife import standard_error

RESAMPLES = 999
AT_ONCE = 1 << 20  # examples of all resamples that are in memory together


class Statistic(Protocol):
    """Each example's mean, over the pairs of drawn runs, of a measure of two runs on an example."""

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """Of each example, [R, N], from how often each run is drawn, [R, S]."""

    def without_each(self) -> np.ndarray:
        """The mean over examples without the first run, without the second, and so on, [S]."""


def two_way_bootstrap(
    measure: Statistic, runs: int, examples: int, stream: int, resamples: int = RESAMPLES
) -> Estimate:
    """The mean, over the pairs of runs and over examples, of a measure of two runs on an example.

    A pair of a run with itself is left out. Fewer than three runs have no interval.
    """
    if runs < 2:
        return UNDEFINED
    here = measure(np.ones((1, runs)))[0]
    value = float(here.mean())
    if runs == 2:
        return Estimate(value)
    draws = np.random.Generator(np.random.Philox(key=stream))
    times = draws.multinomial(runs, np.full(runs, 1 / runs), resamples)
    while (alone := times.max(axis=1) == runs).any():  # one run and no pair
        times[alone] = draws.multinomial(runs, np.full(runs, 1 / runs), np.count_nonzero(alone))
    by_runs, by_examples, by_both = np.empty((3, resamples))
    at_once = max(1, AT_ONCE // examples)
    for start in range(0, resamples, at_once):
        together = slice(start, start + at_once)
        of_each = measure(times[together])
        drawn = np.array([np.bincount(draws.integers(examples, size=examples), minlength=examples) for _ in of_each])
        by_runs[together] = of_each.mean(axis=1)
        by_examples[together] = drawn @ here / examples
        by_both[together] = np.einsum("re,re->r", drawn, of_each) / examples
    drawn_runs, theirs, both = (np.var(means, ddof=1) for means in (by_runs, by_examples, by_both))
    ours = standard_error(measure.without_each()) ** 2
    in_both = both - drawn_runs - theirs
    variance = max(ours + theirs - in_both, ours, theirs)
    if variance == 0:
        return Estimate(value, value, value)
    freedom = variance**2 / (ours**2 / (runs - 1) + theirs**2 / (examples - 1))
    return t_interval(value, np.sqrt(variance), freedom)
