"""A data set as read from its source files, before it is brought to the prepared form."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

PARTS = ("train", "test")


class RawPart(NamedTuple):
    """One part of a data set: images (uint8, height x width x channel, all of one shape), made on demand.

    `groups` marks for each example (row) the groups of the data set (column) to which it belongs.
    """

    images: Iterable[np.ndarray]
    labels: np.ndarray
    groups: np.ndarray | None = None


class Raw(NamedTuple):
    """A data set as read: `maximum` is the pixel value that stands for 1.

    Images are `margin` pixels higher and wider than the window that a network sees.
    """

    train: RawPart
    test: RawPart
    classes: list[str]
    groups: tuple[str, ...] = ()
    maximum: int = 255
    margin: int = 0
    outcome: str = "label"
