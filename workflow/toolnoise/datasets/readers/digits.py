"""Scikit-learn's bundled handwritten digits."""

from contextlib import ExitStack
from typing import Any

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.datasets.raw import Raw, RawPart


def read(name: str, entry: dict[str, Any], _threads: int, _stack: ExitStack) -> Raw:
    """Read the digits; the last `test_examples` are the test set."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    count = entry["test_examples"]
    if count >= len(labels):
        raise BadInput(f"dataset {name}", "test_examples", f"found {count}", f"allowed: 1 to {len(labels) - 1}")
    split = len(labels) - count
    images = images.reshape(-1, 8, 8, 1).astype(np.uint8)
    train, test = RawPart(images[:split], labels[:split]), RawPart(images[split:], labels[split:])
    return Raw(train, test, [str(digit) for digit in range(10)], maximum=16)
