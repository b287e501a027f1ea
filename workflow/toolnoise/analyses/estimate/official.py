"""Official data sets before they are downloaded: their size and shape, without content.

They are recognised by the checksums of their archives, so that a user's file in their place is not taken for them.
"""

from typing import Any, NamedTuple

import numpy as np

from toolnoise.datasets.prepared import Data, Split
from toolnoise.datasets.sources import checksums
from toolnoise.study.entries import outcome


class Size(NamedTuple):
    """Training examples, test examples, classes, the image side if the archive fixes it, and colour channels.

    `labels` are all those that each picture may be asked for at once.
    """

    train: int
    test: int
    classes: int
    side: int = 0
    channels: int = 3
    labels: int = 0


# Examples, and CelebA's labels: Zhuang et al., table 4; ImageNet's classes: Russakovsky et al. (2015).
# MNIST: LeCun et al.'s page; Fashion-MNIST: Xiao et al. (2017).
SIZES = {
    "cifar10": Size(50_000, 10_000, 10, 32),
    "cifar100": Size(50_000, 10_000, 100, 32),
    "celeba": Size(162_770, 19_962, 2, labels=40),
    "imagenet": Size(1_281_167, 50_000, 1000),
    "mnist": Size(60_000, 10_000, 10, 28, 1),
    "fashion-mnist": Size(60_000, 10_000, 10, 28, 1),
}


def blank(entry: dict[str, Any], registry: dict[str, Any]) -> Data | None:
    """Data as large as an official data set, all zero, to estimate with before anything is downloaded.

    None if the entry describes no official data set, or does not say how large its pictures are.
    """
    name = next((name for name in SIZES if checksums(registry[name]) == checksums(entry)), None)
    if name is None:
        return None
    size = SIZES[name]
    seen = size.side or entry.get("image_size", 0)
    stored = size.side or entry.get("stored_size", seen)
    if not seen:
        return None
    targets, of = entry.get("targets"), outcome(entry)
    asked = tuple(map(str, range(size.labels if targets == "all" else len(targets)))) if targets else ()
    parts = []
    for count in (size.train, size.test):
        pixels = np.broadcast_to(np.uint8(0), (count, stored, stored, size.channels))
        labels = np.broadcast_to(np.int32(0), (count, len(asked)) if asked else count)
        parts.append(Split(pixels, labels, margin=stored - seen, outcome=of))
    return Data(*parts, classes=tuple(map(str, range(size.classes))), groups=(), sha256="", asked=asked)
