"""Shares beside percent: 0.93 in one arm and 93 in another differ by a factor, and not by what was trained."""

from collections.abc import Iterable, Mapping, Sequence

from toolnoise.base.errors import BadInput
from toolnoise.comparison.tables.directions import words_of

PERCENT = 100
# Words in the names of metrics that are shares.
SHARES = {"acc", "accuracy", "auc", "auroc", "auprc", "iou", "miou", "recall", "precision", "dice", "rouge"}


def require_one_scale(held: Mapping[str, Sequence[float]], key: str = "", file: str = "") -> None:
    """Refuse numbers of 0 to 1 in one file or arm beside larger ones, of up to 100, in another."""
    ends = [(name, min(values), max(values)) for name, values in held.items() if values]
    share = next((each for each in ends if each[1] >= 0 and 0 < each[2] <= 1), None)
    for name, low, high in ends if share else ():
        if low >= 0 and 1 < high <= PERCENT:
            what = f"found {low:g} to {high:g} in {name}, and {share[1]:g} to {share[2]:g} in {share[0]}"
            raise BadInput(file or name, key, what, "one scale in all: shares, or percent")


def require_of_metrics(runs: Iterable[tuple[str, Mapping[str, float]]], file: str) -> None:
    """Refuse the same of metrics that are shares by their names, in runs by their arms."""
    held: dict[str, dict[str, list[float]]] = {}
    for arm, metrics in runs:
        for metric, value in metrics.items():
            if not SHARES.isdisjoint(words_of(metric)):
                held.setdefault(metric, {}).setdefault(arm, []).append(value)
    for metric, of_arms in held.items():
        require_one_scale(of_arms, metric, file)
