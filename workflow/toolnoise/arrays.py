"""Arrays in files: NumPy's own formats, never pickled, written whole or not at all."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from toolnoise.files import readable, replacing


def write_npz(path: str | Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays as one uncompressed .npz; the same arrays give the same bytes."""
    with replacing(path) as scratch, scratch.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def write_npy(path: str | Path, array: np.ndarray) -> None:
    """Write one array as .npy, which readers can map into memory."""
    with replacing(path) as scratch, scratch.open("wb") as file:
        np.save(file, array, allow_pickle=False)


def read_npz(path: str | Path) -> dict[str, np.ndarray]:
    """Read every array of an .npz file in its order."""
    with (
        readable(path, "a whole .npz file"),
        Path(path).open("rb") as file,
        np.lib.npyio.NpzFile(file, allow_pickle=False) as archive,
    ):
        return {name: archive[name] for name in archive.files}


def read_npy(path: str | Path) -> np.ndarray:
    """Map one .npy file into memory, read-only."""
    with readable(path, "a whole .npy file"):
        return np.lib.format.open_memmap(path, mode="r")


def read_shapes(path: str | Path) -> dict[str, tuple[int, ...]]:
    """The shape of every array of an .npz file, without reading what is in them."""
    with readable(path, "a whole .npz file"), zipfile.ZipFile(path) as archive:
        return {name.removesuffix(".npy"): _shape(archive, name) for name in archive.namelist()}


def _shape(archive: zipfile.ZipFile, name: str) -> tuple[int, ...]:
    with archive.open(name) as member:
        version = np.lib.format.read_magic(member)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        return read(member)[0]
