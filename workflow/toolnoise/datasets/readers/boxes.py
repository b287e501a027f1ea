"""The box of an image that a network sees, by the laws of TensorFlow's Model Garden, from the image's height and width.

Boxes are top, left, height and width in whole pixels. They are drawn from the integers of a stream by operations that
IEEE 754 rounds in one way only.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from toolnoise import streams

# After so many boxes that do not fit, the whole image is taken.
ATTEMPTS = 100


def middle(sizes: np.ndarray) -> np.ndarray:
    """For testing: the square in the middle, 224/256 of the shorter side."""
    side = np.maximum(1, sizes.min(axis=1, keepdims=True) * 7 // 8)
    return np.concatenate([(sizes - side + 1) // 2, side, side], axis=1)


def drawn(law: Mapping[str, Any], sizes: np.ndarray, stream: Callable[[int], int]) -> np.ndarray:
    """For training: `sample_distorted_bounding_box` of each image, int32 [N, 4], from a stream for each attempt.

    `law` has the bounds of a box's `area`, a share of the image, and of its `aspect`, width over height. The aspect is
    uniform, and so is the height, within what aspect and area allow. A box of less than the share `covered` is refused.
    """
    boxes, left = np.concatenate([np.zeros_like(sizes), sizes], axis=1).astype(np.int32), np.arange(len(sizes))
    for attempt in range(ATTEMPTS):
        # Every image has its own words in each attempt, whichever images have a box already.
        words = streams.raw(stream(attempt), 4 * len(sizes)).reshape(-1, 4)[left]
        tried, fits = _tried(law, sizes[left].T, words.T)
        boxes[left[fits]] = tried[fits]
        left = left[~fits]
        if not left.size:
            break
    return boxes


def _tried(law: Mapping[str, Any], sizes: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    (heights, widths), (narrow, wide) = sizes.astype(np.float64), law["aspect"]
    aspect = narrow + (wide - narrow) * ((words[0] >> np.uint64(32)) * 2.0**-32)
    least, most = (share * heights * widths for share in law["area"])
    highest = np.minimum(np.rint(np.sqrt(most / aspect)), np.floor((widths + 0.5 - 1e-7) / aspect))
    highest = np.minimum(highest, heights)
    lowest = np.minimum(np.rint(np.sqrt(least / aspect)), highest)
    height = lowest + streams.below(words[1], highest - lowest + 1)
    # Rounding may have left the bounds: try a row more, or a row less.
    height += height * np.rint(height * aspect) < least
    height -= height * np.rint(height * aspect) > most
    width = np.rint(height * aspect)
    area, least = height * width, np.maximum(least, law.get("covered", 0) * heights * widths)
    fits = (area > 0) & (area >= least) & (area <= most) & (width <= widths) & (height <= heights)
    # As there, the last row and the last column are only seen by a box that is as high or wide as the image.
    top, left = streams.below(words[2], heights - height), streams.below(words[3], widths - width)
    return np.stack([top, left, height, width], axis=1).astype(np.int32), fits
