"""Text for people: columns, rounded numbers, spans of time, sizes; without control characters for a terminal."""

import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

OUTPUT = "standard output"
MOST_DECIMALS, LARGEST = 9, 1e12  # without an exponent


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines of aligned columns; the first row is their heading."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return lines


def decimals_by_uncertainty(uncertainty: float) -> int | None:
    """Decimals that show two digits of a number's uncertainty, negative for large ones; None without an uncertainty."""
    return 1 - math.floor(math.log10(uncertainty)) if 0 < uncertainty < math.inf else None


def rounded_text(number: float, places: int | None, sign: str = "-") -> str:
    """A number with `places` decimals, or with six digits if `places` is None."""
    if math.isnan(number):
        return "n/a"
    if places is None:
        return f"{number:{sign}.6g}"
    if places <= MOST_DECIMALS and abs(number) < LARGEST:
        return f"{round(number, places) + 0.0:{sign}.{max(places, 0)}f}"  # no -0
    digits = math.floor(math.log10(abs(number))) + places + 1 if number else 1
    return f"{number:{sign}.{min(max(digits, 1), 17)}g}"


def make_printable(text: str, kept: str = "") -> str:
    """A text with all unprintable characters escaped except those in `kept`."""
    return "".join(
        sign if sign.isprintable() or sign in kept else sign.encode("unicode_escape").decode() for sign in text
    )


class Plain:
    """A stream that escapes control characters for a terminal: names and texts may come from anywhere."""

    def __init__(self, stream: TextIO, name: str) -> None:
        """Write to `stream`, which may be replaced later; errors have this name."""
        self.stream, self._name = stream, name

    def write(self, text: str) -> int:
        """Write a text with its lines and tabs."""
        with self._named():
            return self.stream.write(make_printable(text, "\n\t"))

    def flush(self) -> None:
        """Write all buffered text."""
        with self._named():
            self.stream.flush()

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            error.filename = self._name
            raise

    def __getattr__(self, name: str) -> Any:
        """Take all other attributes from the stream."""
        return getattr(self.stream, name)


@contextmanager
def printing_plainly() -> Iterator[None]:
    """Escape control characters in this process's standard output and standard error, within the block."""
    kept = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(Plain, kept, (OUTPUT, "standard error"))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = kept


def counted(number: int, noun: str, ending: str = "s") -> str:
    """A number with its noun, in the plural if needed."""
    return f"{number} {noun}{'' if number == 1 else ending}"


def span_text(seconds: float) -> str:
    """A span of time in the unit that a person would use."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


def size_text(count: float) -> str:
    """A number of bytes in the unit that a person would use."""
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if count < 1000:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:.1f} TB"
