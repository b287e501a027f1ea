"""The archive format for a study's runs: a tar of plain files, optionally compressed, and nothing else.

The same files give the same bytes. An archive is read once, from front to end, one block at a time, and never
extracted. Everything in a tar except plain files is refused at once (links, devices, folders, long names, further
headers), and so are bytes after its end. The caller decides which names and sizes are valid.
"""

import gzip
import lzma
import re
import tarfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.base.files import readable, replacing
from toolnoise.datasets.archives import COMPRESSED
from toolnoise.record.tree import RESULTS, shown
from toolnoise.study import config

WANTED = "an archive from toolnoise export"
BLOCK = 1 << 20


class Member(NamedTuple):
    """A file: its name, its size and its bytes, which can be read once, before the next member."""

    name: str
    size: int
    chunks: Iterator[bytes]


def _gzip(file: IO[bytes]) -> IO[bytes]:
    # Without name and time, so that the same files give the same bytes.
    return gzip.GzipFile("", "wb", fileobj=file, mtime=0)


def _xz(file: IO[bytes]) -> IO[bytes]:
    return lzma.LZMAFile(file, "wb")


PACKED: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {".tar": lambda file: file, ".tar.gz": _gzip, ".tar.xz": _xz}


def write(path: str | Path, members: Iterable[Member]) -> None:
    """Write an archive, compressed according to its suffix."""
    pack = next((pack for suffix, pack in PACKED.items() if str(path).endswith(suffix)), None)
    if pack is None:
        raise BadInput("command line", "--out", f"found {str(path)!r}", f"a name that ends in {', '.join(PACKED)}")
    with replacing(path) as scratch, scratch.open("wb") as file, pack(file) as tar:
        written = 0
        for member in members:
            written += tar.write(_header(member))
            written += sum(tar.write(chunk) for chunk in member.chunks)
            written += tar.write(bytes(-member.size % tarfile.BLOCKSIZE))
        end = 2 * tarfile.BLOCKSIZE
        tar.write(bytes(end + -(written + end) % tarfile.RECORDSIZE))


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
                raise BadInput(path, shown(about.name), found, "allowed: plain files")
            yield Member(about.name, about.size, _chunks(tar, about.size, path))
            if any(_exactly(tar, -about.size % tarfile.BLOCKSIZE, path)):
                raise BadInput(path, shown(about.name), "is followed by bytes outside of any file", WANTED)
        rest = _exactly(tar, tarfile.BLOCKSIZE, path)
        with readable(path, WANTED):
            rest += tar.read(tarfile.RECORDSIZE)
        if len(rest) > tarfile.RECORDSIZE or any(rest):
            raise BadInput(path, "", "has bytes after its end", WANTED)


def _header(member: Member) -> bytes:
    about = tarfile.TarInfo(member.name)
    about.size = member.size
    try:
        return about.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
    except ValueError as error:
        found = f"does not fit into an archive ({error})"
        raise BadInput(member.name, "", found, "names of about 250 bytes and files of 8 GiB at most") from None


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
