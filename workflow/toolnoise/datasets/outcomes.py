"""Outcomes: what is asked about an example, and the units that have one answer each.

Every measure knows one form: units with one label each, and for each unit one score per class. An example of a single
label is one unit; a segment of text is as many as it has positions, a picture with many labels as many as it has
labels, a mask as many as it has pixels. All units of an example are neighbours, and come from the same example.
"""

from typing import NamedTuple

LABEL, LABELS, TOKENS, MASKS = "label", "labels", "tokens", "masks"
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
    LABELS: Outcome("label", "picture", 2, scores_each_class=False),
    TOKENS: Outcome("token", "segment", 2, augmentable=False),
    MASKS: Outcome("pixel", "picture", 3, augmentable=False),
}
