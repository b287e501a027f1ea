"""Short digests of values, equal if and, but for chance, only if all bits are."""

import ctypes
import zlib
from collections.abc import Iterable
from typing import Any

MANY = 1 << 16  # bytes from which NumPy is faster
LONGEST = 1000  # elements of a list that is looked at
SHOWN = 60  # characters of a value

_weights: list[Any] = []


def of_memory(address: int, length: int, numpy: Any) -> int:
    """The digest of a piece of memory."""
    if not length:
        return 0
    if numpy is None or length < MANY:
        return zlib.crc32((ctypes.c_char * length).from_address(address))
    if not _weights:
        # Odd, and each place has another: a changed order shows.
        _weights.append(numpy.arange(MANY, dtype=numpy.int64) * 0x1E3779B97F4A7C15 | 1)
    whole = length // 8
    words = numpy.frombuffer((ctypes.c_char * (whole * 8)).from_address(address), numpy.int64)
    sums = [int(part.dot(_weights[0][: len(part)])) for part in numpy.split(words, range(MANY, whole, MANY))]
    rest = (ctypes.c_char * (length - whole * 8)).from_address(address + whole * 8)
    return zlib.crc32(repr(sums).encode(), zlib.crc32(rest))


def plain(value: Any) -> str | None:
    """The text of a number, a string or a list of them, in full precision; None if it is anything else."""
    kind = type(value)
    if value is None or kind in (bool, int, float, complex):
        return repr(value)
    if kind in (str, bytes):
        return repr(value[:SHOWN]) + (f"#{zlib.crc32(repr(value).encode()):08x}" if len(value) > SHOWN else "")
    if kind in (list, tuple) and len(value) <= LONGEST:
        parts = [plain(part) for part in value]
        return f"[{', '.join(parts)}]" if None not in parts else None
    if kind.__module__ == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        return plain(value.item())
    return None


def numbers(values: Iterable[Any]) -> list[str]:
    """The texts of those values that have one, each on a line."""
    return [text[:SHOWN] for value in values if (text := plain(value)) is not None]
