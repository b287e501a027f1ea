"""What a caller gives: options that belong together, paths, and arrays of any library, as NumPy's."""

import os
from collections.abc import Mapping, Sequence
from numbers import Number
from pathlib import Path
from typing import Any, TypeGuard

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.printing import counted
from toolnoise.comparison import label_files
from toolnoise.comparison.label_files import Truth

# Of a direction: all metrics, or those named.
Directed = bool | str | Sequence[str]
WANTED = "an array, or something that NumPy makes one of: a tensor, a DataFrame, a list of numbers"


def is_path(given: object) -> TypeGuard[str | Path]:
    """Whether it names a file."""
    return isinstance(given, str | os.PathLike)


def paths(given: object) -> list[str] | None:
    """The paths that an arm is: one, or one a run; None if it is something else."""
    several = [given] if is_path(given) else given
    if isinstance(several, list | tuple) and several and all(map(is_path, several)):
        return [os.fspath(one) for one in several]
    return None


def arms(given: object) -> list[Any]:
    """What may be several arms: a list of paths or of tables, or else one, such as a list of numbers; or none."""
    if isinstance(given, list | tuple) and not (given and isinstance(given[0], Number)):
        return list(given)
    return [] if given is None else [given]


def arrays(name: str, given: object) -> list[np.ndarray]:
    """The arrays of an arm: one of all its runs, or a list of tensors, one a run."""
    listed = list(given) if isinstance(given, list | tuple) else []
    # A list of numbers, or of lists of them, is one array.
    parts = listed if listed and not isinstance(listed[0], int | float | str | list | tuple) else [given]
    return [array(name, part) for part in parts]


def array(name: str, given: Any) -> np.ndarray:
    """NumPy's array of a value of any library; a tensor on a device is copied to the host."""
    # PyTorch's: NumPy takes none that has a gradient or lies on a GPU, and has no bfloat16.
    if hasattr(given, "detach") and hasattr(given, "cpu"):
        given = given.detach().cpu()
        given = given.float() if str(given.dtype).endswith("bfloat16") else given
    if hasattr(given, "to_numpy"):  # pandas and polars
        given = given.to_numpy()
    if np.ma.is_masked(given):
        what = f"found {counted(int(np.count_nonzero(given.mask)), 'masked value')}"
        raise BadInput(name, "", what, "an array without a mask; losses have NaN as padding")
    try:
        found = np.asarray(given)
        if found.dtype.kind == "U" and isinstance(given, list | tuple):
            found = np.asarray(given, dtype=object)  # NumPy makes texts of numbers beside texts
        if found.dtype == object and hasattr(given, "__dlpack__"):
            found = np.from_dlpack(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise BadInput(name, "", f"found {type(given).__name__}: {error}", WANTED) from None
    if found.dtype == object:
        kinds = {type(value) for value in found.flat}
        if all(issubclass(kind, str) for kind in kinds):
            return found.astype(str)
        of = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise BadInput(name, "", f"found {type(given).__name__} of {of}", WANTED)
    # ml_dtypes' bfloat16 and its like, of JAX and TensorFlow.
    return found.astype(np.float32) if found.dtype.kind == "V" and found.dtype.names is None else found


def labels(given: Any) -> Truth:
    """The labels in a file, or in an array."""
    if is_path(given):
        return label_files.read(str(given))
    return label_files.of_array("labels", array("labels", given))


def texts(given: str | Sequence[str] | None) -> list[str] | None:
    """One text or several as a list."""
    return [given] if isinstance(given, str) else None if given is None else list(given)


def of_tables(*, lower: Directed, higher: Directed, **others: Any) -> dict[str, Any]:
    """The options for tables as the command line has them: there, no names stand for all metrics."""
    return others | {name: _directed(given) for name, given in (("lower", lower), ("higher", higher))}


def _directed(given: Directed) -> list[str] | None:
    return [] if given is True else texts(given or None)


def refuse(options: Mapping[str, Any], why: str, allowed: str = "leave it out") -> None:
    """Refuse options that do not belong to what is asked."""
    for name, value in options.items():
        if value is not None and value is not False:
            raise BadInput("command line", f"--{name.replace('_', '-')}", why, allowed)
