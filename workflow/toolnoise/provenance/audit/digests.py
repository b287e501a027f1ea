"""SHA-256 of many files in parallel, and digests that an earlier audit computed: a second one need not read all again.

A digest is known again while the file's path, device, inode, size and both times are those of then. Whoever may change
a file can set its time of modification back, but not the time of the change itself (ctime). But a disk that has lost a
bit changes no time, and whoever may write the cache can put any digest into it. So it is used on request only, never by
a strict audit, and it lies in the user's own cache folder, not among the results.

Each digest is a line that is written as soon as it is known. A line that is not whole, or was changed, is not used.
"""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from toolnoise.base import faults, files
from toolnoise.base.files import open_plain

# Large enough that threads seldom wait for each other, small enough for a processor's cache.
BLOCK = 1 << 18
PROGRESS_BYTES = 1 << 24
# A file that changes again within one tick of its file system's clock may keep its times. FAT has ticks of 2 s.
TICK = 2_000_000_000
CHECK = 16  # digits of a line's own digest


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
    paths: Iterable[tuple[Any, Path]], threads: int, done: Callable[[int], object], cache: "Cache | None" = None
) -> dict[Any, Hashed]:
    """The digests of many files by their names; `done` is called with each number of bytes read.

    Each file is read once, unless the `cache` knows it. Threads are fast enough: hashlib computes without the
    interpreter lock.
    """
    buffers, one_at_a_time = threading.local(), threading.Lock()

    def hashed(named: tuple[Any, Path]) -> tuple[Any, Hashed]:
        name, path = named
        with one_at_a_time:
            known = cache.digest(path) if cache else None
        if known:
            done(known.size)
            return name, known
        if not hasattr(buffers, "own"):
            buffers.own = memoryview(bytearray(BLOCK))
        result, stamp = _hashed(path, buffers.own, done)
        if cache and not result.why:
            with one_at_a_time:
                cache.keep(path, result, stamp)
        return name, result

    with ThreadPoolExecutor(threads) as pool:
        return dict(pool.map(hashed, paths))


def _hashed(path: Path, buffer: memoryview, done: Callable[[int], object]) -> tuple[Hashed, Stamp | None]:
    """A file's digest and its stamp; None if that changed meanwhile."""
    digest, size, reported = hashlib.sha256(), 0, 0
    try:
        with open_plain(path) as file:
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


class Cache:
    """The digests of files by their paths, and those of the weights in files by the digests of the files."""

    def __init__(self, path: Path, trusted: bool) -> None:
        """Read what is there; what is not `trusted` is written only."""
        self.path, self.trusted, self.used = path, trusted, 0
        self.files: dict[str, tuple[Stamp, str]] = {}
        self.weights: dict[str, str] = {}
        self.lines = 0
        for kind, key, value in _read(path):
            self.lines += 1
            if kind == "weights":
                self.weights[key] = value
            else:
                *stamp, sha256 = value
                self.files[key] = Stamp(*stamp), sha256
        self._file: TextIO | None = None

    def digest(self, path: Path) -> Hashed | None:
        """The digest of a file that is as it was; None if it has to be read."""
        known = self.files.get(str(path)) if self.trusted else None
        try:
            if known is None or known[0] != Stamp.of(path.lstat()):
                return None
        except OSError:
            return None
        self.used += 1
        return Hashed(known[1], known[0].size)

    def keep(self, path: Path, hashed: Hashed, stamp: Stamp | None) -> None:
        """Remember the digest of a file with this stamp; None if it changed while it was read."""
        if stamp and max(stamp.mtime_ns, stamp.ctime_ns) < time.time_ns() - TICK:
            self.files[str(path)] = stamp, hashed.sha256
            self._write("file", str(path), [*stamp, hashed.sha256])

    def weights_in(self, sha256: str) -> str | None:
        """The digest of the final weights in a file with this digest, if it is known."""
        return self.weights.get(sha256) if self.trusted else None

    def keep_weights(self, sha256: str, digest: str) -> None:
        """Remember the digest of the final weights in a file with this digest."""
        self.weights[sha256] = digest
        self._write("weights", sha256, digest)

    def _write(self, *entry: object) -> None:
        with faults.at(self.path):
            if self._file is None:
                files.make_folder(self.path.parent)
                self._file = self.path.open("a", buffering=1)
                # After a line that is not whole.
                self._file.write("\n")
            self._file.write(_line(entry))
        self.lines += 1

    def close(self) -> None:
        """Write the file anew if half of its lines are of the past."""
        if self._file:
            with faults.at(self.path):
                self._file.close()
        if self.lines > 2 * (len(self.files) + len(self.weights)):
            entries = [("file", path, [*stamp, sha256]) for path, (stamp, sha256) in self.files.items()]
            entries += [("weights", sha256, digest) for sha256, digest in self.weights.items()]
            files.write_text(self.path, "".join(map(_line, entries)))


@contextmanager
def opened(results: str | Path, trusted: bool) -> Iterator[Cache]:
    """The cache of a results folder; what it learns is kept, however the block ends."""
    name = hashlib.sha256(str(Path(results).resolve()).encode(errors="surrogateescape")).hexdigest()[:32]
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    cache = Cache(Path(home) / "toolnoise" / "audit" / f"{name}.jsonl", trusted)
    try:
        yield cache
    finally:
        cache.close()


def _line(entry: object) -> str:
    text = json.dumps(entry)
    return f"{_check(text)} {text}\n"


def _check(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:CHECK]


def _read(path: Path) -> Iterator[list]:
    try:
        with path.open(errors="replace") as file:
            for line in file:
                check, _, text = line.rstrip("\n").partition(" ")
                if check == _check(text):
                    yield json.loads(text)
    except OSError:
        return
