"""Originals in prepared data (`stored_size: original`): a box of each is decoded and resized when a step needs it.

A box is top, left, height and width in whole pixels, by the rules of TensorFlow's Model Garden for the image's height
and width. Boxes are drawn from the integers of a stream by operations whose rounding IEEE 754 fixes. Resizing follows
the Model Garden, too: bilinear between the four nearest pixels, as a sum of whole numbers that is rounded once. So the
bits of an image depend only on its file, its box and Pillow's decoder.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from toolnoise import streams
from toolnoise.base.errors import BadInput
from toolnoise.datasets.prefetch import map_ahead

# The threads that decode each part of an epoch ahead; at most one per available CPU.
THREADS = min(8, len(os.sched_getaffinity(0)))
# After this many boxes that do not fit, the whole image is used.
ATTEMPTS = 100


@dataclass(frozen=True)
class Originals:
    """Encoded images that stand in for the array of their middles, [N, side, side, 3].

    The bytes of image i are `stored[stops[i] - lengths[i] : stops[i]]`, and `sizes[i]` is its height and width.
    """

    stored: np.ndarray
    stops: np.ndarray
    lengths: np.ndarray
    sizes: np.ndarray
    side: int
    file: str | Path
    dtype: ClassVar[np.dtype] = np.dtype(np.uint8)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array that they stand in for."""
        return len(self.stops), self.side, self.side, 3

    @property
    def nbytes(self) -> int:
        """The number of stored bytes."""
        return int(self.lengths.sum())

    def __getitem__(self, which: np.ndarray | slice) -> "Originals":
        return replace(self, **{name: getattr(self, name)[which] for name in ("stops", "lengths", "sizes")})

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self.stored[stop - length : stop] for stop, length in zip(self.stops, self.lengths, strict=True))

    def middles(self, down: int, right: int) -> np.ndarray:
        """The box of each image's middle, shifted by this many pixels of the array."""
        boxes = middle_boxes(self.sizes)
        # Shift to the nearest whole pixel of the original, and never beyond its edge.
        shifts = np.rint(np.outer(boxes[:, 2] / self.side, (down, right))).astype(boxes.dtype)
        boxes[:, :2] = np.clip(boxes[:, :2] + shifts, 0, self.sizes - boxes[:, 2:])
        return boxes

    def astype(self, dtype: type) -> np.ndarray:
        """The array that they stand in for, decoded."""
        return self.seen(middle_boxes(self.sizes)).astype(dtype, copy=False)

    def drawn(self, law: Mapping[str, Any], stream: Callable[[int], int]) -> np.ndarray:
        """A box of each image, [N, 4], drawn by a recipe's `law`, with one stream per attempt."""
        return drawn_boxes(law, self.sizes, stream)

    def seen(self, parts: np.ndarray) -> np.ndarray:
        """The given box of each image, at the size that a network sees, float32 from 0 to 255."""
        pictures = np.empty(self.shape, np.float32)
        images = zip(self, self.sizes, parts.reshape(-1, 4), strict=True)
        for place, pixels in enumerate(map_ahead(lambda image: self._picture(*image), images, THREADS)):
            pictures[place] = pixels
        return pictures

    def _picture(self, encoded: np.ndarray, size: np.ndarray, box: np.ndarray) -> np.ndarray:
        # Importing Pillow takes longer than importing everything else that reads prepared data.
        from toolnoise.datasets.readers.images import pixels_of

        pixels = pixels_of(encoded.tobytes(), self.file, "an image")
        if pixels.shape[:2] != tuple(size):
            raise BadInput(self.file, "", "an image has another size", "remove the file to have it prepared again")
        return resize_box(pixels, box, self.side)


def originals_in(stored: np.ndarray, sizes: np.ndarray, side: int, file: str | Path = "") -> Originals:
    """Originals from their bytes, one after another, and the height, width and bytes of each, [N, 3]."""
    lengths = sizes[:, 2].astype(np.int64)
    return Originals(stored, np.cumsum(lengths), lengths, sizes[:, :2], side, file)


def read_originals(path: str | Path, part: str, arrays: Mapping[str, np.ndarray]) -> Originals:
    """The originals of a part, among the arrays of prepared data."""
    stored, sizes, side = arrays[f"{part}_images"], arrays.get(f"{part}_sizes"), int(arrays["side"])
    fits = sizes is not None and sizes.shape[1] == 3 and sizes.min(initial=1) > 0 and stored.ndim == 1
    if not fits or sizes[:, 2].sum(dtype=np.int64) != stored.size or not 0 < side <= 4096 or "sha256" not in arrays:
        raise BadInput(path, f"{part}_sizes", "not those of the images", "remove the file to have it prepared again")
    return originals_in(stored, sizes, side, path)


def resize_box(pixels: np.ndarray, box: np.ndarray, side: int) -> np.ndarray:
    """A box of an image, resized to `side` x `side`, float32; mirrored first if its width is negative."""
    top, left, height, width = map(int, box)
    part = pixels[top : top + height, left : left + abs(width)][:, :: np.sign(width)]
    # The sums are at most 255 x 4096 x 4096, which fits into 32 bits.
    return (_between(_between(part, 0, side), 1, side) / side**2).astype(np.float32)


def _between(pixels: np.ndarray, axis: int, side: int) -> np.ndarray:
    """The values at `side` places along an axis, multiplied by `side`; the first place is the first pixel."""
    length = pixels.shape[axis]
    before, rest = np.divmod(np.arange(side) * length, side)
    rest = rest.astype(np.uint32).reshape(-1, *[1] * (2 - axis))
    after = np.minimum(before + 1, length - 1)
    return pixels.take(before, axis) * (np.uint32(side) - rest) + pixels.take(after, axis) * rest


# Boxes


def middle_boxes(sizes: np.ndarray) -> np.ndarray:
    """The boxes for testing: the square in the middle, 224/256 of the shorter side."""
    side = np.maximum(1, sizes.min(axis=1, keepdims=True) * 7 // 8)
    return np.concatenate([(sizes - side + 1) // 2, side, side], axis=1)


def drawn_boxes(law: Mapping[str, Any], sizes: np.ndarray, stream: Callable[[int], int]) -> np.ndarray:
    """The boxes for training: `sample_distorted_bounding_box` of each image, int32 [N, 4], one stream per attempt.

    `law` has the bounds of a box's `area`, a share of the image, and of its `aspect`, width over height. The aspect is
    uniform, and so is the height within the limits of aspect and area. A box smaller than the share `covered` fails.
    """
    boxes, left = np.concatenate([np.zeros_like(sizes), sizes], axis=1).astype(np.int32), np.arange(len(sizes))
    for attempt in range(ATTEMPTS):
        # Every image has its own words in each attempt, even if other images already have a box.
        words = streams.raw_integers(stream(attempt), 4 * len(sizes)).reshape(-1, 4)[left]
        tried, fits = _tried_boxes(law, sizes[left].T, words.T)
        boxes[left[fits]] = tried[fits]
        left = left[~fits]
        if not left.size:
            break
    return boxes


def _tried_boxes(law: Mapping[str, Any], sizes: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    (heights, widths), (narrow, wide) = sizes.astype(np.float64), law["aspect"]
    aspect = narrow + (wide - narrow) * ((words[0] >> np.uint64(32)) * 2.0**-32)
    least, most = (share * heights * widths for share in law["area"])
    highest = np.minimum(np.rint(np.sqrt(most / aspect)), np.floor((widths + 0.5 - 1e-7) / aspect))
    highest = np.minimum(highest, heights)
    lowest = np.minimum(np.rint(np.sqrt(least / aspect)), highest)
    height = lowest + streams.below(words[1], highest - lowest + 1)
    # Rounding may have exceeded the bounds: add or remove a row.
    height += height * np.rint(height * aspect) < least
    height -= height * np.rint(height * aspect) > most
    width = np.rint(height * aspect)
    area, least = height * width, np.maximum(least, law.get("covered", 0) * heights * widths)
    fits = (area > 0) & (area >= least) & (area <= most) & (width <= widths) & (height <= heights)
    # As in TensorFlow, only a box as high or wide as the image contains its last row or column.
    top, left = streams.below(words[2], heights - height), streams.below(words[3], widths - width)
    return np.stack([top, left, height, width], axis=1).astype(np.int32), fits
