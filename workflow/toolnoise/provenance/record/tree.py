"""A results folder as it lies there: every file, every statement, and the study that they belong to.

Nothing is believed and nothing refused. What is no plain file (a link, a pipe, a folder that cannot be read) is listed
and never opened; a statement or a study that cannot be read is listed with the line that says why. Names, which come
from statements, are only ever compared with names that were found, and never used as paths.
"""

import os
import stat
from collections import deque
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.base.files import read_json
from toolnoise.provenance.record import statements
from toolnoise.provenance.record.statements import FOLDER, SUFFIX, Artifact, Statement
from toolnoise.study import config, layout
from toolnoise.study import grid as studies
from toolnoise.study.grid import Study

RESULTS = "results"
STUDY_FILE = PurePosixPath(layout.STUDY).name
# Of runs that are not finished: they come and go, and no job's outcome is among them.
CHECKPOINTS = PurePosixPath(layout.CHECKPOINT).parts[2]
# A page over every figure of the largest study is stated in some hundred kB.
LARGEST_STATEMENT = 32 * 2**20


class Stated(NamedTuple):
    """A statement and the path in its study of the file that it was read from."""

    path: str
    statement: Statement


@dataclass(frozen=True)
class Tree:
    """One study's results. All paths are relative to `root`, with slashes.

    `name` is the study's name as study.json has it, or the folder's. `files` maps every plain file to its size,
    `strange` what is no plain file, or cannot be looked at, to what it is. `statements` are those that could be read,
    `unreadable` says why the others could not, `producers` maps an artifact to the statements that it is an output of
    (more than one is a finding; whether the file is there is another question). `study` is None if study.json cannot
    be read; `why` then says so.
    """

    name: str
    root: Path
    files: dict[str, int]
    strange: dict[str, str]
    statements: tuple[Stated, ...]
    unreadable: dict[str, BadInput]
    producers: dict[str, tuple[Stated, ...]]
    study: Study | None
    why: str = ""

    @property
    def artifacts(self) -> dict[str, int]:
        """The files that some job should have stated, with their sizes."""
        return {path: size for path, size in self.files.items() if _is_artifact(path)}

    def inside(self, name: str) -> str | None:
        """The path in the study of what a statement names; None if that is nothing of this study's results."""
        return _inside(self.name, name)

    def named(self, path: str) -> str:
        """What statements call the file at a path in the study."""
        return f"{RESULTS}/{self.name}/{path}"

    def producer(self, name: str) -> Stated | None:
        """The statement whose output an artifact is, by the artifact's name in statements."""
        path = self.inside(name)
        found = self.producers.get(path, ()) if path is not None else ()
        return found[0] if found else None


@dataclass(frozen=True)
class Results:
    """The studies of a results folder, and what lies beside them and belongs to none."""

    root: Path
    trees: tuple[Tree, ...]
    strays: tuple[str, ...]


def load(folder: str | Path) -> Results:
    """The results in a folder, which is one study's or has a folder for each."""
    root = Path(folder).absolute()
    if not root.is_dir():
        found = "is no folder" if root.exists() else "no such folder"
        raise BadInput(folder, "", found, "a results folder, or the folder of one study in it")
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except OSError as error:
        raise BadInput(folder, "", f"cannot be read ({error.strerror})") from None
    folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")]
    # One that has lost both marks of a study is told by where it lies.
    lost = root.resolve().parent.name == RESULTS and not any(_is_study(root / entry.name) for entry in folders)
    if _is_study(root) or lost:
        return Results(root, (load_study(root),), ())
    if not folders:
        raise BadInput(folder, "", "has no results in it", "a results folder, or the folder of one study in it")
    strays = tuple(entry.name for entry in entries if entry not in folders)
    return Results(root, tuple(load_study(root / entry.name) for entry in folders), strays)


def load_study(root: Path) -> Tree:
    """One study's results."""
    files, strange = _walk(root)
    study, why = _study(root, files)
    stated, unreadable = [], {}
    # Dependencies repeat in statement after statement: one object for each, or large studies fill the memory.
    seen: dict[Artifact, Artifact] = {}
    for path in sorted(path for path in files if path.startswith(f"{FOLDER}/")):
        try:
            stated.append(Stated(path, _shared(_statement(root, path, files[path]), seen)))
        except BadInput as error:
            unreadable[path] = error
    name = study.name if study else root.resolve().name
    return Tree(name, root, files, strange, tuple(stated), unreadable, _producers(name, stated), study, why)


def open_plain(path: Path) -> BinaryIO:
    """Open a plain file; OSError if it is a link or has become anything else meanwhile, such as a pipe that waits."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("is no plain file")
    return os.fdopen(handle, "rb", buffering=0)


def shown(name: str) -> str:
    """A name on one line that a terminal can show: what cannot be printed is escaped."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in name)


def _is_study(root: Path) -> bool:
    return (root / STUDY_FILE).is_file() or (root / FOLDER).is_dir()


def _is_artifact(path: str) -> bool:
    return path.partition("/")[0] not in (FOLDER, CHECKPOINTS)


def _walk(root: Path) -> tuple[dict[str, int], dict[str, str]]:
    files, strange, folders = {}, {}, deque([""])
    while folders:
        folder = folders.popleft()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError as error:
            strange[folder or "."] = f"a folder that cannot be read ({error.strerror})"
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            try:
                about = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                strange[path] = "gone since the folder was listed"
            except OSError as error:
                strange[path] = f"cannot be looked at ({error.strerror})"
            else:
                if stat.S_ISDIR(about.st_mode):
                    folders.append(path)
                elif stat.S_ISREG(about.st_mode):
                    files[path] = about.st_size
                else:
                    strange[path] = _kind(root, path, about.st_mode)
    return dict(sorted(files.items())), dict(sorted(strange.items()))


def _kind(root: Path, path: str, mode: int) -> str:
    if not stat.S_ISLNK(mode):
        return "no plain file"
    try:
        # Of a circle of links Python 3.11 raises RuntimeError.
        target = Path(os.path.realpath(root / path))
        inside = target.is_relative_to(root.resolve())
        return f"a symbolic link {'inside' if inside else 'out of'} the tree, to {os.readlink(root / path)}"  # noqa: PTH115
    except (OSError, RuntimeError):
        return "a symbolic link that leads nowhere"


def _study(root: Path, files: dict[str, int]) -> tuple[Study | None, str]:
    path = root / STUDY_FILE
    if STUDY_FILE not in files:
        return None, str(BadInput(path, "", "no such file", "the study.json of these results"))
    try:
        return studies.build(config.resolve(read_json(path), path), path), ""
    except BadInput as error:
        return None, str(error)
    except RecursionError:
        return None, str(BadInput(path, "", "nested too deeply", "the study.json that a run of the workflow writes"))


def _statement(root: Path, path: str, size: int) -> Statement:
    if not path.endswith(SUFFIX):
        raise BadInput(root / path, "", "is no statement", f"names that end in {SUFFIX}")
    if size > LARGEST_STATEMENT:
        raise BadInput(root / path, "", f"has {size} bytes", f"statements of at most {LARGEST_STATEMENT}")
    return statements.read(root / path)


def _inside(study: str, name: str) -> str | None:
    prefix = f"{RESULTS}/{study}/"
    return name.removeprefix(prefix) if name.startswith(prefix) else None


def _producers(study: str, stated: list[Stated]) -> dict[str, tuple[Stated, ...]]:
    made: dict[str, list[Stated]] = {}
    for one in stated:
        for output in one.statement.outputs:
            path = _inside(study, output.name)
            if path is not None:
                made.setdefault(path, []).append(one)
    return {path: tuple(found) for path, found in made.items()}


def _shared(statement: Statement, seen: dict[Artifact, Artifact]) -> Statement:
    return statement._replace(dependencies=tuple(seen.setdefault(one, one) for one in statement.dependencies))
