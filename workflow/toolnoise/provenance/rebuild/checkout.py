"""The code of a job as its statement records it: file by file, from here or from the stated commit."""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from toolnoise.base import code_digest, program
from toolnoise.base.files import sha256
from toolnoise.base.program import PACKAGE
from toolnoise.base.spec import Spec
from toolnoise.provenance import history
from toolnoise.provenance.statements import CODE, RESOURCE, Artifact, Statement

# Where the package lies in the repository.
WORKFLOW = str(PurePosixPath(program.NAME).parent)


class Lacking(Exception):  # noqa: N818 (it names what is lacking)
    """The reason why a job cannot be rebuilt as it was recorded."""


class Code(NamedTuple):
    """The folder to import the package from, and a name for it."""

    folder: Path
    called: str


def package(statement: Statement, scratch: Path) -> Code:
    """The package as the statement records it: the present one if it matches, else written to `scratch`."""
    recorded = [file for file in statement.made_of(CODE, RESOURCE) if not _is_own(file)]
    absent = [file for file in recorded if not _is(program.path_of(file.name), file)]
    if not absent:
        return Code(PACKAGE.parent, "the code here")
    commit = statement.commit or ""
    at_commit = history.files_of(commit, (file.name for file in recorded))
    missing = [file.name for file in absent if at_commit.get(file.name) != file.sha256]
    if missing:
        raise _lacking(missing)
    history.extract(commit, scratch)
    for file in recorded:
        # Files that were changed when the job ran and have been committed since.
        if at_commit.get(file.name) != file.sha256:
            (scratch / file.name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(program.path_of(file.name), scratch / file.name)
    return Code(scratch / WORKFLOW, f"the code of commit {commit[:12]}")


def own_modules(statement: Statement, folder: Path) -> Iterator[tuple[str, Path | bytes]]:
    """The user's own modules for a study that ran in `folder`: each its place there, and its recorded version.

    A module in the repository was recorded by its path there, any other by its path in the user's folder. All of them
    lie in the folder that the model's builder is imported from.
    """
    recorded = [module for module in statement.dependencies if _is_own(module)]
    if not recorded:
        return
    prefix = _folder_of(statement.parameters, [module.name for module in recorded])
    for module in recorded:
        place = module.name.removeprefix(prefix)
        paths = (folder / place, folder / module.name, program.path_of(module.name))
        source: Path | bytes | None = next((path for path in paths if _is(path, module)), None)
        if source is None and statement.commit:
            text = history.show(statement.commit, module.name)
            source = text if text is not None and hashlib.sha256(text).hexdigest() == module.sha256 else None
        if source is None:
            raise _lacking([place])
        yield place, source


def _lacking(files: list[str]) -> Lacking:
    return Lacking(f"code that is neither here nor at its commit: {', '.join(files)}")


def _is_own(file: Artifact) -> bool:
    return file.kind == CODE and not file.name.startswith(f"{WORKFLOW}/")


def _folder_of(parameters: dict[str, Any], names: list[str]) -> str:
    """The prefix of the recorded names before the path of the model's builder, or of a training program's script."""
    for named in code_digest.named_by(Spec.read(parameters["spec"])):
        module = PurePosixPath(*named.split(".")).as_posix()
        for ending in (named,) if named.endswith(code_digest.SCRIPT) else (f"{module}.py", f"{module}/__init__.py"):
            for name in names:
                if name == ending or name.endswith(f"/{ending}"):
                    return name.removesuffix(ending)
    return ""


def _is(path: Path, file: Artifact) -> bool:
    return path.is_file() and sha256(path) == file.sha256
