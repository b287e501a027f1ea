"""A user's own arrays, in an .npz file."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.base.arrays import read_npz
from toolnoise.base.errors import BadInput
from toolnoise.datasets.raw import PARTS, Part, Raw
from toolnoise.datasets.sources import path_of

ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")


@contextmanager
def read(name: str, entry: dict[str, Any], _threads: int) -> Iterator[Raw]:
    """Read the file; classes are numbered if it does not name them."""
    path = path_of(name, entry, "an .npz file with " + ", ".join(ARRAYS))
    yield raw_of(path, read_npz(path))


def raw_of(path: Path, found: dict[str, np.ndarray]) -> Raw:
    """The raw data set in these arrays, which come from `path`; a missing array is an error."""
    for array in ARRAYS:
        if array not in found:
            raise BadInput(path, array, "no such array", "required: " + ", ".join(ARRAYS))
    for array in ("train_images", "test_images"):
        if found[array].dtype != np.uint8:
            raise BadInput(path, array, f"found {found[array].dtype}", "allowed: uint8, 0 to 255")
        if found[array].ndim == 3:
            found[array] = found[array][..., np.newaxis]
    if found["train_labels"].dtype.kind not in "iu":
        raise BadInput(path, "train_labels", f"found {found['train_labels'].dtype}", "allowed: integers from 0 up")
    classes = found.get("classes")
    if classes is None:
        largest = int(found["train_labels"].max(initial=0))
        if largest >= max(1, found["train_labels"].size):
            allowed = "from 0 up, an example or more of each class"
            raise BadInput(path, "train_labels", f"found label {largest}", allowed)
        classes = range(largest + 1)
    train, test = (Part(found[f"{part}_images"], found[f"{part}_labels"]) for part in PARTS)
    return Raw(train, test, [str(name) for name in classes])
