"""An archive of one study's results: a tar of plain files, optionally compressed, and nothing else.

It is read once, from front to end. Everything in it except plain files is refused at once (links, devices, folders,
long names, further headers), and so are bytes after its end. Nothing in it is trusted: all its files belong to one
study, and each has a plain name below that study's folder, once. The same files give the same bytes.

An archive may replace its folder: it is unpacked while it is read. A file that would fill the disk is refused before it
is written. Messages name the archive, and files beside the results are looked for beside the archive.
"""

import gzip
import lzma
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from toolnoise.base import files, scratch
from toolnoise.base.errors import BadInput, standing_for
from toolnoise.base.files import readable
from toolnoise.base.printing import make_printable
from toolnoise.provenance.statements import RESULTS

WANTED = "an archive from toolnoise export"
# Names for the files of jobs, by verb: of jobs that dump the answers of runs, and of all jobs whose files travel.
DUMPS = {
    "predict": "dumps of predictions",
    "dump-outcomes": "dumps of outcomes",
    "remedy": "dumps of remedied predictions",
    "predict-elsewhere": "dumps of exchanged predictions",
    "dump-layers": "dumps of layers",
    "dump-continuations": "continuations",
}
TRAVELS = {
    "train": "runs",
    "run-program": "runs of programs",
    "adopt-run": "adopted runs",
    **DUMPS,
    "check-model": "model checks",
    "measure-speed": "times of steps",
    "profile": "profiles",
}
BLOCK = 1 << 20
# Disk space that even an empty file takes, in bytes.
LEAST = 4096
PREFIX = "toolnoise-archive-"
# The compressor of an archive, by its suffix.
PACKERS: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    ".tar": lambda file: file,
    # Without a name and time, so that the same files give the same bytes.
    ".tar.gz": partial(gzip.GzipFile, "", "wb", 9, mtime=0),
    ".tar.xz": partial(lzma.LZMAFile, mode="wb"),
}


class Member(NamedTuple):
    """A file: its name, its size and its bytes, which can be read once, before the next member."""

    name: str
    size: int
    chunks: Iterator[bytes]


def study_of(name: str) -> str | None:
    """The study that a member belongs to; None unless its name is plain and lies below a study's folder."""
    parts = PurePosixPath(name).parts
    is_plain = files.is_below(name) and "\\" not in name
    return parts[1] if is_plain and parts[:1] == (RESULTS,) and len(parts) > 2 else None


def study_in(path: str | Path) -> str:
    """The study that an archive belongs to, by its first member."""
    with closing(members_of(path)) as members:
        first = next(members, None)
    if first is None or (study := study_of(first.name)) is None:
        raise BadInput(path, make_printable(first.name) if first else "", "belongs to no study", WANTED)
    return study


def members_of(path: str | Path) -> Iterator[Member]:
    """The members of an archive, in order."""
    with readable(path, WANTED), Path(path).open("rb") as file:
        start = file.read(2)
        file.seek(0)
        with files.COMPRESSED[start](file) if start in files.COMPRESSED else file as tar:
            while (header := _exactly(tar, tarfile.BLOCKSIZE, path)) != bytes(tarfile.BLOCKSIZE):
                about = tarfile.TarInfo.frombuf(header, "utf-8", "strict")
                if about.type != tarfile.REGTYPE or about.size < 0:
                    found = "a link, a folder, a device or the like"
                    raise BadInput(path, make_printable(about.name), found, "allowed: plain files")
                yield Member(about.name, about.size, _chunks(tar, about.size, path))
                if any(_exactly(tar, -about.size % tarfile.BLOCKSIZE, path)):
                    raise BadInput(path, make_printable(about.name), "is followed by bytes outside of any file", WANTED)
            rest = _exactly(tar, tarfile.BLOCKSIZE, path) + tar.read(tarfile.RECORDSIZE)
            if len(rest) > tarfile.RECORDSIZE or any(rest):
                raise BadInput(path, "", "has bytes after its end", WANTED)


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


def write_archive(path: str | Path, members: Iterable[Member]) -> None:
    """Write an archive, compressed according to its suffix."""
    suffix = next((suffix for suffix in PACKERS if str(path).endswith(suffix)), None)
    if suffix is None:
        raise BadInput("command line", "--out", f"found {str(path)!r}", f"a name that ends in {', '.join(PACKERS)}")
    with files.replacing(path) as unfinished, unfinished.open("wb") as file, PACKERS[suffix](file) as tar:
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


def archive_of(path: str | Path) -> Path | None:
    """The archive that a path is, or leads into; None if it leads to a file or folder of the disk."""
    named = (one for one in (Path(path), *Path(path).parents) if one.name.endswith(tuple(PACKERS)))
    return next(filter(Path.is_file, named), None)


@contextmanager
def opened_results(*paths: str | Path) -> Iterator[list[Path]]:
    """Yield paths of results; a path of or into an archive becomes a path in its folder, which is unpacked once."""
    packed = [archive_of(path) for path in paths]
    with ExitStack() as stack:
        roots = {one: stack.enter_context(unpacked_study(one)) for one in dict.fromkeys(packed) if one}
        of_paths = zip(map(Path, paths), packed, strict=True)
        yield [roots[one] / path.relative_to(one) if one else path for path, one in of_paths]


@contextmanager
def unpacked_study(packed: Path, within: Path | None = None) -> Iterator[Path]:
    """Yield the folder of an archive's study, unpacked in a scratch folder: `within` a folder, or a temporary one."""
    place = scratch.folder(within) if within else scratch.folder(Path(tempfile.gettempdir()), PREFIX)
    with place as folder:
        root = _unpack(packed, folder)
        with standing_for(packed, root):
            yield root


def _unpack(packed: Path, place: Path) -> Path:
    """Write the files of an archive below a folder; return the folder of its study."""
    study, taken = None, 0
    with closing(members_of(packed)) as members:
        for member in members:
            own = study_of(member.name)
            study = study or own
            if own is None or own != study:
                raise BadInput(
                    packed, make_printable(member.name), "is not of the study", "results/<study>/... of one study"
                )
            taken += max(LEAST, member.size)
            files.require_unpacked(packed, "", taken, packed.stat().st_size)
            if member.size > (free := shutil.disk_usage(place).free):
                found = f"has {member.size} bytes"
                raise BadInput(
                    packed, make_printable(member.name), found, f"{free} are free in {place.parent}: set TMPDIR"
                )
            path = place / member.name
            if any(one.is_file() for one in (path, *path.parents)):
                raise BadInput(
                    packed, make_printable(member.name), "comes twice, or lies below a file", "each file once"
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("xb") as file:
                file.writelines(member.chunks)
    if study is None:
        raise BadInput(packed, "", "is empty", "an archive of one study's results")
    return place / RESULTS / study
