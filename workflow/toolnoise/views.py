"""Views of a test image, which a remedy averages predictions over: moved, mirrored, or both.

A view is made as training makes its crops: of the stored image, normalised, with zeros around it, the window that the
network sees is taken at another place; then it may be mirrored. The image as it is belongs to every set. The sets are
Summers & Dinneen's: for CIFAR-10 those of 25 and 81 crops, for MNIST that of 9.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np


class View(NamedTuple):
    """The window this many pixels further down and to the right than the middle, and whether it is mirrored."""

    down: int
    right: int
    mirrored: bool


def _crops(padding: int, stride: int) -> tuple[View, ...]:
    steps = range(-padding, padding + 1, stride)
    return tuple(View(down, right, mirrored=False) for down in steps for right in steps)


def _and_mirrored(views: tuple[View, ...]) -> tuple[View, ...]:
    return (*views, *(view._replace(mirrored=True) for view in views))


_CROPS = {"crops9": _crops(1, 1), "crops25": _crops(4, 2), "crops81": _crops(4, 1)}
SETS = {
    "flip": _and_mirrored((View(0, 0, mirrored=False),)),
    **_CROPS,
    **{f"flip+{name}": _and_mirrored(views) for name, views in _CROPS.items()},
}


def seen(images: np.ndarray, margin: int, views: Iterable[View]) -> Iterator[tuple[View, np.ndarray]]:
    """Each view of images [N, H, W, C], which are higher and wider by `margin` than what the network sees of them."""
    views = tuple(views)
    reach = max((max(abs(view.down), abs(view.right)) for view in views), default=0)
    around = ((0, 0), (reach, reach), (reach, reach), (0, 0))
    padded, (height, width) = np.pad(images, around), (side - margin for side in images.shape[1:3])
    start = reach + margin // 2
    for view in views:
        top, left = start + view.down, start + view.right
        window = padded[:, top : top + height, left : left + width]
        yield view, window[:, :, ::-1] if view.mirrored else window
