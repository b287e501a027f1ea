"""Scratch folders that stand for what a person named, such as an archive: a message has the name that was given."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NAMES: dict[str, str] = {}


@contextmanager
def standing_for(name: Path, folder: Path) -> Iterator[None]:
    """Have `folder` stand for what a person called `name`, as long as the block runs."""
    _NAMES[str(folder)] = str(name)
    try:
        yield
    finally:
        del _NAMES[str(folder)]


def as_given(text: object) -> str:
    """A path, or a text with paths, with the names that were given."""
    text = str(text)
    for folder, name in _NAMES.items():
        text = text.replace(folder, name)
    return text
