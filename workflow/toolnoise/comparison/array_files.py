"""Arrays in files from anywhere: recognised by their first bytes, and of finite numbers."""

from pathlib import Path

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable
from toolnoise.comparison.table_files import LARGEST


def zipped(path: str) -> bool:
    """Whether a file is a zip archive, like a study's data."""
    return _begins(path, b"PK\x03\x04")


def is_array(path: str) -> bool:
    """Whether a file is an .npy, which no other file may claim to be."""
    if _begins(path, b"\x93NUMPY"):
        return True
    if Path(path).suffix in (".npy", ".npz") and not zipped(path):
        raise BadInput(path, "", "not a NumPy array", "a .npy file that numpy.save wrote, or CSV")
    return False


def require_array(path: str, array: np.ndarray, most: int) -> None:
    """Refuse an array that has no numbers, or more than so many dimensions."""
    if array.dtype.kind not in "biuf" or array.ndim not in range(1, most + 1):
        raise BadInput(path, "", f"found {array.dtype} of shape {array.shape}", f"numbers in 1 to {most} dimensions")
    if 0 in array.shape:
        raise BadInput(path, "", f"found shape {array.shape}", "at least one run and one example")
    require_numbers(path, array)


def require_numbers(path: str, values: np.ndarray) -> None:
    """Refuse numbers that are not finite."""
    for place, part in enumerate(values):
        if not np.isfinite(part).all():
            where = (place, *np.argwhere(~np.isfinite(part))[0]) if part.ndim else (place,)
            raise BadInput(path, f"[{', '.join(map(str, where))}]", f"found {values[where]}", "finite numbers")


def require_squares(path: str, values: np.ndarray) -> None:
    """Refuse numbers whose squares are no floats."""
    if np.abs(values).max() > LARGEST:
        raise BadInput(path, "", f"found {np.abs(values).max():g}", f"numbers within {LARGEST:g} of 0")


def shapes_of(named: dict[str, np.ndarray]) -> str:
    """The arrays of an archive in words."""
    return ", ".join(f"{name} of shape {array.shape}" for name, array in named.items()) or "no array"


def _begins(path: str | Path, mark: bytes) -> bool:
    with readable(path, "a .npy or CSV file"), Path(path).open("rb") as file:
        return file.read(len(mark)) == mark
