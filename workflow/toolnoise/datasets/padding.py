"""What lies beyond the edge of an image: zero after normalisation or, with `padding: black`, the pixel 0 before it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from toolnoise.datasets.prepared import Split


def beyond(recipe: Mapping[str, Any], split: Split) -> np.ndarray:
    """The value of each channel beyond the edge of a normalised image, float32."""
    black = np.zeros((1, 1, 1, split.pixels.shape[-1]), split.pixels.dtype)
    scaling = split.normalise if "padding" in recipe else "none"
    return Split(black, split.labels[:1], split.maximum, scaling).images[0, 0, 0]


def around(recipe: Mapping[str, Any], split: Split) -> np.ndarray | None:
    """What to add to images with zeros around them, [H, W, C] with the crop's padding; None if that is nothing."""
    if "padding" not in recipe:
        return None
    pad, (height, width, channels) = recipe["crop"], split.pixels.shape[1:]
    # Adding -0 changes no bit of any number, and adding to 0 gives the value itself: pixels are moved, never computed.
    values = np.full((height + 2 * pad, width + 2 * pad, channels), beyond(recipe, split), np.float32)
    values[pad : pad + height, pad : pad + width] = -0.0
    return values
