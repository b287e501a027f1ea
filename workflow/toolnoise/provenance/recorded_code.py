"""The code of a job as its statement records it: file by file, from here or from the stated commit."""

import hashlib
import shutil
from pathlib import Path, PurePosixPath

from toolnoise.base import program
from toolnoise.base.errors import BadInput
from toolnoise.base.files import sha256
from toolnoise.provenance import history
from toolnoise.provenance.statements import CODE, RESOURCE, Artifact, Statement

# Where the package lies in the repository.
WORKFLOW = str(PurePosixPath(program.NAME).parent)


def package(statement: Statement, scratch: Path) -> tuple[Path, str]:
    """The folder to import the package from, and a name for it: the present one if it is as recorded, else a copy."""
    recorded, commit = [one for one in statement.made_of(CODE, RESOURCE) if not _is_own(one)], statement.commit or ""
    here = [file for file in recorded if _is(program.path_of(file.name), file)]
    if here == recorded:
        return program.PACKAGE.parent, "the code here"
    if history.committed(commit):
        history.extract(commit, scratch)
    for file in here:
        # One that was changed when the job ran may have been committed since.
        (scratch / file.name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(program.path_of(file.name), scratch / file.name)
    if missing := [file.name for file in recorded if not _is(scratch / file.name, file)]:
        raise _missing(", ".join(missing))
    return scratch / WORKFLOW, f"the code of commit {commit[:12]}"


def lay_out_own(statement: Statement, user: Path, folder: Path) -> None:
    """Put the user's own modules, as recorded, where a job that runs in `folder` imports them from.

    One in the repository was recorded by its path there, any other by its path in the user's folder. Where that is not
    known, as results were moved, it is put at every end of that path.
    """
    for file in filter(_is_own, statement.dependencies):
        parts = PurePosixPath(file.name).parts
        ends = [PurePosixPath(*parts[start:]) for start in range(len(parts))]
        known = [end for end in ends if _is(user / end, file)][:1]
        here = user / known[0] if known else program.path_of(file.name)
        source = here.read_bytes() if _is(here, file) else history.show(statement.commit or "", file.name)
        if source is None or hashlib.sha256(source).hexdigest() != file.sha256:
            raise _missing(file.name)
        for end in known or ends:
            (folder / end).parent.mkdir(parents=True, exist_ok=True)
            (folder / end).write_bytes(source)


def _missing(names: str) -> BadInput:
    return BadInput("code", "", f"neither here nor at its commit: {names}")


def _is_own(file: Artifact) -> bool:
    return file.kind == CODE and not file.name.startswith(f"{WORKFLOW}/")


def _is(path: Path, file: Artifact) -> bool:
    return path.is_file() and sha256(path) == file.sha256
