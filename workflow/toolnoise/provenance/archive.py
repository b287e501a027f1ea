"""The archive format for a study's runs: a tar of plain files, optionally compressed, and nothing else.

An archive is read once, from front to end, one block at a time, and never
extracted. Everything in a tar except plain files is refused at once (links, devices, folders, long names, further
headers), and so are bytes after its end. The caller decides which names and sizes are valid.
"""

import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable
from toolnoise.base.printing import escaped
from toolnoise.datasets.archives import COMPRESSED
from toolnoise.provenance.statements import RESULTS
from toolnoise.study import config

WANTED = "an archive from toolnoise export"
SUFFIXES = (".tar", ".tar.gz", ".tar.xz")
BLOCK = 1 << 20


class Member(NamedTuple):
    """A file: its name, its size and its bytes, which can be read once, before the next member."""

    name: str
    size: int
    chunks: Iterator[bytes]


def study_of(name: str) -> str | None:
    """The study that a member belongs to, by its name; None if it belongs to none."""
    results, *parts = PurePosixPath(name).parts or ("",)
    named = results == RESULTS and len(parts) > 1 and re.search(config.schema()["$defs"]["name"]["pattern"], parts[0])
    return parts[0] if named else None


def read(path: str | Path) -> Iterator[Member]:
    """The members of an archive, in order."""
    with _unpacked(Path(path)) as tar:
        while (header := _exactly(tar, tarfile.BLOCKSIZE, path)) != bytes(tarfile.BLOCKSIZE):
            with readable(path, WANTED):
                about = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
            if about.type != tarfile.REGTYPE or about.size < 0:
                found = "a link, a folder, a device or the like"
                raise BadInput(path, escaped(about.name), found, "allowed: plain files")
            yield Member(about.name, about.size, _chunks(tar, about.size, path))
            if any(_exactly(tar, -about.size % tarfile.BLOCKSIZE, path)):
                raise BadInput(path, escaped(about.name), "is followed by bytes outside of any file", WANTED)
        rest = _exactly(tar, tarfile.BLOCKSIZE, path)
        with readable(path, WANTED):
            rest += tar.read(tarfile.RECORDSIZE)
        if len(rest) > tarfile.RECORDSIZE or any(rest):
            raise BadInput(path, "", "has bytes after its end", WANTED)


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    with readable(path, WANTED):
        file = path.open("rb")
    with file:
        with readable(path, WANTED):
            start = file.read(2)
            file.seek(0)
        with COMPRESSED[start](file) if start in COMPRESSED else file as tar:
            yield tar


def _chunks(tar: IO[bytes], size: int, path: str | Path) -> Iterator[bytes]:
    while size:
        chunk = _exactly(tar, min(size, BLOCK), path)
        size -= len(chunk)
        yield chunk


def _exactly(tar: IO[bytes], count: int, path: str | Path) -> bytes:
    with readable(path, WANTED):
        content = tar.read(count)
        # An uncompressed file returns fewer bytes only at its end.
        if len(content) < count:
            raise EOFError("it ends early")
    return content
