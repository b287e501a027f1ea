"""Files in a zip, also those packed with Zstandard, which Python 3.14 reads and earlier versions do not.

Inspect packs its logs so. Each file is read on its own, none is larger than the memory allows, and nothing is written.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from toolnoise.base.errors import BadInput
from toolnoise.base.files import LARGEST_TEXT, readable

ZSTANDARD = 93
WANTED = "a log of Inspect"
# The header of a file within a zip: its last fields are the lengths of the name and of what stands behind it.
LOCAL = struct.Struct("<4s22xHH")


def names(path: str) -> list[str]:
    """The names in a zip; none if it is no zip."""
    try:
        with zipfile.ZipFile(path) as packed:
            return packed.namelist()
    except (OSError, ValueError, zipfile.BadZipFile):
        return []


def reader(path: str) -> Callable[[str], bytes]:
    """A function that gives the bytes of a file in a zip."""
    with readable(path, WANTED), zipfile.ZipFile(path) as packed:
        parts = {part.filename: part for part in packed.infolist()}

    def read(name: str) -> bytes:
        part = parts[name]
        if part.file_size > LARGEST_TEXT:
            raise BadInput(path, name, f"unpacks to {part.file_size} bytes", f"at most {LARGEST_TEXT}")
        with readable(path, WANTED):
            if part.compress_type == ZSTANDARD:
                return _unpacked(path, part)
            with zipfile.ZipFile(path) as packed:
                return packed.read(name)

    return read


def _unpacked(path: str, part: zipfile.ZipInfo) -> bytes:
    """The bytes of a file that is packed with Zstandard."""
    try:
        import zstandard
    except ImportError:
        allowed = "pip install zstandard; or a copy that inspect log convert --to json makes"
        raise BadInput(path, part.filename, "is packed with Zstandard", allowed) from None
    with Path(path).open("rb") as file:
        file.seek(part.header_offset)
        sign, name, further = LOCAL.unpack(file.read(LOCAL.size))
        if sign != b"PK\3\4":
            raise ValueError("no file where the zip says")
        file.seek(name + further, io.SEEK_CUR)
        packed = io.BytesIO(file.read(part.compress_size))
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
            content = stream.read(part.file_size + 1)
    except zstandard.ZstdError as error:
        raise ValueError(str(error)) from None
    if len(content) != part.file_size or zlib.crc32(content) != part.CRC:
        raise ValueError(f"{part.filename} has other bytes than the zip says")
    return content
