"""Shapes of JSON that this program wrote: a file without its shape is refused with a one-line error when it is read.

A shape is a `ValueKind`, a mapping from keys to shapes, or a list of one shape, which each entry has. A key with a
question mark is optional; the key `*` stands for all other keys. Keys that a shape does not name are ignored.
"""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base import files
from toolnoise.base.errors import BadInput


class ValueKind(NamedTuple):
    """A kind of value, and its name in an error."""

    called: str
    fits: Callable[[Any], bool]


Shape = ValueKind | Mapping[str, "Shape"] | list["Shape"]

# JSON allows integers of any size; larger ones fit neither the shape of an array nor a range in memory.
MOST = 2**31 - 1

ANYTHING = ValueKind("anything", lambda _: True)
TEXT = ValueKind("a text", lambda value: isinstance(value, str))
FLAG = ValueKind("true or false", lambda value: isinstance(value, bool))
COUNT = ValueKind(f"an integer from 0 to {MOST}", lambda value: type(value) is int and 0 <= value <= MOST)
INTEGER = ValueKind("an integer from 0 to 2^63 - 1", lambda value: type(value) is int and 0 <= value < 2**63)
POSITIVE = ValueKind(f"an integer from 1 to {MOST}", lambda value: type(value) is int and 1 <= value <= MOST)
AMOUNT = ValueKind(
    "a number from 0 up", lambda value: type(value) in (int, float) and 0 <= value <= 1e300 and math.isfinite(value)
)


def one_of(*values: str) -> ValueKind:
    """The kind of a value that is one of these texts."""
    return ValueKind(f"one of {', '.join(values)}", lambda value: isinstance(value, str) and value in values)


def read_json_of_shape(path: str | Path, shape: Shape, wanted: str) -> Any:
    """Read a JSON file that must have a shape; `wanted` says what the file should be."""
    value = files.read_json(path)
    require_shape(value, shape, path, wanted)
    return value


def require_shape(value: Any, shape: Shape, path: str | Path, wanted: str, key: str = "") -> None:
    """Refuse a value without the shape; `key` is its place in its file."""
    if isinstance(shape, ValueKind):
        if not shape.fits(value):
            raise BadInput(path, key, f"found {_shown(value)}", f"expected {shape.called}")
    elif isinstance(shape, list):
        if not isinstance(value, list):
            raise BadInput(path, key, f"found {_shown(value)}", f"expected a list, as in {wanted}")
        for place, one in enumerate(value):
            require_shape(one, shape[0], path, wanted, f"{key}[{place}]")
    else:
        if not isinstance(value, dict):
            raise BadInput(path, key, f"found {_shown(value)}", f"expected {wanted}" if not key else "a mapping")
        for name, part in shape.items():
            plain = name.removesuffix("?")
            if name == "*":
                there = [one for one in value if one not in shape and f"{one}?" not in shape]
            elif plain in value:
                there = [plain]
            elif name == plain:
                raise BadInput(path, f"{key}.{plain}".lstrip("."), "no such key", wanted)
            else:
                continue
            for one in there:
                require_shape(value[one], part, path, wanted, f"{key}.{one}".lstrip("."))


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
