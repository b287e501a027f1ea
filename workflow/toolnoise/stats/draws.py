"""Independent units, paired arms and the scope of intervals, which all follow from the draws that runs share.

Two runs that start from the same weights, or see the data in the same order, are not independent. Runs that share a
draw of any algorithmic source, directly or through a third run, form one unit. So ten ALGO runs are ten units, and five
IMPL runs of one draw are one. Two arms are paired if a unit has runs of both: ALGO run s and ALGO+IMPL run s share
every algorithmic draw. If some units have runs of both and others do not, arms are partly paired, and all runs count.
An interval over units covers other draws; one unit has no interval.

Implementation draws do not make units. Rounding has no effect of its own that runs with different starts could share:
`formulas.variance_components` measures it.
"""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from toolnoise.base.noise_sources import ALGORITHMIC

# The draw of each source that a run has; None for a source that is drawn anew in every run.
Drawn = Mapping[str, Hashable]


def units_of_arms(*arms: Sequence[Drawn]) -> list[np.ndarray]:
    """The number of the unit of each run, by arm; units are numbered from 0 in the order of their first runs."""
    runs = [run for arm in arms for run in arm]
    unit_of = np.arange(len(runs))
    for source in ALGORITHMIC:
        # A run shares no source that is drawn anew in it.
        unit_of = merge_equal_runs(unit_of, [object() if run.get(source) is None else run[source] for run in runs])
    numbers: dict[int, int] = {}
    unit_of = np.array([numbers.setdefault(unit, len(numbers)) for unit in unit_of.tolist()], int)
    return np.split(unit_of, np.cumsum([len(arm) for arm in arms])[:-1])


def merge_equal_runs(numbers: np.ndarray, alike: Sequence[Hashable]) -> np.ndarray:
    """Units after runs with equal contents are merged into one: bit-identical runs count as one run."""
    joined = numbers.copy()
    first: dict[Hashable, int] = {}
    for run, content in enumerate(alike):
        other = first.setdefault(content, run)
        joined[joined == joined[run]] = joined[other]
    return joined


def members_of_units(numbers: np.ndarray) -> list[np.ndarray]:
    """The runs of each unit, in the order of their first runs."""
    order = np.unique(numbers, return_index=True)[1]
    return [np.flatnonzero(numbers == numbers[first]) for first in np.sort(order)]


def shared_sources(runs: Sequence[Drawn]) -> list[str]:
    """The algorithmic sources whose draw all these runs share."""
    return [
        source
        for source in ALGORITHMIC
        if runs[0].get(source) is not None and all(run.get(source) == runs[0][source] for run in runs)
    ]
