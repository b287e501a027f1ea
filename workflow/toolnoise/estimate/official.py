"""Official data sets before they are downloaded: their size and shape, without content.

They are recognised by the checksums of their archives, so that a user's file in their place is not taken for them.
"""

from typing import Any, NamedTuple

import numpy as np

from toolnoise.datasets.prepared import Data, Split
from toolnoise.datasets.readers import originals
from toolnoise.datasets.sources import checksums, keeps_originals
from toolnoise.study.entries import outcome


class Size(NamedTuple):
    """Training examples, test examples, classes, the image side if the archive fixes it, and colour channels.

    `labels` are all those that each picture may be asked for at once. `archives` has the bytes of the two archives, of
    which originals take all but the names (0.7 % of ImageNet's).
    """

    train: int
    test: int
    classes: int
    side: int = 0
    channels: int = 3
    labels: int = 0
    archives: tuple[int, int] = (0, 0)


# Examples, and CelebA's labels: Zhuang et al., table 4; ImageNet's classes: Russakovsky et al. (2015).
# MNIST: LeCun et al.'s page; Fashion-MNIST: Xiao et al. (2017).
SIZES = {
    "cifar10": Size(50_000, 10_000, 10, 32),
    "cifar100": Size(50_000, 10_000, 100, 32),
    "celeba": Size(162_770, 19_962, 2, labels=40),
    "imagenet": Size(1_281_167, 50_000, 1000, archives=(147_897_477_120, 6_744_924_160)),
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
    whole = keeps_originals(entry)
    stored = seen if whole else size.side or entry.get("stored_size", seen)
    if not seen:
        return None
    targets, of = entry.get("targets"), outcome(entry)
    asked = tuple(map(str, range(size.labels if targets == "all" else len(targets)))) if targets else ()
    parts = []
    for count, archive in zip((size.train, size.test), size.archives, strict=True):
        pixels = np.broadcast_to(np.uint8(0), (count, stored, stored, size.channels))
        if whole:
            sizes = np.broadcast_to((seen, seen, archive // count), (count, 3))
            pixels = originals.originals_in(np.broadcast_to(np.uint8(0), archive), sizes, seen)
        labels = np.broadcast_to(np.int32(0), (count, len(asked)) if asked else count)
        parts.append(Split(pixels, labels, margin=stored - seen, outcome=of))
    return Data(*parts, classes=tuple(map(str, range(size.classes))), groups=(), sha256="", asked=asked)
