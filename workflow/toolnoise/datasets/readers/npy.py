"""A folder of .npy files with the arrays of the reader npz, mapped into memory: data may be larger than memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from toolnoise.base.arrays import read_npy
from toolnoise.datasets.raw import Raw
from toolnoise.datasets.readers.npz import ARRAYS, raw_of
from toolnoise.datasets.sources import path_of


@contextmanager
def read(name: str, entry: dict[str, Any], _threads: int) -> Iterator[Raw]:
    """Read the folder; classes are numbered if there is no classes.npy."""
    path = path_of(name, entry, "a folder with " + ", ".join(f"{array}.npy" for array in ARRAYS))
    arrays = [array for array in (*ARRAYS, "classes") if (path / f"{array}.npy").exists()]
    yield raw_of(path, {array: read_npy(path / f"{array}.npy") for array in arrays})
