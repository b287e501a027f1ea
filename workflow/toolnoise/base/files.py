"""Files, written whole or not at all, and read with one-line complaints.

Every output is written beside its place and renamed into it, so that a crash, a full disk or a `kill -9` leaves
the old file, no file, or the whole new one. File and folder are synced, so that a power cut does no more than that.
Nothing heavy is imported: the Snakefile reads this module.
"""

import hashlib
import json
import lzma
import os
import tarfile
import tempfile
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput

# What NumPy, json and the readers of archives raise on damaged bytes.
DAMAGED = (
    ValueError,
    EOFError,
    KeyError,
    RuntimeError,
    lzma.LZMAError,
    tarfile.TarError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a scratch path in the same folder; when the block succeeds it becomes `path`, else it goes."""
    path = Path(path)
    _make_folder(path.parent)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    scratch = Path(name)
    try:
        yield scratch
        with scratch.open("rb+") as file:
            os.fsync(file.fileno())
        scratch.chmod(0o666 & ~_umask())
        scratch.replace(path)
        _sync_folder(path.parent)
    finally:
        scratch.unlink(missing_ok=True)


def discard(path: str | Path) -> None:
    """Remove a file, and the scratch files of killed processes that were writing it."""
    path = Path(path)
    for one in (path, *path.parent.glob(f".{path.name}.*")):
        one.unlink(missing_ok=True)


def _make_folder(folder: Path) -> None:
    """Make a folder and those above it, each entry on disk before anything lies in it."""
    if not folder.is_dir():
        _make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk: a rename alone is lost in a power cut."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: str | Path, text: str) -> None:
    """Write `text` as UTF-8 with the line ends it has."""
    with replacing(path) as scratch:
        scratch.write_bytes(text.encode())


def write_json(path: str | Path, value: object) -> None:
    """Write readable JSON with sorted keys and a final newline."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: str | Path) -> Any:
    """Read a JSON file."""
    with readable(path, "a JSON file"):
        return json.loads(Path(path).read_text("utf-8"))


@contextmanager
def readable(path: str | Path, wanted: str) -> Iterator[None]:
    """Tell in one line what is wrong with a file that the block reads."""
    try:
        yield
    except FileNotFoundError:
        raise BadInput(path, "", "no such file", f"expected {wanted}") from None
    except (OSError, *DAMAGED) as error:
        raise BadInput(path, "", f"damaged or truncated ({error})", f"expected {wanted}") from None


def canonical_sha256(value: object) -> str:
    """Digest of a JSON-like value, whatever the order of its keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
