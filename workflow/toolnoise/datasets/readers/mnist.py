"""MNIST and data sets in its format: four idx files, compressed with gzip or not.

An idx file consists of two zero bytes, the kind of number (8 for unsigned bytes), the number of axes, the length of
each axis as four bytes (highest byte first), and the numbers (LeCun et al., "The MNIST database").
"""

import math
import struct
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable
from toolnoise.datasets.archives import unpack_gzip
from toolnoise.datasets.prepared import PARTS, Raw, RawPart
from toolnoise.datasets.sources import paths_of

UNSIGNED_BYTES = 8


def read(name: str, entry: dict[str, Any], _threads: int, _stack: ExitStack) -> Raw:
    """Read images and labels; the files name no classes, so they are numbered."""
    train, test = (_part(*paths_of(entry, f"{part}_images", f"{part}_labels")) for part in PARTS)
    return Raw(train, test.last(name, entry), [str(number) for number in range(1 + int(train.labels.max(initial=0)))])


def _part(images_path: Path, labels_path: Path) -> RawPart:
    images, labels = _numbers(images_path, 3), _numbers(labels_path, 1)
    if len(images) != len(labels):
        wanted = f"one for each of the {len(images)} images of {images_path}"
        raise BadInput(labels_path, "", f"found {len(labels)} labels", wanted)
    return RawPart(images[..., np.newaxis], labels.astype(np.int32))


def _numbers(path: Path, axes: int) -> np.ndarray:
    """The array in an idx file of unsigned bytes."""
    wanted = f"an idx file of unsigned bytes with {axes} {'axis' if axes == 1 else 'axes'}"
    with readable(path, wanted):
        content = unpack_gzip(path)
    start, header = bytes((0, 0, UNSIGNED_BYTES, axes)), 4 + 4 * axes
    if content[:4] != start:
        raise BadInput(path, "", f"begins with {content[:4].hex() or 'nothing'}", f"{start.hex()}: {wanted}")
    if len(content) < header:
        raise BadInput(path, "", f"truncated: {len(content)} bytes", f"{wanted}, which begins with {header}")
    shape = struct.unpack(f">{axes}I", content[4:header])
    if len(content) - header != math.prod(shape):
        allowed = f"{' x '.join(map(str, shape))}, as the header says"
        raise BadInput(path, "", f"found {len(content) - header} bytes after its header", allowed)
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)
