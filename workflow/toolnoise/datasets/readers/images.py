"""Decodes images to RGB pixels of one size with Pillow."""

import io
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from toolnoise.base.errors import BadInput
from toolnoise.base.progress import progress
from toolnoise.datasets.archives import Members
from toolnoise.datasets.prefetch import map_ahead
from toolnoise.datasets.sources import keeps_originals

# The usual formats of photographs and drawings. Each further decoder would be exposed to damaged files.
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
# The largest ratio of the sides: a strip one pixel wide would be scaled to gigabytes before its middle is cropped.
MOST_STRETCHED = 100
DEEPER = ("I", "F")
BROKEN = (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, Image.DecompressionBombError)

Fit = Callable[[Image.Image, int], Image.Image]


def crop_middle(image: Image.Image, size: int) -> Image.Image:
    """Scale the image until its shorter side has `size` pixels, and crop the square in its middle."""
    scale = size / min(image.size)
    if scale * max(image.size) > MOST_STRETCHED * size:
        raise ValueError(
            f"{image.width} x {image.height} pixels are longer than wide by more than {MOST_STRETCHED} times"
        )
    if scale != 1:
        image = image.resize([max(size, round(side * scale)) for side in image.size], Image.Resampling.BILINEAR)
    left, top = ((side - size) // 2 for side in image.size)
    return image.crop((left, top, left + size, top + size))


def resize_whole(image: Image.Image, size: int) -> Image.Image:
    """Resize the whole image to a square of `size` pixels, whatever its shape."""
    return image.resize((size, size), Image.Resampling.BILINEAR)


def pixels_of(data: bytes, source: str | Path, name: str, fit: Callable[..., Any] = np.asarray) -> np.ndarray:
    """The pixels of an encoded image, height x width x 3, after `fit`; errors state `source` and `name`."""
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.mode.startswith(DEEPER):
                raise BadInput(source, name, f"an image of mode {image.mode}", "allowed: 8 bits a channel")
            return np.asarray(fit(image.convert("RGB")))
    except BROKEN as error:
        reason = "no known format" if isinstance(error, UnidentifiedImageError) else error
        raise BadInput(source, name, f"does not decode ({reason})", f"allowed: {', '.join(FORMATS)}") from None


class Decoder:
    """Decodes the images of a data set: each as RGB, all of one size.

    If the data set's entry has `image_size`, `fit` brings each image to that size. If it has `stored_size` as well,
    `fit` brings each image to `stored_size`, which leaves a `margin` for choosing windows of `image_size`.
    Originals stay encoded, and are decoded only to refuse damaged ones; a network sees them at the size `side`.
    """

    def __init__(self, name: str, entry: dict[str, Any], threads: int, fit: Fit = crop_middle) -> None:
        self.threads, self.fit, self.shape, self.side = threads, fit, None, 0
        seen = entry.get("image_size")
        self.size = entry.get("stored_size", seen)
        if keeps_originals(entry):
            self.side = self.size = seen
        if self.size is not None and (seen is None or self.size < seen):
            raise BadInput(f"dataset {name}", "stored_size", f"found {self.size}", f"image_size ({seen}) or more")
        self.margin = self.size - seen if seen else 0

    def decode(self, members: Members, names: Sequence[str]) -> Iterator[Any]:
        """The pixels of each named image, height x width x 3; for an original, its bytes, height and width."""
        decoded = map_ahead(lambda name: self._decode(members, name), names, self.threads)
        with progress(f"decoding {members.path.name}", len(names), "images") as bar:
            for name, image in zip(names, decoded, strict=True):
                shape = () if self.side else image.shape
                if self.shape is None:
                    self.shape = shape
                if shape != self.shape:
                    sizes = "{1} x {0} pixels where others have {3} x {2}".format(*shape[:2], *self.shape[:2])
                    raise BadInput(members.path, name, sizes, "one size, or image_size in the data set's entry")
                yield image
                bar.update()

    def _decode(self, members: Members, name: str) -> Any:
        data = members[name]
        if self.side:
            return np.frombuffer(data, np.uint8), *pixels_of(data, members.path, name).shape[:2]
        return pixels_of(data, members.path, name, lambda image: self.fit(image, self.size) if self.size else image)
