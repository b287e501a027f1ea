"""Readers: from a registry entry to the arrays of a data set, as they are outside."""

from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.arrays import read_npz
from toolnoise.datasets import folder
from toolnoise.errors import BadInput

Arrays = dict[str, np.ndarray]

ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")


def read(name: str, entry: dict[str, Any]) -> Arrays:
    """Read the data set that a registry entry describes."""
    return {"digits": _digits, "npz": _npz, "image-folder": _image_folder}[entry["reader"]](name, entry)


def _digits(name: str, entry: dict[str, Any]) -> Arrays:
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    if not 1 <= entry.get("test_examples", 0) < len(labels):
        found = f"found {entry.get('test_examples')}"
        raise BadInput(f"dataset {name}", "test_examples", found, f"allowed: 1 to {len(labels) - 1}")
    split = len(labels) - entry["test_examples"]
    images = images.reshape(-1, 8, 8, 1).astype(np.uint8)
    return {
        "train_images": images[:split],
        "train_labels": labels[:split],
        "test_images": images[split:],
        "test_labels": labels[split:],
        "maximum": np.array(16),
        "classes": np.array([str(digit) for digit in range(10)]),
    }


def _npz(name: str, entry: dict[str, Any]) -> Arrays:
    path = _path(name, entry, "an .npz file with " + ", ".join(ARRAYS))
    found = read_npz(path)
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
            raise BadInput(
                path, "train_labels", f"found label {largest}", "from 0 up, an example or more of each class"
            )
        classes = np.array([str(label) for label in range(largest + 1)])
    return {**{array: found[array] for array in ARRAYS}, "maximum": np.array(255), "classes": classes}


def _image_folder(name: str, entry: dict[str, Any]) -> Arrays:
    return folder.read(_path(name, entry, f"a folder or an archive with {folder.FORM}"), entry.get("image_size"))


def _path(name: str, entry: dict[str, Any], wanted: str) -> Path:
    if "path" not in entry:
        raise BadInput(f"dataset {name}", "path", "missing", wanted)
    return Path(entry["path"])
