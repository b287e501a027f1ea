"""How often answers as texts differ: between the arms, between runs of an arm, and between samples of a run."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from toolnoise.comparison.evals.aligned import Answered, Cell


def known(arm: Answered) -> bool:
    """Whether every sample has its answer."""
    return all(row.answer is not None for run in arm.cells for cell in run for row in cell)


def between_arms(a: Answered, b: Answered) -> np.ndarray:
    """The share of pairs of a sample of A and one of B whose answers differ, of each question."""
    pairs = zip(*(map(_counts, zip(*arm.cells, strict=True)) for arm in (a, b)), strict=True)
    return np.array([1 - _together(one, other) / (one.total() * other.total()) for one, other in pairs])


def between_runs(arm: Answered) -> np.ndarray | None:
    """The same of two runs of an arm."""
    if len(arm.cells) < 2:
        return None
    found = []
    for cells in zip(*arm.cells, strict=True):
        runs = [_counts([cell]) for cell in cells]
        of_all = sum(runs, Counter())
        equal = _together(of_all, of_all) - sum(_together(run, run) for run in runs)
        pairs = of_all.total() ** 2 - sum(run.total() ** 2 for run in runs)
        found.append(1 - equal / pairs)
    return np.array(found)


def between_samples(arm: Answered) -> np.ndarray | None:
    """The same of two samples of a run."""
    if arm.samples.min() < 2:
        return None
    found = []
    for cells in zip(*arm.cells, strict=True):
        runs = [_counts([cell]) for cell in cells]
        equal = sum(_together(run, run) - run.total() for run in runs)
        found.append(1 - equal / sum(run.total() * (run.total() - 1) for run in runs))
    return np.array(found)


def _counts(cells: Sequence[Cell]) -> Counter[str | None]:
    return Counter(row.answer for cell in cells for row in cell)


def _together(one: Counter[str | None], other: Counter[str | None]) -> int:
    """The number of pairs of equal answers."""
    return sum(count * other[answer] for answer, count in one.items())
