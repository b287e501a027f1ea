"""Files: written whole or not at all, read with one-line errors.

Every output is written next to its destination and renamed, so a crash, a full disk or a `kill -9` leaves the old file,
no file, or the whole new one. File and folder are synced, so the same holds in a power cut. Nothing heavy is imported:
the Snakefile reads this module.
"""

import bz2
import csv
import gzip
import hashlib
import json
import lzma
import math
import os
import stat
import tarfile
import tokenize
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from toolnoise.base import scratch
from toolnoise.base.errors import BadInput, fault_name, naming_output

# Exceptions that NumPy, json, csv and the archive readers raise on damaged bytes.
DAMAGED = (
    ValueError,
    EOFError,
    KeyError,
    RuntimeError,
    csv.Error,
    lzma.LZMAError,
    tarfile.TarError,
    tokenize.TokenError,
    zipfile.BadZipFile,
    zlib.error,
)
# The largest JSON or YAML that is read: a history of 1000 epochs of 1000 tensors has 13 MB.
LARGEST_TEXT = 128 * 2**20
# Unpacked data have at most this many bytes, or at most this many times the bytes of their packed form.
LARGEST_UNPACKED, LARGEST_RATIO = 2**30, 20
# The functions that open compressed files, by a file's first bytes.
COMPRESSED = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}
# The smallest size that a disk allocates for a file, in bytes.
BLOCK = 4096


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a scratch path in the same folder; it becomes `path` when the block succeeds and is removed otherwise."""
    path = Path(path)
    with naming_output(path):
        _require_place(path)
        make_folder(path.parent)
        with scratch.file(path) as one:
            yield one
            with one.open("rb+") as file:
                os.fsync(file.fileno())
            one.chmod(0o666 & ~_umask())
            one.replace(path)
            sync_folder(path.parent)


@contextmanager
def filling(folder: str | Path) -> Iterator[Path]:
    """Yield a scratch folder; its contents move into `folder`, which is new or empty, when the block succeeds."""
    folder = Path(folder)
    new = not folder.exists()
    with naming_output(folder, scratch.FOLDER):
        make_folder(folder)
        try:
            with scratch.folder(folder) as one:
                yield one
                for part in one.iterdir():
                    part.replace(folder / part.name)
        except BaseException:
            if new:
                folder.rmdir()
            raise


def require_writable(path: str | Path) -> None:
    """Check that a file can be written, before the work that fills it: make its folder, and write a block."""
    path = Path(path)
    with naming_output(path):
        _require_place(path)
        make_folder(path.parent)
        with scratch.file(path) as one:
            one.write_bytes(bytes(BLOCK))


def discard(path: str | Path) -> None:
    """Remove a file, and its scratch files that killed processes left behind."""
    path = Path(path)
    path.unlink(missing_ok=True)
    scratch.remove_abandoned(path)


def _require_place(path: Path) -> None:
    """Refuse a path for a file if something else is there, such as a folder, a pipe or a device."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        found = "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"
        raise BadInput(path, "", f"{found} is in the way", "a file, or nothing")


def make_folder(folder: Path) -> None:
    """Make a folder and its parents; each entry is on disk before anything is put in it."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder to disk: a power cut can lose a rename that was not synced."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_text(path: str | Path, text: str) -> None:
    """Write `text` as UTF-8, line ends unchanged."""
    with replacing(path) as one:
        one.write_bytes(text.encode())


def write_json(path: str | Path, value: object) -> None:
    """Write readable JSON with sorted keys and a final newline."""
    write_text(path, json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n")


def read_json(path: str | Path) -> Any:
    """Read a JSON file."""
    with readable(path, "a JSON file"):
        return parse_json(read_text(path))


def parse_json(text: str) -> Any:
    """The values of a JSON text; ValueError if two readers could understand it differently.

    Python keeps the last of two equal keys, other readers keep the first. NaN and infinities are not valid JSON.
    """
    return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_finite, parse_float=_finite)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        repeated = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"key {repeated!r} is repeated")
    return mapping


def _finite(number: str) -> float:
    if not math.isfinite(value := float(number)):
        raise ValueError(f"{number} is not a finite number")
    return value


def read_text(path: str | Path) -> str:
    """Read a text file; a file so large that it could fill the memory is refused."""
    require_small(path)
    return Path(path).read_text("utf-8")


def read_bytes(path: str | Path) -> bytes:
    """Read a whole file into memory; a file that is too large is refused."""
    require_small(path)
    return Path(path).read_bytes()


def require_small(path: str | Path) -> None:
    """Refuse a file to be read as a whole if it is larger than any such file that this program writes."""
    require_plain(path)
    size = Path(path).stat().st_size
    if size > LARGEST_TEXT:
        raise BadInput(path, "", f"has {size} bytes", f"at most {LARGEST_TEXT}")


def require_plain(path: str | Path) -> None:
    """Refuse a pipe or a device where a file belongs: reading it may block for ever, or never end."""
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise BadInput(path, "", "a pipe or a device", "expected a file")


def is_below(name: str) -> bool:
    """Whether a name can only mean one file below the folder that it is read from."""
    path = PurePosixPath(name)
    return not path.is_absolute() and str(path) == name and ".." not in path.parts and "\0" not in name


def require_unpacked(path: str | Path, name: str, unpacked: int, packed: int) -> None:
    """Refuse packed data that would fill the memory or the disk; `name` is their name in `path`."""
    most = max(LARGEST_UNPACKED, LARGEST_RATIO * packed)
    if unpacked > most:
        wanted = f"at most {most}: {LARGEST_UNPACKED}, or {LARGEST_RATIO} times its packed size"
        raise BadInput(path, name, f"unpacks to {unpacked} bytes or more", wanted)


def open_plain(path: Path) -> BinaryIO:
    """Open a plain file; OSError if it is a link or has become anything else, such as a pipe that would block."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("is not a plain file")
    return os.fdopen(handle, "rb", buffering=0)


@contextmanager
def readable(path: str | Path, wanted: str) -> Iterator[None]:
    """Report an error in a file that the block reads in one line; `wanted` says what the file should be."""
    require_plain(path)
    try:
        yield
    except FileNotFoundError:
        raise BadInput(path, "", "no such file", f"expected {wanted}") from None
    except (OSError, *DAMAGED) as error:
        # Readers of archives raise an OSError without a number for contents that they cannot parse.
        if isinstance(error, OSError) and error.errno is not None:
            raise BadInput(path, "", f"cannot be read ({fault_name(error)})", f"expected {wanted}") from None
        raise BadInput(path, "", f"damaged or truncated ({error})", f"expected {wanted}") from None


def read_plain(path: Path, wanted: str) -> bytes:
    """The bytes of a plain file; `wanted` says what it should be."""
    with readable(path, wanted), open_plain(path) as file:
        return file.readall()


def sha256(path: str | Path) -> str:
    """The digest of a file's bytes."""
    require_plain(path)
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def canonical_sha256(value: object) -> str:
    """The digest of a JSON-like value, independent of the order of its keys."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
