"""Outcomes: the kinds of answers about an example, and the units that have one answer each.

Every measure uses one form: units with one label each, and one score per class for each unit. An example with a single
label is one unit. A segment of text has one unit per position, an image with several labels one per label, and a mask
one per pixel. The units of an example are adjacent.

Training programs may also output numbers: values, in one column or several, or only losses.
"""

from typing import TYPE_CHECKING, NamedTuple

# Planning a study imports this module, and needs no arrays.
if TYPE_CHECKING:
    import numpy as np

LABEL, LABELS, TOKENS, MASKS, VALUES, LOSSES = "label", "labels", "tokens", "masks", "values", "losses"
LOGITS, CLASSES, METRIC = "logits", "classes", "metric"
# The classes of each label, if an example has several.
YES_OR_NO = ("no", "yes")
ALL = "all"  # the group of all units; for one of several labels, the group `label:all`


class Outcome(NamedTuple):
    """A kind of outcome: the words for unit and example, and the number of axes of the array of labels."""

    unit: str
    example: str
    axes: int
    # Whether a network gives one score per class of a unit, or one log-odds of yes against no.
    scores_each_class: bool = True
    # Whether labels stay valid if an image is shifted or mirrored.
    augmentable: bool = True


OUTCOMES = {
    LABEL: Outcome("example", "example", 1),
    LABELS: Outcome("label", "example", 2, scores_each_class=False),
    TOKENS: Outcome("token", "segment", 2, augmentable=False),
    MASKS: Outcome("pixel", "picture", 3, augmentable=False),
}
# Only training programs have these.
NUMBERS = {VALUES: Outcome("value", "example", 2), LOSSES: Outcome("token", "segment", 2)}


class Left(NamedTuple):
    """An output of a run: its file, the possible numbers of axes, its type in a dump, and the outcome that it answers.

    Outputs with the same file name are distinguished by their labels, which have the axes of the outcome.
    """

    file: str
    axes: tuple[int, ...]
    dtype: str
    of: str

    @property
    def scored(self) -> bool:
        """Whether the output has a score for each class."""
        return self.dtype == "float32"


# By `outcome:` of a model; networks that are built here output logits.
LEFT = {
    LOGITS: Left("logits.npy", (2,), "float32", LABEL),
    CLASSES: Left("predictions.npy", (1,), "int64", LABEL),
    LABELS: Left("logits.npy", (2,), "float32", LABELS),
    TOKENS: Left("logits.npy", (3,), "float32", TOKENS),
    MASKS: Left("logits.npy", (4,), "float32", MASKS),
    VALUES: Left("predictions.npy", (1, 2), "float64", VALUES),
    LOSSES: Left("nll.npy", (1, 2), "float64", LOSSES),
    METRIC: Left("metric.json", (), "float64", METRIC),
}
SCORED = tuple(name for name, left in LEFT.items() if left.scored)
# The outputs that have a class for each unit.
CLASSIFYING = (*SCORED, CLASSES)


def unit_scores(outcome: str, scores: "np.ndarray") -> "np.ndarray":
    """A network's output for some examples as scores of units, [U, C].

    Yes has half the log-odds (halving is exact) and no its negative, so difference and probability stay the same.
    """
    if OUTCOMES[outcome].scores_each_class:
        return scores.reshape(-1, scores.shape[-1])
    both = (scores.reshape(-1, 1) / 2).repeat(2, axis=1)
    both[:, 0] *= -1
    return both
