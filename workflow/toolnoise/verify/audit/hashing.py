"""SHA-256 of one file, or of many in parallel."""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import faults

# Large enough that threads seldom wait for each other, small enough for a processor's cache.
BLOCK = 1 << 18
PROGRESS_BYTES = 1 << 24


class Hashed(NamedTuple):
    """A file's digest and size when it was read, or why it could not be read."""

    sha256: str = ""
    size: int = 0
    why: str = ""


class Stamp(NamedTuple):
    """What changes with a file's content."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int

    @classmethod
    def of(cls, about: os.stat_result) -> "Stamp":
        """The stamp of a file, from its status."""
        return cls(about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


def sha256_of_all(
    paths: Iterable[tuple[str, Path]],
    threads: int,
    opened: Callable,
    done: Callable[[int], object],
    each: Callable[[Path, Hashed, Stamp | None], object] = lambda *_: None,
) -> dict[str, Hashed]:
    """The digests of many files by their names, each file read once; `done` is called with each number of bytes read.

    `opened` opens a path for reading. Threads are fast enough: hashlib computes without the interpreter lock. `each` is
    called with the digest of each file that could be read and its stamp, None if that changed meanwhile; no two calls
    at a time.
    """
    buffers, one_at_a_time = threading.local(), threading.Lock()

    def hashed(named: tuple[str, Path]) -> tuple[str, Hashed]:
        name, path = named
        if not hasattr(buffers, "own"):
            buffers.own = memoryview(bytearray(BLOCK))
        result, stamp = _hashed(path, opened, buffers.own, done)
        if not result.why:
            with one_at_a_time:
                each(path, result, stamp)
        return name, result

    with ThreadPoolExecutor(threads) as pool:
        return dict(pool.map(hashed, paths))


def _hashed(
    path: Path, opened: Callable, buffer: memoryview, done: Callable[[int], object]
) -> tuple[Hashed, Stamp | None]:
    digest, size, reported = hashlib.sha256(), 0, 0
    try:
        with opened(path) as file:
            before = Stamp.of(os.fstat(file.fileno()))
            while count := file.readinto(buffer):
                digest.update(buffer[:count])
                size += count
                if size - reported >= PROGRESS_BYTES:
                    done(size - reported)
                    reported = size
            after = Stamp.of(os.fstat(file.fileno()))
    except OSError as error:
        return Hashed(why=faults.called(error)), None
    finally:
        done(size - reported)
    return Hashed(digest.hexdigest(), size), after if before == after else None
