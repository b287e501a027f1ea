"""Arrays in files: NumPy's own formats, never pickled, written whole or not at all."""

import math
import os
import struct
import sys
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable, replacing, require_unpacked

# NumPy's letters for the kinds of its types.
KINDS = {"b": "booleans", "i": "integers", "u": "integers from 0 up", "f": "floats", "U": "texts"}
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


class Rows(NamedTuple):
    """An array that is written row by row as it is computed, so it need not fit into memory."""

    shape: tuple[int, ...]
    dtype: np.dtype
    rows: Iterable[np.ndarray]


def write_npz(
    path: str | Path, arrays: Mapping[str, np.ndarray | Rows] | Iterable[tuple[str, np.ndarray | Rows]]
) -> None:
    """Write arrays as one uncompressed .npz; the same arrays give the same bytes.

    Pairs are consumed one after the other, so a later array may be computed from the rows of an earlier one.
    """
    with replacing(path) as scratch, scratch.open("wb") as file:
        pack_npz(file, arrays)


def pack_npz(
    file: IO[bytes], arrays: Mapping[str, np.ndarray | Rows] | Iterable[tuple[str, np.ndarray | Rows]]
) -> None:
    """Write arrays as an .npz into an open file, from its current position."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in arrays.items() if isinstance(arrays, Mapping) else arrays:
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                _write(member, array)


def write_npy(path: str | Path, array: np.ndarray | Rows) -> None:
    """Write one array as .npy, which readers can map into memory."""
    with replacing(path) as scratch, scratch.open("wb") as file:
        _write(file, array)


def _write(file: IO[bytes], array: np.ndarray | Rows) -> None:
    if isinstance(array, Rows):
        descr = np.lib.format.dtype_to_descr(np.dtype(array.dtype))
        header = {"descr": descr, "fortran_order": False, "shape": array.shape}
        np.lib.format.write_array_header_1_0(file, header)
        for row in array.rows:
            file.write(np.ascontiguousarray(row).data)
    else:
        np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


@contextmanager
def filling_npy(path: str | Path, shape: tuple[int, ...], dtype: Any = np.float32) -> Iterator[np.ndarray]:
    """Yield an array mapped to a file, to be filled; when the block succeeds it is the .npy at `path`."""
    with replacing(path) as scratch:
        array = np.lib.format.open_memmap(scratch, "w+", dtype, shape)
        # On a full disk, filling a hole of a mapped file kills the process.
        if hasattr(os, "posix_fallocate"):
            with scratch.open("rb+") as file:
                os.posix_fallocate(file.fileno(), 0, scratch.stat().st_size)
        yield array
        array.flush()


def npz_names(path: str | Path) -> list[str]:
    """The names of the arrays in an .npz file."""
    with readable(path, "a whole .npz file"), zipfile.ZipFile(path) as archive:
        require_distinct(archive.namelist())
        return [name.removesuffix(".npy") for name in archive.namelist()]


def require_distinct(members: Iterable[str]) -> None:
    """Refuse an .npz with two members for one array: NumPy would silently read only one of them."""
    for name, count in Counter(name.removesuffix(".npy") for name in members).items():
        if count > 1:
            raise ValueError(f"{name} is there {count} times")


def read_npz(path: str | Path, mapped: Collection[str] = ()) -> dict[str, np.ndarray]:
    """Read every array of an .npz file in order; the arrays named in `mapped` are memory-mapped read-only."""
    with (
        readable(path, "a whole .npz file"),
        Path(path).open("rb") as file,
        np.lib.npyio.NpzFile(file, allow_pickle=False) as archive,
    ):
        members = {member.name.removesuffix(".npy"): member for member in _members(path, archive.zip)}
        # One map serves all arrays: mapping many small arrays one by one takes longer than reading them.
        whole = np.memmap(path, np.uint8, "r") if mapped else None
        return {name: _view(whole, file, members[name]) if name in mapped else archive[name] for name in archive.files}


class _Member(NamedTuple):
    """An array in an .npz: its place in the file, the size of its header in bytes, and the header's content."""

    name: str
    info: zipfile.ZipInfo
    header: int
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype


def _members(path: str | Path, archive: zipfile.ZipFile) -> Iterator[_Member]:
    """Yield the arrays of an .npz; refuse too large ones and false headers, for which NumPy would allocate memory."""
    require_distinct(archive.namelist())
    for info in archive.infolist():
        if info.compress_type != zipfile.ZIP_STORED:
            require_unpacked(path, info.filename, info.file_size, info.compress_size)
        with archive.open(info) as file:
            # NumPy would return any other content as bytes.
            if not file.peek(len(np.lib.format.MAGIC_PREFIX)).startswith(np.lib.format.MAGIC_PREFIX):
                raise ValueError(f"{info.filename} is no array")
            shape, fortran, dtype = _header(file, info.file_size, info.filename)
            member = _Member(info.filename, info, file.tell(), shape, fortran, dtype)
        yield member


def _header(file: IO[bytes], size: int, name: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, order and type of an .npy of this size.

    A header that claims more numbers than the file has is refused before memory is allocated for them. A header that
    claims fewer is refused, too: the checksum of a member of an .npz is compared only at the member's end.
    """
    version = np.lib.format.read_magic(file)
    if version not in HEADERS:
        raise ValueError(f"{name} has the .npy version {version}")
    shape, fortran, dtype = HEADERS[version](file)
    claimed, present = math.prod(shape) * dtype.itemsize, size - file.tell()
    # With a dimension of 0 the product is 0, however large the others are.
    if (claimed != present and not dtype.hasobject) or min(shape, default=0) < 0 or max(shape, default=0) > sys.maxsize:
        raise ValueError(f"{name} claims {claimed} bytes and has {present}")
    return shape, fortran, dtype


def _view(whole: np.ndarray, file: IO[bytes], member: _Member) -> np.ndarray:
    """An array in the bytes of its file."""
    if member.info.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{member.name.removesuffix('.npy')} is compressed")
    if member.dtype.hasobject or not member.dtype.itemsize:
        raise ValueError(f"{member.name.removesuffix('.npy')} has {member.dtype}, which are no numbers")
    # The last two fields of a zip's local header are the lengths of the two fields between it and the member's content.
    file.seek(member.info.header_offset + 26)
    start = member.info.header_offset + 30 + sum(struct.unpack("<HH", file.read(4))) + member.header
    size = math.prod(member.shape) * member.dtype.itemsize
    array = whole[start : start + size].view(member.dtype)
    return np.asarray(array.reshape(member.shape, order="F" if member.fortran else "C"))


def unpack_npz(file: IO[bytes]) -> dict[str, np.ndarray]:
    """Read every array of an .npz at the end of an open file."""
    with np.lib.npyio.NpzFile(file, allow_pickle=False) as archive:
        for _ in _members("the archive", archive.zip):
            pass
        return {name: archive[name] for name in archive.files}


def read_npy(path: str | Path) -> np.ndarray:
    """Map one .npy file into memory, read-only."""
    with readable(path, "a whole .npy file"):
        with Path(path).open("rb") as file:
            _header(file, os.fstat(file.fileno()).st_size, "its header")
        return np.lib.format.open_memmap(path, mode="r")


def require_kinds(
    path: str | Path, found: Mapping[str, np.ndarray], kinds: Mapping[str, tuple[str, tuple[int, ...]]]
) -> None:
    """Refuse arrays whose kind (NumPy's letter) or number of dimensions is not allowed for their name."""
    for name in kinds.keys() & found.keys():
        (letters, axes), array = kinds[name], found[name]
        if array.dtype.kind not in letters or array.ndim not in axes:
            numbers = " or ".join(map(str, axes))
            wanted = f"{' or '.join(KINDS[letter] for letter in letters)} in {numbers} dimensions"
            raise BadInput(path, name, f"found {array.dtype} of shape {array.shape}", wanted)


def bit_equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays have the same bits: zeros have signs, and identical NaNs count as equal."""
    return a.shape == b.shape and a.dtype == b.dtype and np.array_equal(as_bytes(a), as_bytes(b))


def as_bytes(array: np.ndarray) -> np.ndarray:
    """The bytes of an array in C order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def arrays_that_differ(arrays_a: dict[str, np.ndarray], arrays_b: dict[str, np.ndarray]) -> Iterator[tuple[str, str]]:
    """The name of each array that differs, with its first difference."""
    for name in dict.fromkeys((*arrays_a, *arrays_b)):
        if name not in arrays_a or name not in arrays_b:
            yield name, "missing in one of them"
        elif not bit_equal(arrays_a[name], arrays_b[name]):
            yield name, first_element(arrays_a[name], arrays_b[name])


def first_element(array_a: np.ndarray, array_b: np.ndarray) -> str:
    """The first place at which two arrays differ, with both values."""
    if array_a.shape != array_b.shape or array_a.dtype != array_b.dtype:
        return f"{array_a.dtype} of shape {array_a.shape} and {array_b.dtype} of shape {array_b.shape}"
    different = as_bytes(array_a) != as_bytes(array_b)
    if not different.any():
        return "in the header"
    differ = np.flatnonzero(different.reshape(array_a.size, -1).any(axis=1))
    place = tuple(int(index) for index in np.unravel_index(differ[0], array_a.shape))
    return f"at {place}: {array_a[place]} and {array_b[place]} ({len(differ)} of {array_a.size} differ)"
