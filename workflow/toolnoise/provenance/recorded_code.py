"""The code of a job as its statement records it: file by file, from here or from the stated commit."""

import shutil
from pathlib import Path, PurePosixPath

from toolnoise.base import program
from toolnoise.base.files import sha256
from toolnoise.provenance import history
from toolnoise.provenance.statements import CODE, RESOURCE, Artifact, Statement

# Where the package lies in the repository.
WORKFLOW = str(PurePosixPath(program.NAME).parent)


class Lacking(Exception):  # noqa: N818 (it names what is lacking)
    """The reason why a job cannot be made again as it was recorded."""


def lay_out(statement: Statement, user: Path, folder: Path, scratch: Path) -> tuple[Path, str]:
    """The folder to import the package from, for a job in `folder`, and a name for it: here, or a copy in `scratch`.

    The modules of the user's own, recorded by their paths in the repository or in the user's folder, are put where the
    job imports them from. Where that is not known, as results were moved, it is at every end of that path.
    """
    recorded, commit = statement.made_of(CODE, RESOURCE), statement.commit or ""
    own = {file: _places(file, user) for file in recorded if _is_own(file)}
    sources = {file: program.path_of(file.name) for file in recorded}
    sources |= {file: user / ends[0] for file, ends in own.items() if _is(user / ends[0], file)}
    absent = [file for file, source in sources.items() if not _is(source, file)]
    if absent and history.committed(commit):
        history.extract(commit, scratch)
        sources |= {file: scratch / file.name for file in absent}
    if missing := [file.name for file in absent if not _is(sources[file], file)]:
        raise Lacking(f"code that is neither here nor at its commit: {', '.join(missing)}")
    for file, places in own.items():
        for place in places:
            _copy(sources[file], folder / place)
    if own.keys() >= set(absent):
        return program.PACKAGE.parent, "the code here"
    for file in sources.keys() - own.keys() - set(absent):
        # Such as one that was changed when the job ran and has been committed since.
        _copy(sources[file], scratch / file.name)
    return scratch / WORKFLOW, f"the code of commit {commit[:12]}"


def _is_own(file: Artifact) -> bool:
    return file.kind == CODE and not file.name.startswith(f"{WORKFLOW}/")


def _places(file: Artifact, user: Path) -> list[PurePosixPath]:
    parts = PurePosixPath(file.name).parts
    ends = [PurePosixPath(*parts[start:]) for start in range(len(parts))]
    return [end for end in ends if _is(user / end, file)][:1] or ends


def _copy(source: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, place)


def _is(path: Path, file: Artifact) -> bool:
    return path.is_file() and sha256(path) == file.sha256
