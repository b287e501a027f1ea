"""A results folder: every file, every statement, and the study that they belong to.

Nothing is trusted and nothing refused. Everything that is not a plain file (a link, a pipe, an unreadable folder) is
listed and never opened. An unreadable statement or study is listed with its error. Names in statements are only
compared with names that were found, and never used as paths.
"""

import os
import stat
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from toolnoise.base import faults, scratch
from toolnoise.base.errors import BadInput
from toolnoise.base.files import LARGEST_TEXT, read_json, read_plain, sha256
from toolnoise.provenance import envelope, left_out, statements
from toolnoise.provenance.left_out import Listed
from toolnoise.provenance.statements import FOLDER, RESULTS, SUFFIX, Artifact, Statement
from toolnoise.steps import PAGE
from toolnoise.study import config, layout
from toolnoise.study import grid as studies
from toolnoise.study.study import Study

STUDY_FILE = PurePosixPath(layout.STUDY).name
# Files of unfinished runs: they are temporary and not outputs of a job.
CHECKPOINTS = PurePosixPath(layout.CHECKPOINT).parts[2]
# In earlier results the page showed an audit. The job that wrote that came last, and its statement was the root.
SHOW_AUDIT = "write-audit"
AUDITED, STATEMENTS = f"{layout.PAGE_PARTS}/audit.js", f"{layout.PAGE_PARTS}/statements.js"
# The first output of each job that may be the root.
ROOTS = {PAGE: layout.PAGE, SHOW_AUDIT: AUDITED}
# It names every file of the runs that it is about: 54 MB for the measures of a cell of 60,000 runs.
LARGEST_STATEMENT = LARGEST_TEXT


class Stated(NamedTuple):
    """A statement, the path of its file in the study, its digest and the number of its signatures."""

    path: str
    statement: Statement
    sha256: str = ""
    signatures: int = 0


@dataclass(frozen=True)
class Tree:
    """One study's results. All paths are relative to `root`, with slashes.

    `name` is the study's name from study.json, or else the folder's. `files` maps every plain file to its size.
    `strange` maps everything else, and whatever cannot be examined, to a description. `statements` are the readable
    ones; `unreadable` maps the others to their errors. `producers` maps an artifact to the statements that list it as
    an output (more than one is a finding; the file itself may be missing). `study` is None if study.json cannot be
    read; `why` is the reason. `left_out` are the digests of the files that a slim copy does not have, as far as it may
    lack them; `listed` is their list, and `list_stated` the list's statement, which is not among the others.
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
    left_out: dict[str, str] = field(default_factory=dict)
    listed: Listed | None = None
    list_stated: Stated | None = None

    @property
    def artifacts(self) -> dict[str, int]:
        """The files that should have a statement, with their sizes."""
        return {path: size for path, size in self.files.items() if _is_artifact(path)}

    @property
    def all_stated(self) -> tuple[Stated, ...]:
        """Every readable statement, with that of the list of a slim copy."""
        return (*self.statements, *filter(None, [self.list_stated]))

    def inside(self, name: str) -> str | None:
        """The path in the study of a name in a statement; None if it lies outside this study's results."""
        return _inside(self.name, name)

    def named(self, path: str) -> str:
        """The name in statements of the file at a path in the study."""
        return f"{RESULTS}/{self.name}/{path}"

    def lacks(self, path: str | None) -> bool:
        """Whether there is no file at a path in the study, and none was left out there."""
        return path not in self.files and path not in self.left_out

    def producer(self, name: str) -> Stated | None:
        """The statement that has an artifact, by its name in statements, as an output."""
        path = self.inside(name)
        makers = self.producers.get(path, ()) if path is not None else ()
        return makers[0] if makers else None

    @property
    def top(self) -> Stated | None:
        """The root, if a statement has the digests of the others; the page's is the latest."""
        roots = (self.producer(first.format(study=self.name)) for first in ROOTS.values())
        return next((one for one in roots if one and is_root(one.statement)), None)

    @property
    def chain(self) -> dict[str, str]:
        """What stands for all statements: the digest of the root, or if there is none that of each."""
        return {self.named(one.path): one.sha256 for one in ([self.top] if self.top else self.statements)}


@dataclass(frozen=True)
class Results:
    """The studies of a results folder, and stray files beside them."""

    root: Path
    trees: tuple[Tree, ...]
    strays: tuple[str, ...]


def is_root(statement: Statement) -> bool:
    """Whether a statement has the digests of the others."""
    return statement.verb in ROOTS and statement.chain is not None


def load(folder: str | Path) -> Results:
    """The results in a folder: one study's folder, or a folder with one folder per study."""
    root = Path(folder).absolute()
    if not root.is_dir():
        found = "is not a folder" if root.exists() else "no such folder"
        raise BadInput(folder, "", found, "a results folder, or the folder of one study in it")
    try:
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    except OSError as error:
        raise BadInput(folder, "", f"cannot be read ({faults.called(error)})") from None
    folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")]
    # A study without study.json and statements/ is recognised by its place in results/.
    lost = root.resolve().parent.name == RESULTS and not any(_is_study(root / entry.name) for entry in folders)
    if _is_study(root) or lost:
        return Results(root, (load_study(root),), ())
    if not folders:
        raise BadInput(folder, "", "contains no results", "a results folder, or the folder of one study in it")
    strays = tuple(entry.name for entry in entries if entry not in folders)
    return Results(root, tuple(load_study(root / entry.name) for entry in folders), strays)


def load_study(root: Path) -> Tree:
    """One study's results."""
    files, strange = _walk(root)
    study, why = _study(root, files)
    stated, unreadable = [], {}
    # Dependencies repeat in many statements: one object for each, or large studies fill the memory.
    seen: dict[Artifact, Artifact] = {}
    for path in sorted(path for path in files if path.startswith(f"{FOLDER}/")):
        try:
            statement = read_statement(root, path, files[path])
            stated.append(statement._replace(statement=_shared(statement.statement, seen)))
        except BadInput as error:
            unreadable[path] = error
    name = study.name if study else root.resolve().name
    of_list = next((statement for statement in stated if statement.path == left_out.STATEMENT), None)
    stated = [statement for statement in stated if statement is not of_list]
    lacking, listed = _left_out(root, files, strange)
    made = _producers(name, stated)
    return Tree(name, root, files, strange, tuple(stated), unreadable, made, study, why, lacking, listed, of_list)


def _is_study(root: Path) -> bool:
    try:
        return (root / STUDY_FILE).is_file() or (root / FOLDER).is_dir()
    except OSError:
        # What cannot be read is told where folders are listed.
        return False


def _is_artifact(path: str) -> bool:
    return path.partition("/")[0] not in (FOLDER, CHECKPOINTS) and path != left_out.FILE


def _walk(root: Path) -> tuple[dict[str, int], dict[str, str]]:
    files, strange, folders = {}, {}, deque([""])
    while folders:
        folder = folders.popleft()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError as error:
            strange[folder or "."] = f"a folder that cannot be read ({faults.called(error)})"
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if scratch.is_scratch(entry.name) and scratch.is_held(entry.path):
                # Something that a living process is making is no result yet.
                continue
            try:
                about = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                strange[path] = "gone since the folder was listed"
            except OSError as error:
                strange[path] = f"cannot be examined ({faults.called(error)})"
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
        return "not a plain file"
    try:
        # For a cycle of links, Python 3.11 raises RuntimeError.
        target = Path(os.path.realpath(root / path))
        inside = target.is_relative_to(root.resolve())
        return f"a symbolic link {'inside' if inside else 'out of'} the tree, to {os.readlink(root / path)}"  # noqa: PTH115
    except (OSError, RuntimeError):
        return "a broken symbolic link"


def _study(root: Path, files: dict[str, int]) -> tuple[Study | None, str]:
    path = root / STUDY_FILE
    if STUDY_FILE not in files:
        return None, str(BadInput(path, "", "no such file", "the study.json of these results"))
    try:
        return studies.build(config.resolve(read_json(path), path), path), ""
    except BadInput as error:
        return None, str(error)
    except RecursionError:
        return None, str(BadInput(path, "", "nested too deeply", "a study.json from the workflow"))


def _left_out(root: Path, files: dict[str, int], strange: dict[str, str]) -> tuple[dict[str, str], Listed | None]:
    """The files that a slim copy lacks and may lack, with their digests, and their list; one of no use is strange."""
    if left_out.FILE not in files:
        return {}, None
    try:
        listed, digest = read_json(root / left_out.FILE), sha256(root / left_out.FILE)
    except (BadInput, RecursionError):
        listed = digest = ""
    if not isinstance(listed, dict) or not all(isinstance(one, str) for one in listed.values()):
        strange[left_out.FILE] = "no list of files with their digests"
        listed = {}
    lacking = {path: one for path, one in listed.items() if path not in files and left_out.kind(path)}
    return lacking, Listed(digest, files[left_out.FILE], tuple(path for path in listed if not left_out.kind(path)))


def read_statement(root: Path, path: str, size: int) -> Stated:
    """The statement in a file of a study, of this size."""
    if not path.endswith(SUFFIX):
        raise BadInput(root / path, "", "is not a statement", f"names that end in {SUFFIX}")
    if size > LARGEST_STATEMENT:
        raise BadInput(root / path, "", f"has {size} bytes", f"statements of at most {LARGEST_STATEMENT}")
    signed = envelope.unpack(read_plain(root / path, statements.WANTED), root / path)
    return Stated(path, statements.opened(signed, root / path), signed.sha256(), len(signed.signatures))


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
