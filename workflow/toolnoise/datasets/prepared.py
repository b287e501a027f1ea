"""The prepared form of a data set: checked once when it is written, and again, for damage, when it is read."""

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.arrays import read_npz, write_npz
from toolnoise.datasets import readers
from toolnoise.errors import BadInput

# Mean and standard deviation of ImageNet's pixels, of 1, by channel: red, green, blue.
IMAGENET_MEAN, IMAGENET_SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Split:
    """One part of a data set: pixels as stored, labels, and how pixels become what a network sees."""

    pixels: np.ndarray
    labels: np.ndarray
    maximum: int = 255
    normalise: str = "unit"

    @functools.cached_property
    def images(self) -> np.ndarray:
        """The pixels, float32, normalised; computed when first asked for, since many readers want labels alone."""
        return _normalised(self.pixels, self.maximum, self.normalise)


@dataclass(frozen=True)
class Data:
    """A data set in memory; `sha256` is of its pixels and labels as prepared, whatever file they lie in."""

    train: Split
    test: Split
    classes: tuple[str, ...]
    sha256: str


def prepare(name: str, entry: dict[str, Any], out: str | Path) -> None:
    """Read a data set, check it and write its prepared form."""
    source = entry.get("path", f"dataset {name}")
    arrays = readers.read(name, entry)
    _check(arrays, source)
    for part in ("train", "test"):
        arrays[f"{part}_labels"] = arrays[f"{part}_labels"].astype(np.int32)
    write_npz(out, arrays)


def load(path: str | Path, normalise: str = "unit") -> Data:
    """Read prepared data; it is normalised on the host, where every engine gets the same bits."""
    arrays = read_npz(path)
    wanted = (*readers.ARRAYS, "maximum", "classes")
    missing = [name for name in wanted if name not in arrays]
    if missing:
        raise BadInput(path, missing[0], "no such array", "prepared data with " + ", ".join(wanted))
    _check(arrays, path)
    if normalise == "imagenet" and (channels := arrays["train_images"].shape[-1]) != 3:
        raise BadInput(path, "train_images", f"found {channels} channels", "normalise: imagenet is for 3")
    digest = hashlib.sha256()
    for name in wanted:
        digest.update(f"{name} {arrays[name].dtype.str} {arrays[name].shape}\n".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    train, test = (
        Split(arrays[f"{part}_images"], arrays[f"{part}_labels"], int(arrays["maximum"]), normalise)
        for part in ("train", "test")
    )
    return Data(train, test, tuple(map(str, arrays["classes"])), digest.hexdigest())


def _normalised(pixels: np.ndarray, maximum: int, normalise: str) -> np.ndarray:
    scaled = pixels.astype(np.float32)
    if normalise == "none":
        return scaled
    scaled /= np.float32(maximum)
    if normalise == "unit":
        return scaled
    if normalise == "imagenet":
        return (scaled - np.float32(IMAGENET_MEAN)) / np.float32(IMAGENET_SPREAD)
    # As in tf.image.per_image_standardization: a flat image is divided by 1/sqrt(pixels), not by 0.
    axes = (1, 2, 3)
    spread = scaled.std(axis=axes, keepdims=True, dtype=np.float64)
    spread = np.maximum(spread, 1 / np.sqrt(np.prod(scaled.shape[1:])))
    return ((scaled - scaled.mean(axis=axes, keepdims=True, dtype=np.float64)) / spread).astype(np.float32)


def _check(arrays: readers.Arrays, source: str | Path) -> None:
    classes = len(arrays["classes"])
    if classes < 2:
        raise BadInput(source, "classes", f"found {classes}", "at least two classes")
    for part in ("train", "test"):
        images, labels = arrays[f"{part}_images"], arrays[f"{part}_labels"]
        if images.ndim != 4 or not images.size:
            found = f"found shape {images.shape}"
            raise BadInput(source, f"{part}_images", found, "example x height x width (x channel)")
        if labels.shape != (len(images),) or labels.dtype.kind not in "iu":
            found = f"found {labels.dtype} of shape {labels.shape}"
            raise BadInput(source, f"{part}_labels", found, f"{len(images)} integers, one an image")
        absent = sorted(set(range(classes)) - set(labels.tolist()))
        if absent:
            found = f"class {arrays['classes'][absent[0]]} has no example"
            raise BadInput(source, f"{part}_labels", found, f"every one of the {classes} classes in both splits")
        if labels.min() < 0 or labels.max() >= classes:
            found = f"found labels {labels.min()} to {labels.max()}"
            raise BadInput(source, f"{part}_labels", found, f"allowed: 0 to {classes - 1}")
    if arrays["train_images"].shape[1:] != arrays["test_images"].shape[1:]:
        shapes = " and ".join(str(arrays[f"{part}_images"].shape[1:]) for part in ("train", "test"))
        raise BadInput(source, "test_images", f"images of two sizes, {shapes}", "one size")
