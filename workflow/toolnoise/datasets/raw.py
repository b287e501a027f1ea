"""A data set as read from its source files, before it is brought to the prepared form."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.errors import BadInput

PARTS = ("train", "test")


class RawPart(NamedTuple):
    """One part of a data set: images (uint8, height x width x channel, all of one shape), made on demand, or tokens.

    Originals come as their bytes, height and width, and `stored` is the number of all bytes. `groups` marks for each
    example (row), or each of its labels, the groups of the data set (last axis) to which it belongs.
    """

    images: Iterable[Any]
    labels: np.ndarray
    groups: np.ndarray | None = None
    stored: int = 0

    def last(self, name: str, entry: Mapping[str, Any]) -> "RawPart":
        """Its last `test_examples`, of a data set without groups whose images are in memory; all without this key."""
        count = entry.get("test_examples", len(self.labels))
        if count > len(self.labels):
            raise BadInput(f"dataset {name}", "test_examples", f"found {count}", f"allowed: 1 to {len(self.labels)}")
        return RawPart(self.images[-count:], self.labels[-count:])


class Raw(NamedTuple):
    """A data set as read: `maximum` is the pixel value that stands for 1.

    Images are `margin` pixels higher and wider than the window that a network sees. `asked` names many labels. Of
    originals, it sees `side` x `side` pixels.
    """

    train: RawPart
    test: RawPart
    classes: list[str]
    groups: tuple[str, ...] = ()
    maximum: int = 255
    margin: int = 0
    outcome: str = "label"
    asked: tuple[str, ...] = ()
    side: int = 0
