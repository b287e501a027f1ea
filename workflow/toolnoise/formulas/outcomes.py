"""Outcomes: what is asked about an example, and the units that have one answer each.

Every measure knows one form: units with one label each, and for each unit one score per class. An example of a single
label is one unit; a segment of text is as many as it has positions, a picture with many labels as many as it has
labels, a mask as many as it has pixels. All units of an example are neighbours, and come from the same example.

Training programs may also leave numbers: a prediction is then a value, of one column or several, or nothing but a loss.
"""

from typing import TYPE_CHECKING, NamedTuple

# Whoever plans a study reads this, and needs no arrays.
if TYPE_CHECKING:
    import numpy as np

LABEL, LABELS, TOKENS, MASKS, VALUES, LOSSES = "label", "labels", "tokens", "masks", "values", "losses"
LOGITS, CLASSES, METRIC = "logits", "classes", "metric"
# The classes of each of many labels.
YES_OR_NO = ("no", "yes")
ALL = "all"  # the group of all units; of one of many labels, the group `label:all`


class Outcome(NamedTuple):
    """A kind of outcome: its units, what they are part of, and the axes of an array of all examples' labels."""

    unit: str
    example: str
    axes: int
    # Whether a network gives one score per class of a unit, or one log-odds of yes against no.
    scores_each_class: bool = True
    # Whether labels stay as they are if a picture is moved or mirrored.
    augmentable: bool = True


OUTCOMES = {
    LABEL: Outcome("example", "example", 1),
    LABELS: Outcome("label", "example", 2, scores_each_class=False),
    TOKENS: Outcome("token", "segment", 2, augmentable=False),
    MASKS: Outcome("pixel", "picture", 3, augmentable=False),
}
# Training programs alone have these.
NUMBERS = {VALUES: Outcome("value", "example", 2), LOSSES: Outcome("token", "segment", 2)}


class Left(NamedTuple):
    """What a run leaves: its file, the axes of that array, its type in a dump, and what it answers: an outcome of data.

    Two files with one name are told apart by the labels beside them, which have the axes of the outcome.
    """

    file: str
    axes: tuple[int, ...]
    dtype: str
    of: str

    @property
    def scored(self) -> bool:
        """Whether there is a score of each class."""
        return self.dtype == "float32"


# By `outcome:` of a model; networks that are built here leave logits.
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
# What has a class for each unit.
CLASSIFYING = (*SCORED, CLASSES)


def unit_scores(outcome: str, scores: "np.ndarray") -> "np.ndarray":
    """A network's output for some examples as scores of units, [U, C].

    A log-odds is halved, which is exact, for yes, and negated for no: the difference and so the probability stay.
    """
    if OUTCOMES[outcome].scores_each_class:
        return scores.reshape(-1, scores.shape[-1])
    both = (scores.reshape(-1, 1) / 2).repeat(2, axis=1)
    both[:, 0] *= -1
    return both
