"""A user's own arrays: in an .npz file, or in a folder of .npy files, which may be larger than memory.

With `outcome: tokens`, images are tokens, segment x position, and each label is the token that follows.
With `outcome: masks`, each pixel has a label. With `outcome: labels`, labels are 0 or 1, example x label, and an array
`asked` names them.
"""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.base.arrays import read_npy, read_npz
from toolnoise.base.errors import BadInput
from toolnoise.datasets.prepared import PARTS, Raw, RawPart
from toolnoise.formulas.outcomes import LABEL, LABELS, TOKENS, YES_OR_NO

ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")


def read(_name: str, entry: dict[str, Any], _threads: int, _stack: ExitStack) -> Raw:
    """Read the file; classes are numbered if it does not name them."""
    path = Path(entry["path"])
    return _raw(path, read_npz(path), entry.get("outcome", LABEL))


def read_folder(_name: str, entry: dict[str, Any], _threads: int, _stack: ExitStack) -> Raw:
    """Map the files into memory; classes are numbered if there is no classes.npy."""
    path = Path(entry["path"])
    present = [array for array in (*ARRAYS, "classes", "asked") if (path / f"{array}.npy").exists()]
    arrays = {array: read_npy(path / f"{array}.npy") for array in present}
    return _raw(path, arrays, entry.get("outcome", LABEL))


def _raw(path: Path, arrays: dict[str, np.ndarray], outcome: str) -> Raw:
    """The raw data set in these arrays, which come from `path`; a missing array is an error."""
    for array in ARRAYS:
        if array not in arrays:
            raise BadInput(path, array, "no such array", "required: " + ", ".join(ARRAYS))
    for array in ("train_images", "test_images"):
        kinds = (np.uint8, np.uint16, np.uint32) if outcome == TOKENS else (np.uint8,)
        if arrays[array].dtype not in kinds:
            allowed = ", ".join(np.dtype(kind).name for kind in kinds)
            raise BadInput(path, array, f"found {arrays[array].dtype}", f"allowed: {allowed}")
        if arrays[array].ndim == 3:
            arrays[array] = arrays[array][..., np.newaxis]
    labels, classes = arrays["train_labels"], arrays.get("classes")
    if labels.dtype.kind not in "iu":
        raise BadInput(path, "train_labels", f"found {labels.dtype}", "allowed: integers from 0 up")
    if outcome == LABELS:
        asked = tuple(map(str, arrays.get("asked", range(labels.shape[1] if labels.ndim == 2 else 0))))
        return Raw(*_parts(arrays), list(YES_OR_NO), outcome=outcome, asked=asked)
    if classes is None:
        largest = int(labels.max(initial=0))
        if largest >= max(1, labels.size):
            allowed = "from 0 up, an example or more of each class"
            raise BadInput(path, "train_labels", f"found label {largest}", allowed)
        classes = range(largest + 1)
    return Raw(*_parts(arrays), [str(name) for name in classes], outcome=outcome)


def _parts(arrays: dict[str, np.ndarray]) -> list[RawPart]:
    return [RawPart(arrays[f"{part}_images"], arrays[f"{part}_labels"]) for part in PARTS]
