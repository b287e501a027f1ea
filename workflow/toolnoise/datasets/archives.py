"""Files in a folder, a tar or a zip, by name: read one at a time, never extracted and never unpickled.

An archive is refused as a whole if a member lies outside its folder, or is a link or a device. It is also refused if it
ends early: every member of a tar and its end are located before the first is read.
"""

import io
import os
import stat
import tarfile
import tempfile
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from toolnoise.base.errors import BadInput
from toolnoise.base.files import COMPRESSED, read_bytes, readable, require_plain, require_unpacked

WANTED = "a folder, a .tar (.gz, .bz2 or .xz) or a .zip"
# A compressed tar can only be read from its start, so it is decompressed once, in memory up to this many bytes.
IN_MEMORY = 1 << 30
ZIP = b"PK"
BLOCK = 1 << 20


class Members(Mapping[str, bytes]):
    """The content of each file by its name, in the order of the names; hidden files are left out."""

    def __init__(
        self, path: Path, places: dict[str, Any], read: Callable[[Any], bytes], size: Callable[[Any], int]
    ) -> None:
        """`places` maps each name to the argument that `read` and `size` need."""
        self.path, self._read, self._size = path, read, size
        self._places = {name: places[name] for name in sorted(places) if "/." not in f"/{name}"}

    def __getitem__(self, name: str) -> bytes:
        place = self._places[name]
        with readable(f"{self.path}: {name}", "a whole file"):
            return self._read(place)

    def bytes_of(self, names: Iterable[str]) -> int:
        """The total size of these files, in bytes."""
        return sum(self._size(self._places[name]) for name in names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@contextmanager
def opened_archive(path: str | Path) -> Iterator[Members]:
    """The files of a folder or an archive, while it is open."""
    path = Path(path)
    with ExitStack() as stack:
        with readable(path, WANTED):
            if path.is_dir():
                members = _folder(path)
            else:
                file = stack.enter_context(path.open("rb"))
                start = file.read(2)
                file.seek(0)
                if start == ZIP:
                    members = _zip(path, stack.enter_context(zipfile.ZipFile(file)))
                else:
                    if start in COMPRESSED:
                        packed = stack.enter_context(COMPRESSED[start](file))
                        file = stack.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))
                        _unpack(path, packed, file)
                    members = _tar(path, file)
        yield members


def _unpack(path: Path, packed: IO[bytes], file: IO[bytes]) -> None:
    size, unpacked = path.stat().st_size, 0
    while block := packed.read(BLOCK):
        unpacked += len(block)
        require_unpacked(path, "", unpacked, size)
        file.write(block)


def unpack_gzip(path: Path) -> bytes:
    """The content of a file that may be packed by gzip."""
    with path.open("rb") as file:
        mark = file.read(2)
        file.seek(0)
        if mark not in COMPRESSED:
            return file.read()
        with io.BytesIO() as whole, COMPRESSED[mark](file) as packed:
            _unpack(path, packed, whole)
            return whole.getvalue()


def _folder(path: Path) -> Members:
    places = {}
    for folder, folders, files in os.walk(path, onerror=_raised):
        for name in folders:
            if (linked := Path(folder, name)).is_symlink():
                raise BadInput(path, str(linked.relative_to(path)), "a link to a folder", "allowed: files and folders")
        for name in files:
            require_plain(Path(folder, name))
            places[Path(folder, name).relative_to(path).as_posix()] = Path(folder, name)
    return Members(path, places, read_bytes, lambda file: file.stat().st_size)


def _raised(error: OSError) -> None:
    raise error


def _zip(path: Path, archive: zipfile.ZipFile) -> Members:
    places: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        plain = info.is_dir() or stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG)
        require_unpacked(path, info.filename, info.file_size, info.compress_size)
        _add(path, places, info.filename, info, plain=plain, folder=info.is_dir())
    return Members(path, places, archive.read, lambda info: info.file_size)


def _tar(path: Path, file: IO[bytes]) -> Members:
    lock = threading.Lock()

    def read(place: tuple[int, int]) -> bytes:
        with lock:
            file.seek(place[0])
            return file.read(place[1])

    places = {}
    for name, (start, size) in _tar_places(path, file, 0, None).items():
        if name.endswith(".tar"):
            # A tar in a tar, such as ImageNet's one per class, counts as a folder of that name.
            for inner, place in _tar_places(f"{path}: {name}", file, start, start + size).items():
                places[f"{name.removesuffix('.tar')}/{inner}"] = place
        else:
            places[name] = start, size
    return Members(path, places, read, lambda place: place[1])


def _tar_places(path: str | Path, file: IO[bytes], start: int, stop: int | None) -> dict[str, tuple[int, int]]:
    """The position in `file` and the size of each member of the tar from `start` to `stop`."""
    places: dict[str, tuple[int, int]] = {}
    file.seek(start)
    with tarfile.open(fileobj=file, mode="r:") as archive:
        while member := archive.next():
            # Only positions are kept: tarfile's entries of a million members would fill the memory.
            archive.members = []
            plain = member.isdir() or (member.isreg() and not member.issparse())
            _add(path, places, member.name, (member.offset_data, member.size), plain=plain, folder=member.isdir())
        end = archive.offset
    file.seek(end)
    # tarfile accepts a file that ends between two members as complete.
    if file.read(tarfile.BLOCKSIZE) != tarfile.NUL * tarfile.BLOCKSIZE or (stop is not None and end >= stop):
        raise EOFError("the end of the archive is missing")
    return places


def _add(path: str | Path, places: dict[str, Any], name: str, place: Any, *, plain: bool, folder: bool) -> None:
    parts = PurePosixPath(name).parts
    if not plain:
        raise BadInput(path, name, "a link, a device or the like", "allowed: files and folders")
    if ".." in parts or name.startswith("/") or "\\" in name or "\0" in name:
        raise BadInput(path, name, "a member outside its folder", "allowed: names of files below it")
    if not folder:
        clean = "/".join(parts)
        if clean in places:
            raise BadInput(path, name, "a repeated member", "each file once")
        places[clean] = place
