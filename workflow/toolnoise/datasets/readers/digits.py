"""Scikit-learn's bundled handwritten digits, of 8x8 pixels, or enlarged."""

from contextlib import ExitStack
from typing import Any

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.datasets.prepared import Raw, RawPart

SIDE, DARKEST = 8, 16


def read(name: str, entry: dict[str, Any], _threads: int, _stack: ExitStack) -> Raw:
    """Read the digits; the last `test_examples` are the test set."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    count = entry["test_examples"]
    if count >= len(labels):
        raise BadInput(f"dataset {name}", "test_examples", f"found {count}", f"allowed: 1 to {len(labels) - 1}")
    split = len(labels) - count
    images, maximum = images.reshape(-1, SIDE, SIDE, 1), DARKEST
    side = entry.get("image_size", SIDE)
    if side != SIDE:
        images, maximum = enlarge_digits(images, side), 255
    images = images.astype(np.uint8)
    train, test = RawPart(images[:split], labels[:split]), RawPart(images[split:], labels[split:])
    return Raw(train, test, [str(digit) for digit in range(10)], maximum=maximum)


def enlarge_digits(images: np.ndarray, side: int) -> np.ndarray:
    """The digits at `side` x `side` pixels: bilinear between pixel centres, rounded to whole numbers from 0 to 255."""
    places = np.clip((np.arange(side) + 0.5) * SIDE / side - 0.5, 0, SIDE - 1)
    before = np.minimum(places.astype(int), SIDE - 2)
    share = places - before
    for axis in (1, 2):
        weights = share.reshape([-1 if place == axis else 1 for place in range(4)])
        images = images.take(before, axis) * (1 - weights) + images.take(before + 1, axis) * weights
    return np.rint(images * (255 / DARKEST))
