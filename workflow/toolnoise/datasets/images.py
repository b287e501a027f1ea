"""Encoded images to pixels: decoded by Pillow, as RGB, and cut to one size."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from toolnoise.errors import BadInput

# Those that a data set of photographs or drawings comes in: each further decoder is one more that bad bytes can reach.
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
DEEPER = ("I", "F")
BROKEN = (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, Image.DecompressionBombError)


def decode(data: bytes, archive: str | Path, name: str, size: int | None = None) -> np.ndarray:
    """The pixels of an image, height x width x 3; with `size`, its middle as a square of that many pixels.

    For that the image is first scaled (bilinear) until its shorter side is `size` long.
    """
    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.mode.startswith(DEEPER):
                raise BadInput(archive, name, f"an image of mode {image.mode}", "allowed: 8 bits a channel")
            image = image.convert("RGB")
    except BROKEN as error:
        reason = "no known format" if isinstance(error, UnidentifiedImageError) else error
        raise BadInput(archive, name, f"does not decode ({reason})", f"allowed: {', '.join(FORMATS)}") from None
    return np.asarray(image if size is None else _squared(image, size))


def _squared(image: Image.Image, size: int) -> Image.Image:
    scale = size / min(image.size)
    if scale != 1:
        image = image.resize([max(size, round(side * scale)) for side in image.size], Image.Resampling.BILINEAR)
    left, top = ((side - size) // 2 for side in image.size)
    return image.crop((left, top, left + size, top + size))
