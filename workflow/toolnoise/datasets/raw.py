"""What a reader finds outside, on its way to the prepared form."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

PARTS = ("train", "test")


class Part(NamedTuple):
    """One part of a data set: images (uint8, height x width x channel, all of one shape) that are made as asked for.

    `groups` says of each example (row) which of the data set's groups (column) it belongs to.
    """

    images: Iterable[np.ndarray]
    labels: np.ndarray
    groups: np.ndarray | None = None


class Raw(NamedTuple):
    """A data set as read: `maximum` is the pixel value that stands for 1.

    Images are `margin` pixels higher and wider than what a network sees of them.
    """

    train: Part
    test: Part
    classes: list[str]
    groups: tuple[str, ...] = ()
    maximum: int = 255
    margin: int = 0
