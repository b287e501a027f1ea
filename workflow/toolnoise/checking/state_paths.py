"""The keys of two states that differ, as paths such as optimizer_states/0/state/0/exp_avg.

With the paths of two files of PyTorch, the text of this file runs in the interpreter of a program that is
checked. PyTorch reads nothing in them but tensors, numbers and texts.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any


def unequal(state: Any, other: Any) -> list[str]:
    """The paths of all values that are not equal bit for bit."""
    values, others = dict(_flat(state)), dict(_flat(other))
    return [path for path in {**values, **others} if not _equal(values.get(path), others.get(path))]


def _flat(state: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    items = state.items() if isinstance(state, dict) else enumerate(state) if isinstance(state, list | tuple) else None
    if items is None:
        yield path, state
        return
    for key, value in items:
        yield from _flat(value, f"{path}/{key}" if path else str(key))


def _equal(value: Any, other: Any) -> bool:
    if type(value) is not type(other):
        return False
    if hasattr(value, "dtype"):
        return (value.dtype, value.shape) == (other.dtype, other.shape) and _bytes(value) == _bytes(other)
    return value == other or (value != value and other != other)


def _bytes(value: Any) -> bytes:
    import numpy as np

    if hasattr(value, "detach"):
        import torch

        value = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return np.ascontiguousarray(value).tobytes()


def _read(path: str) -> Any:
    import numpy as np
    import torch

    # Of the state of NumPy's generator, which is plain data.
    plain = [np._core.multiarray._reconstruct, np.ndarray, np.dtype, type(np.dtype("uint32"))]
    with torch.serialization.safe_globals(plain):
        return torch.load(path, map_location="cpu", weights_only=True)


if __name__ == "__main__":
    print(json.dumps(unequal(*map(_read, sys.argv[1:]))))
