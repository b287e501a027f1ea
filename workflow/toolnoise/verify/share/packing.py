"""Archives of a study's runs, as `record.archive` reads them: the same files give the same bytes."""

import gzip
import lzma
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO

from toolnoise.base.errors import BadInput
from toolnoise.base.files import replacing
from toolnoise.record.archive import SUFFIXES, Member


def _gzip(file: IO[bytes]) -> IO[bytes]:
    # Without name and time, so that the same files give the same bytes.
    return gzip.GzipFile("", "wb", fileobj=file, mtime=0)


def _xz(file: IO[bytes]) -> IO[bytes]:
    return lzma.LZMAFile(file, "wb")


PACK: dict[str, Callable[[IO[bytes]], IO[bytes]]] = dict(zip(SUFFIXES, (lambda file: file, _gzip, _xz), strict=True))


def write(path: str | Path, members: Iterable[Member]) -> None:
    """Write an archive, compressed according to its suffix."""
    pack = next((pack for suffix, pack in PACK.items() if str(path).endswith(suffix)), None)
    if pack is None:
        raise BadInput("command line", "--out", f"found {str(path)!r}", f"a name that ends in {', '.join(SUFFIXES)}")
    with replacing(path) as scratch, scratch.open("wb") as file, pack(file) as tar:
        written = 0
        for member in members:
            written += tar.write(_header(member))
            written += sum(tar.write(chunk) for chunk in member.chunks)
            written += tar.write(bytes(-member.size % tarfile.BLOCKSIZE))
        end = 2 * tarfile.BLOCKSIZE
        tar.write(bytes(end + -(written + end) % tarfile.RECORDSIZE))


def _header(member: Member) -> bytes:
    about = tarfile.TarInfo(member.name)
    about.size = member.size
    try:
        return about.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
    except ValueError as error:
        found = f"does not fit into an archive ({error})"
        raise BadInput(member.name, "", found, "names of about 250 bytes and files of 8 GiB at most") from None
