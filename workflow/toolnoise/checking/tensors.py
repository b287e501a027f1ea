"""Arrays in files that another program wrote: .npy, .npz and .safetensors, as read-only arrays by name.

Such a file may be damaged or hostile. Nothing is unpickled, and no size that a file claims is believed before it fits
what the file has.
"""

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from toolnoise.base import arrays
from toolnoise.base.errors import BadInput
from toolnoise.base.files import parse_json, readable

MOST_HEADER = 1 << 24  # bytes
MOST_COPIED = 1 << 33  # bytes of an .npz, which may be compressed a thousandfold
# BF16, which NumPy lacks, becomes float32: the same values.
_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "BOOL": "|b1",
    **{f"{kind}{bits}": f"<{kind.lower()}{bits // 8}" for kind in "IU" for bits in (8, 16, 32, 64)},
}


def read_npy(path: Path) -> np.ndarray:
    """The array of an .npy file."""
    return _numbers(path, "", arrays.read_npy(path))


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name."""
    with readable(path, "a whole .npz file"), zipfile.ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
        if size > MOST_COPIED:
            raise BadInput(path, "", f"found {size} bytes of arrays", f"at most {MOST_COPIED}; or .safetensors")
        return {name: _numbers(path, name, values) for name, values in arrays.read_npz(path).items()}


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a .safetensors file by name, in the order of their bytes."""
    with readable(path, "a whole .safetensors file"):
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(_exactly(file, 8), "little")
            if length > min(MOST_HEADER, size - 8):
                raise ValueError(f"a header of {length} bytes")
            header = parse_json(_exactly(file, length).decode())
        if not isinstance(header, dict):
            raise ValueError("the header is no object")
        header.pop("__metadata__", None)
        entries = sorted(((name, _entry(name, item)) for name, item in header.items()), key=lambda item: item[1][2:])
        data = np.memmap(path, np.uint8, "r", 8 + length) if size > 8 + length else np.zeros(0, np.uint8)
        tensors, at = {}, 0
        for name, (kind, shape, begin, end) in entries:
            dtype = np.dtype(_TYPES[kind])
            # Tensors lie one after the other: no byte belongs to two of them, and none to no one.
            if begin != at or end > len(data) or end - begin != math.prod(shape) * dtype.itemsize:
                raise ValueError(f"tensor {name} of {kind} {shape} lies at bytes {begin} to {end}")
            # A copy is aligned; a slice of the file need not be.
            values = np.frombuffer(data[begin:end].tobytes(), dtype).reshape(shape)
            tensors[name] = (values.astype("<u4") << 16).view("<f4") if kind == "BF16" else values
            at = end
        if at != len(data):
            raise ValueError(f"{len(data) - at} bytes belong to no tensor")
        return tensors


READERS: Mapping[str, Any] = {".npy": read_npy, ".npz": read_npz, ".safetensors": read_safetensors}


def unequal(values: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Where the numbers of two arrays differ; NaNs are equal."""
    return (values != others) & ~(np.isnan(values) & np.isnan(others))


def names_of_unequal(arrays: Mapping[str, np.ndarray | None], others: Mapping[str, np.ndarray | None]) -> list[str]:
    """The names of all arrays that are not equal bit for bit, or that only one side has."""
    return [name for name in {**arrays, **others} if not _has_same_bits(arrays.get(name), others.get(name))]


def _has_same_bits(array: np.ndarray | None, other: np.ndarray | None) -> bool:
    if array is None or other is None:
        return array is other
    return (array.dtype, array.shape) == (other.dtype, other.shape) and array.tobytes() == other.tobytes()


def _numbers(path: Path, name: str, values: np.ndarray) -> np.ndarray:
    if values.dtype.kind not in "biuf":
        raise BadInput(path, name, f"found {values.dtype}", "booleans, integers or floats")
    return values


def _entry(name: str, entry: Any) -> tuple[str, tuple[int, ...], int, int]:
    """A tensor's type, shape and place."""
    if not isinstance(entry, dict):
        raise ValueError(f"tensor {name} is no object")
    kind, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not (isinstance(shape, list) and isinstance(place, list)):
        raise ValueError(f"tensor {name} has no lists of numbers")
    if kind not in _TYPES:
        raise ValueError(f"tensor {name} is of type {kind!r}, expected one of {', '.join(_TYPES)}")
    numbers = [*shape, *place]
    if len(place) != 2 or not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError(f"tensor {name} has the shape {shape} at {place}")
    return kind, tuple(shape), *place


def _exactly(file: IO[bytes], count: int) -> bytes:
    """So many bytes of a file; the count is bounded before, since Python allocates it."""
    content = file.read(count)
    if len(content) != count:
        raise EOFError(f"{count} bytes expected, {len(content)} found")
    return content
