"""SHA-256 of one file, or of many in parallel."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

# Large enough that threads seldom wait for each other, small enough for a processor's cache.
BLOCK = 1 << 18
PROGRESS_BYTES = 1 << 24


class Hashed(NamedTuple):
    """A file's digest and size when it was read, or why it could not be read."""

    sha256: str = ""
    size: int = 0
    why: str = ""


def sha256_of_all(
    paths: Iterable[tuple[str, Path]], threads: int, opened: Callable, done: Callable[[int], object]
) -> dict[str, Hashed]:
    """The digests of many files by their names, each file read once; `done` is called with each number of bytes read.

    `opened` opens a path for reading. Threads are fast enough: hashlib computes without the interpreter lock.
    """
    # All threads draw from one iterator, so none is idle while files are left.
    waiting = iter(list(paths))

    def work(_number: int) -> list[tuple[str, Hashed]]:
        buffer = memoryview(bytearray(BLOCK))
        return [(name, _hashed(path, opened, buffer, done)) for name, path in _drawn(waiting)]

    with ThreadPoolExecutor(threads) as pool:
        return {name: found for share in pool.map(work, range(threads)) for name, found in share}


def _drawn(waiting: Iterator[tuple[str, Path]]) -> Iterator[tuple[str, Path]]:
    # A list's iterator gives each item to only one thread.
    yield from waiting


def _hashed(path: Path, opened: Callable, buffer: memoryview, done: Callable[[int], object]) -> Hashed:
    digest, size, reported = hashlib.sha256(), 0, 0
    try:
        with opened(path) as file:
            while count := file.readinto(buffer):
                digest.update(buffer[:count])
                size += count
                if size - reported >= PROGRESS_BYTES:
                    done(size - reported)
                    reported = size
    except OSError as error:
        return Hashed(why=error.strerror or str(error))
    finally:
        done(size - reported)
    return Hashed(digest.hexdigest(), size)
