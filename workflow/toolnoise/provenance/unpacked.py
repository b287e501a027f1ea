"""An archive of one study's results in the place of their folder: it is unpacked for as long as somebody reads it.

Nothing in an archive is trusted. All its files belong to one study, and each has a plain name below that study's
folder. None is a link or a device, or comes twice. What would fill the disk is refused before it is written. The
scratch folder stands for the archive: messages name the archive, and what lies beside the results is looked for beside
the archive.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path, PurePosixPath

from toolnoise.base import faults, files, scratch
from toolnoise.base.errors import BadInput, standing_for
from toolnoise.base.printing import escaped
from toolnoise.provenance import archive
from toolnoise.provenance.archive import Member
from toolnoise.provenance.statements import RESULTS

# The room on a disk that even an empty file takes.
LEAST = 4096
PREFIX = "toolnoise-archive-"


def archive_of(path: str | Path) -> Path | None:
    """The archive that a path is, or leads into; None if it leads to a file or folder of the disk."""
    named = (one for one in (Path(path), *Path(path).parents) if one.name.endswith(archive.SUFFIXES))
    return next(filter(Path.is_file, named), None)


@contextmanager
def opened(*paths: str | Path) -> Iterator[list[Path]]:
    """Paths of results; those of an archive, or into one, are of the folder that it holds, unpacked once for all."""
    packed = [archive_of(path) for path in paths]
    with ExitStack() as stack:
        roots = {one: stack.enter_context(_unpacked(one)) for one in dict.fromkeys(packed) if one}
        of_paths = zip(map(Path, paths), packed, strict=True)
        yield [roots[one] / path.relative_to(one) if one else path for path, one in of_paths]


@contextmanager
def _unpacked(packed: Path) -> Iterator[Path]:
    with scratch.folder(Path(tempfile.gettempdir()), PREFIX) as place:
        root = _unpack(packed, place)
        with standing_for(packed, root):
            yield root


def _unpack(packed: Path, place: Path) -> Path:
    """Write the files of an archive below a folder; return the folder of its study."""
    study, taken = None, 0
    with closing(archive.read(packed)) as members:
        for member in members:
            name, own = PurePosixPath(member.name), archive.study_of(member.name)
            study = study or own
            if own is None or own != study:
                raise BadInput(packed, escaped(member.name), "is not of the study", "results/<study>/... of one study")
            if name.as_posix() != member.name or ".." in name.parts or "\\" in member.name:
                raise BadInput(packed, escaped(member.name), "is no plain name", "names of files below the study")
            taken += max(LEAST, member.size)
            files.require_unpacked(packed, "", taken, packed.stat().st_size)
            if member.size > (free := shutil.disk_usage(place).free):
                found = f"has {member.size} bytes"
                raise BadInput(packed, escaped(member.name), found, f"{free} are free in {place.parent}: set TMPDIR")
            _write(packed, place / name, member)
    if study is None:
        raise BadInput(packed, "", "is empty", "an archive of one study's results")
    return place / RESULTS / study


def _write(packed: Path, path: Path, member: Member) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Not over a file that is there: it came twice.
        file = path.open("xb")
    except OSError as error:
        found = "comes twice" if path.exists() else faults.called(error)
        raise BadInput(packed, escaped(member.name), found, "each file once") from None
    with file:
        file.writelines(member.chunks)
