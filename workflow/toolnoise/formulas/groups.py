"""Instability of a part of the test set, a class or a sub-group of people, relative to the whole test set.

There are three rates, each a share of examples. Accuracy is over all examples. With two classes, of which 1 is the
positive one, FPR = FP / (FP + TN) is over the negative examples and FNR = FN / (FN + TP) is over the positive ones.
Each part's SD comes with its ratio to the SD over all examples. This ratio comes with the one expected from the number
of examples alone, and with the one expected from the error rates of the examples. A rate over no examples is undefined.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from toolnoise.formulas import Row
from toolnoise.formulas.sd_ratio import Null, by_difficulty, by_size, freedom, independent_errors_sd, sd_ratio
from toolnoise.stats.estimates import Estimate, mean_t
from toolnoise.stats.multiplicity import holm
from toolnoise.stats.spread import sd_chi2, sd_robust


class Rate(NamedTuple):
    """A rate of each run, [S], its number of examples, and the SD that it would have if these erred independently."""

    values: np.ndarray
    examples: int
    independent_sd: float


def rates(predictions: np.ndarray, labels: np.ndarray, classes: int, member: np.ndarray) -> dict[str, Rate]:
    """The rates of each run on the examples marked by `member`, from predictions [S, N], labels and members [N]."""
    wrong = predictions != labels
    of = {rate: _share(wrong, among) for rate, among in examples_of(labels, classes, member).items()}
    return of | {"accuracy": _share(~wrong, member)}


def examples_of(labels: np.ndarray, classes: int, member: np.ndarray) -> dict[str, np.ndarray]:
    """The examples that each rate counts, [N], of those marked by `member`."""
    counted = {"accuracy": member}
    if classes == 2:
        counted |= {"fpr": member & (labels == 0), "fnr": member & (labels == 1)}
    return counted


def spread_rows(rate: str, group: str, values: np.ndarray, step: float = np.nan) -> list[Row]:
    """Mean and SD over runs of a rate, with its `step`, or of another quantity."""
    return [
        (f"{rate}_mean", group, mean_t(values, step)),
        (f"{rate}_sd", group, sd_chi2(values, step)),
        (f"{rate}_sd_robust", group, sd_robust(values, step)),
    ]


def ratio_rows(rate: str, group: str, parts: Sequence[Rate], wholes: Sequence[Rate]) -> list[Row]:
    """The SD of a part's rate over that of the whole, and the ratios expected from size and difficulty.

    The rates are those of the runs of each draw.
    """
    known = _freedom(wholes)
    return [
        (f"{rate}_sd_ratio", group, _ratio(parts, wholes)),
        (f"{rate}_sd_ratio_null", group, of_size(parts, wholes).range(known)),
        (f"{rate}_sd_ratio_difficulty_null", group, of_difficulty(parts, wholes).range(known)),
    ]


def of_size(parts: Sequence[Rate], wholes: Sequence[Rate]) -> Null:
    """The null of a part whose examples are as noisy as all others."""
    return by_size(parts[0].examples, wholes[0].examples)


def of_difficulty(parts: Sequence[Rate], wholes: Sequence[Rate]) -> Null:
    """The null of a part whose examples err as often as they do, independently."""
    return by_difficulty(independent(parts), parts[0].examples, independent(wholes), wholes[0].examples)


def independent(draws: Sequence[Rate]) -> float:
    """The SD of independent errors, from the mean variance over draws; a draw of one run has none."""
    variances = [rate.independent_sd**2 for rate in draws if len(rate.values) > 1]
    return float(np.sqrt(np.mean(variances))) if variances else np.nan


def unlike(
    null: Callable[[Sequence[Rate], Sequence[Rate]], Null],
    parts: Sequence[tuple[Sequence[Rate], Sequence[Rate]]],
) -> np.ndarray:
    """The p-value of each part, given with its whole, for an SD that differs from the one that its null expects.

    It is adjusted for the number of tests (Holm), since the most extreme of many parts is extreme by chance.
    """
    pvalues = [null(part, whole).pvalue(_ratio(part, whole).value, _freedom(whole)) for part, whole in parts]
    return holm(np.array(pvalues))


def _ratio(parts: Sequence[Rate], wholes: Sequence[Rate]) -> Estimate:
    return sd_ratio([part.values for part in parts], [whole.values for whole in wholes])


def _freedom(wholes: Sequence[Rate]) -> float:
    return freedom([whole.values for whole in wholes])


def _share(hits: np.ndarray, among: np.ndarray) -> Rate:
    examples = int(np.count_nonzero(among))
    if not examples:
        return Rate(np.full(len(hits), np.nan), 0, np.nan)
    hits = hits[:, among]
    return Rate(np.count_nonzero(hits, axis=1) / examples, examples, independent_errors_sd(hits))
