"""Which way a metric is better: as the user says, or by a short list of names; of all others it is not known.

A name has a direction if its words are a listed name and words that turn none round, such as val and top1. A word more
may mean anything: loss_reduction, weight_loss, accuracy_gap.

The scale of metrics is known less: 0.93 in one arm and 93 in another differ by a factor, and not by what was trained.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.comparison.known_names import HIGHER, LOWER, NEGATED, NEUTRAL
from toolnoise.comparison.tables.arguments import Asked

PERCENT = 100
# Words in the names of metrics that are shares.
SHARES = {"acc", "accuracy", "auc", "auroc", "auprc", "iou", "miou", "recall", "precision", "dice", "rouge"}


class Metric(NamedTuple):
    """A metric as it is named, whether lower is better (None: not known), how that is known, and its unit or none."""

    name: str
    lower: bool | None
    why: str
    unit: str = ""

    @property
    def better(self) -> str:
        """The way in which it is better, for people."""
        if self.lower is None:
            return f"{self.name}: which way is better is not known ({self.why})"
        return f"{self.name}: {'lower' if self.lower else 'higher'} is better ({self.why})"


def directed(asked: Asked) -> list[Metric]:
    """The metrics with their directions."""
    metrics = []
    for name in asked.metrics:
        said = [_names(names, name) for names in (asked.lower, asked.higher)]
        if all(said):
            raise BadInput("command line", "--lower", f"found --higher, too, of {name}", "one of them")
        if any(said):
            metrics.append(Metric(name, said[0], "--lower" if said[0] else "--higher"))
        else:
            metrics.append(_by_name(name))
    return metrics


def require_directions(metrics: Iterable[Metric]) -> None:
    """Refuse a metric of which nobody says which way it is better."""
    for metric in metrics:
        if metric.lower is None:
            what = f"found {metric.name}, and not which way it is better"
            raise BadInput("command line", "--metric", what, "--lower or --higher, too")


def _by_name(name: str) -> Metric:
    """The direction of a listed name; one that says both is refused."""
    spellings = [_words(text) for text in dict.fromkeys((name, split_words(name)))]  # mIoU, testError
    for words in spellings:
        lower, higher = (_listed(words, names) for names in (LOWER, HIGHER))
        if lower and higher:
            what = f'found "{lower[0]}" and "{higher[0]}" in its name'
            raise BadInput("command line", name, what, "--lower or --higher, which says what is better")
    for words in spellings:
        lower, higher = (_listed(words, names) for names in (LOWER, HIGHER))
        others = {*words} - {word for listed in (*lower, *higher) for word in listed.split()} - NEUTRAL
        if (lower or higher) and others <= NEGATED:
            is_lower = bool(lower) != bool(others)
            return Metric(name, is_lower, f"by its name, --{'higher' if is_lower else 'lower'} if not")
    return Metric(name, None, "--lower or --higher says it")


def _listed(words: Sequence[str], names: Sequence[str]) -> list[str]:
    """The listed names that stand among the words."""
    text = f" {' '.join(words)} "
    return [name for name in names if f" {name} " in text]


def _words(text: str) -> list[str]:
    """The words of a name, without numbers but for those that belong to it: top1 is top, and f1 is f1."""
    words = re.findall("[a-z]+[0-9]*", text.lower())
    return [word if word in HIGHER else word.rstrip("0123456789") for word in words]


def _names(names: Sequence[str] | None, metric: str) -> bool:
    return names is not None and (not names or metric in names)


def split_words(name: str) -> str:
    """A name with a space before each word that begins with a capital letter."""
    return re.sub("([a-z])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", name)


def words_of(name: str) -> list[str]:
    """The words of a name such as val/topLoss_1, in small letters."""
    return re.findall("[a-z]+", split_words(name).lower())


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
