"""Instability of a part of the test set, a class or a sub-group of people, relative to the whole test set.

There are three rates, each a share of examples. Accuracy is over all examples. With two classes, of which 1 is the
positive one, FPR = FP / (FP + TN) is over the negative examples and FNR = FN / (FN + TP) is over the positive ones.
Each part's SD comes with its ratio to the SD over all examples. This ratio comes with the one expected from the number
of examples alone. A rate over no examples is undefined.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from toolnoise.metrics import Row
from toolnoise.stats.estimates import mean_t
from toolnoise.stats.multiplicity import holm
from toolnoise.stats.spread import sd_bootstrap, sd_chi2, sd_ratio, sd_ratio_by_size, sd_ratio_by_size_test, sd_robust


class Rate(NamedTuple):
    """A rate of each run, [S], and its number of examples."""

    values: np.ndarray
    examples: int


def rates(predictions: np.ndarray, labels: np.ndarray, classes: int, member: np.ndarray) -> dict[str, Rate]:
    """The rates of each run on the examples marked by `member`, from predictions [S, N], labels and members [N]."""
    wrong = predictions != labels
    found = {"accuracy": _share(~wrong, member)}
    if classes == 2:
        found |= {"fpr": _share(wrong, member & (labels == 0)), "fnr": _share(wrong, member & (labels == 1))}
    return found


def spread_rows(rate: str, group: str, values: np.ndarray, stream: int, highest: float = 1) -> list[Row]:
    """Mean and SD over runs of a rate, or of another quantity between 0 and `highest`."""
    return [
        (f"{rate}_mean", group, mean_t(values).within(0, highest)),
        (f"{rate}_sd", group, sd_chi2(values)),
        (f"{rate}_sd_bootstrap", group, sd_bootstrap(values, stream)),
        (f"{rate}_sd_robust", group, sd_robust(values)),
    ]


def part_rows(rate: str, group: str, part: Rate, whole: Rate, stream: int) -> list[Row]:
    """Mean and SD of a part's rate, its SD over the whole's SD, and the expected ratio from size alone."""
    return [
        *spread_rows(rate, group, part.values, stream),
        (f"{rate}_sd_ratio", group, sd_ratio(part.values, whole.values)),
        (f"{rate}_sd_ratio_null", group, sd_ratio_by_size(part.examples, whole.examples, len(part.values))),
    ]


def unlike_by_size(parts: Sequence[tuple[Rate, Rate]]) -> np.ndarray:
    """The p-value of each part, given with its whole, for an SD that differs from the one expected from its size.

    It is adjusted for the number of tests (Holm), since the most extreme of many parts is extreme by chance.
    """
    shares = [part.examples / max(whole.examples, 1) for part, whole in parts]
    pairs = zip(parts, shares, strict=True)
    return holm(np.array([sd_ratio_by_size_test(part.values, whole.values, share) for (part, whole), share in pairs]))


def _share(hits: np.ndarray, among: np.ndarray) -> Rate:
    examples = int(np.count_nonzero(among))
    if not examples:
        return Rate(np.full(len(hits), np.nan), 0)
    return Rate(np.count_nonzero(hits & among, axis=1) / examples, examples)
