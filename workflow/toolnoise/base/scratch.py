"""Scratch files, which hold an output until it is complete, and locks on the right to make an output.

The writer of a scratch file holds a lock on it. The system drops the lock when the writer ends, however that happens.
So any process can tell whether the writer is alive, even on another machine that shares the file system. Scratch files
that no process holds are removed by the next job of the same output, or by `toolnoise audit --repair`. On a file system
without locks, no file counts as abandoned.
"""

import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from toolnoise.base.errors import BadInput

# Names of scratch: `.weights.npz.13gkcno8.npz` (from tempfile), `.weights.npz.lock`, a folder `.making-13gkcno8`.
RANDOM = "[a-z0-9_]{8}"
LOCK = ".lock"
FOLDER = ".making-"
SCRATCH = re.compile(rf"\.(?P<of>.+?)\.{RANDOM}(?P<suffix>\.[^.]*)?|\..+{re.escape(LOCK)}|{FOLDER}{RANDOM}", re.DOTALL)
# The longest time, in seconds, for which a process that only looks may hold a lock.
LOOKING = 0.2


@contextmanager
def file(path: Path) -> Iterator[Path]:
    """Make a scratch file beside `path`; it is removed at the end, unless it was renamed."""
    remove_abandoned(path)
    scratch, handle = _made(path)
    try:
        yield scratch
    finally:
        scratch.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def folder(within: Path, prefix: str = FOLDER) -> Iterator[Path]:
    """Make a scratch folder and remove it at the end; first remove this user's folders left by killed processes."""
    for abandoned in within.glob(f"{prefix}*"):
        with suppress(OSError):
            # A person's own folder may begin with the same prefix.
            if re.fullmatch(RANDOM, abandoned.name.removeprefix(prefix)) and abandoned.lstat().st_uid == os.geteuid():
                _remove(abandoned)
    # Another process that cleans up may remove the folder before it is locked.
    while True:
        scratch = Path(tempfile.mkdtemp(prefix=prefix, dir=within))
        handle = os.open(scratch, os.O_RDONLY | os.O_CLOEXEC)
        if hold(handle, scratch):
            break
        os.close(handle)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        os.close(handle)


@contextmanager
def claim(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Hold the right to make `path`, whose folder must exist; a second process is refused, or waits."""
    lock = path.with_name(f".{path.name}{LOCK}")
    started = time.monotonic()
    while True:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            if hold(handle, lock, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB):
                break
        except BlockingIOError:
            if time.monotonic() - started > LOOKING:
                os.close(handle)
                raise BadInput(path, "", "another process is making it", "wait until that has ended") from None
            time.sleep(LOOKING / 10)
        os.close(handle)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)


def is_held(path: str | Path) -> bool:
    """Whether a scratch file or folder has a living writer."""
    try:
        handle = _opened(path)
    except OSError:
        return False
    try:
        # A shared lock: two processes that look at once do not see each other.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def is_scratch(name: str) -> bool:
    """Whether a file or a folder may be scratch, by its name."""
    match = SCRATCH.fullmatch(name)
    return bool(match) and (not match["of"] or (match["suffix"] or "") == Path(match["of"]).suffix)


def remove_abandoned(path: Path) -> None:
    """Remove the scratch files of one output whose writers have ended."""
    start = f".{path.name}."
    for path_beside in list(path.parent.iterdir()) if path.parent.is_dir() else []:
        if path_beside.name.startswith(start) and is_scratch(path_beside.name) and not path_beside.name.endswith(LOCK):
            _remove(path_beside)


def clean(root: Path) -> list[Path]:
    """Remove all scratch below a folder whose writers have ended; returns what was removed."""
    paths = [
        Path(place, name)
        for place, folders, names in os.walk(root)
        for name in (*folders, *names)
        if is_scratch(name) and (name in names or name.startswith(FOLDER))
    ]
    return [path for path in sorted(paths) if _remove(path)]


def _made(path: Path) -> tuple[Path, int]:
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
        if hold(handle, Path(name)):
            return Path(name), handle
        os.close(handle)


def hold(handle: int, path: Path, how: int = fcntl.LOCK_EX) -> bool:
    """Take the lock of an open file or folder; false if it has been removed meanwhile."""
    try:
        fcntl.flock(handle, how)
    except BlockingIOError:
        raise
    except OSError:
        # A file system without locks.
        return True
    status = os.fstat(handle)
    try:
        return os.path.samestat(status, path.stat())
    except FileNotFoundError:
        # On a network file system a new file may appear late; a removed file has no name left.
        return status.st_nlink > 0


def _remove(path: Path) -> bool:
    """Remove a scratch file or folder, unless its writer is alive; the lock is held meanwhile."""
    try:
        handle = _opened(path)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _opened(path: str | Path) -> int:
    """Open a file or a folder to lock it: over NFS, a file must be open for writing for that."""
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, os.O_RDWR | flags)
    except IsADirectoryError:
        return os.open(path, os.O_RDONLY | flags)
