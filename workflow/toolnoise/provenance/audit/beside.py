"""Files beside the results, in the folder that the study ran in: its own modules, and what runs were adopted from.

Only they are opened by a name from a statement, which a stranger may have written. So the name leads down from that
folder, through no link out of it, to a plain file; and of that no more is read than its size, which has a limit.
"""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

from toolnoise.base.errors import as_given
from toolnoise.base.files import LARGEST_TEXT, is_below, open_plain
from toolnoise.provenance.tree import RESULTS


def folder(root: Path) -> Path | None:
    """The folder that a study ran in, or None: it has results/<study>, or the audit runs in it."""
    place = Path(as_given(root)).resolve().parent
    return place.parent if place.name == RESULTS or place.parent == Path.cwd() else None


def path(root: Path, name: str) -> Path | None:
    """Where a file of this name lies, if it may be opened."""
    place = folder(root)
    if place is None or not is_below(name) or not name.isprintable():
        return None
    # Not Path.resolve: of a circle of links it makes an error.
    real_path = Path(os.path.realpath(place / name))
    return real_path if real_path.is_relative_to(place) else None


def source_digest(where: Path) -> str | None:
    """The digest of a source file; None if there is none, or one larger than any."""
    try:
        with open_plain(where) as file:
            size = os.fstat(file.fileno()).st_size
            return digest(file, size) if size <= LARGEST_TEXT else None
    except OSError:
        return None


def same(where: Path, sha256: str, size: int | None) -> bool | None:
    """Whether a file has the stated bytes; None if there is no plain file. One of another size is not read."""
    try:
        with open_plain(where) as file:
            return os.fstat(file.fileno()).st_size == size and digest(file, size) == sha256
    except OSError:
        return None


def digest(file: BinaryIO, size: int) -> str:
    """The digest of the next bytes of a file, of no more of them than its size was."""
    hashed, left = hashlib.sha256(), size
    while left and (block := file.read(min(left, 1 << 20))):
        hashed.update(block)
        left -= len(block)
    return hashed.hexdigest()
