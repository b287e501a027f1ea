"""A results folder: every file, every statement, and which statement made which file.

Nothing is trusted and nothing is refused. Everything that is not a plain file (a link, a pipe, an unreadable folder) is
listed and never opened. An unreadable statement is listed with its error. Names in statements are only compared with
names that were found, and never used as paths.
"""

import functools
import os
import stat
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import scratch
from toolnoise.base.errors import BadInput, fault_name
from toolnoise.base.files import LARGEST_TEXT, read_json, read_plain, readable
from toolnoise.provenance import statements
from toolnoise.provenance.statements import FOLDER, RESULTS, SUFFIX, Artifact, Statement

STUDY_FILE = "study.json"
# Files of unfinished runs: they are temporary and not outputs of a job.
CHECKPOINTS = "checkpoints"
# An archive of an earlier version may lack large files of these kinds: this file lists their digests, and its statement
# belongs to no job.
LEFT_OUT = "left-out.json"
LARGE = (".npz", ".npy", ".ipynb", "report.html")
WANTED = "a results folder, or the folder of one study in it"
# A statement names every file of its runs: 54 MB for the measures of a cell of 60,000 runs.
LARGEST_STATEMENT = LARGEST_TEXT


@dataclass(frozen=True)
class Tree:
    """One study's results. All paths are relative to `root`, with slashes.

    `name` is the study's name in statements, or else the folder's. `files` maps every plain file to its size. `strange`
    maps everything else, and whatever cannot be examined, to a description. `statements` are the readable ones;
    `unreadable` maps the others to their errors. `producers` maps a file to the statements that list it as an output
    (more than one is a finding; the file itself may be missing). `left_out` are the digests of files that an archive
    lacks. If `is_part`, the tree has only the files that one file rests on, and its completeness is not checked.

    An audit adds `hashed`, the digests of the files; `stale`, the changed code behind stale results by the paths of
    their statements; and `notes` on impossible checks and facts worth knowing.
    """

    name: str
    root: Path
    files: dict[str, int]
    strange: dict[str, str]
    statements: tuple[Statement, ...]
    unreadable: dict[str, BadInput]
    producers: dict[str, tuple[Statement, ...]]
    left_out: dict[str, str] = field(default_factory=dict)
    is_part: bool = False
    hashed: dict[str, str] = field(default_factory=dict)
    stale: dict[str, list[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def artifacts(self) -> dict[str, int]:
        """The files that should have a statement, with their sizes."""
        aside = {FOLDER, CHECKPOINTS} | ({LEFT_OUT} if self.left_out else set())
        return {path: size for path, size in self.files.items() if path.partition("/")[0] not in aside}

    @functools.cached_property
    def by_name(self) -> dict[str, Statement]:
        """The statements by their names, as the root has them."""
        return {self.named(statement.path): statement for statement in self.statements}

    def inside(self, name: str) -> str | None:
        """The path in the study for a name in a statement; None if it lies outside this study's results."""
        start = self.named("")
        return name.removeprefix(start) if name.startswith(start) else None

    def named(self, path: str) -> str:
        """The name in statements of the file at a path in the study."""
        return f"{RESULTS}/{self.name}/{path}"

    def lacks(self, name: str) -> bool:
        """Whether no file has this name, and no file of this name was left out."""
        path = self.inside(name)
        return path not in self.files and path not in self.left_out

    def producer(self, name: str) -> Statement | None:
        """The statement that has an artifact, by its name in statements, as an output."""
        return next(iter(self.producers.get(self.inside(name) or "", ())), None)

    @property
    def top(self) -> Statement | None:
        """The root: the statement with the digests of all others; the latest if there are several."""
        roots = [one for one in self.statements if one.chain is not None]
        return max(roots, key=lambda one: one.finished, default=None)

    def behind(self, path: str) -> "Tree":
        """The part that a file rests on: the statement of its job, those of its inputs and so on, with their files."""
        waiting = [*self.producers.get(path, ()), *(one for one in self.statements if one.path == path)]
        if not waiting:
            raise BadInput(self.root / path, "", "has no statement", "a file that a job made, or its statement")
        wanted: dict[str, Statement] = {}
        while waiting:
            statement = waiting.pop()
            if statement.path not in wanted:
                wanted[statement.path] = statement
                waiting += filter(None, (self.producer(needed.name) for needed in statement.inputs))
        outputs = {self.inside(output.name) for one in wanted.values() for output in one.outputs}
        kept = {path: size for path, size in self.files.items() if path in wanted or path in outputs}
        return replace(self, files=kept, strange={}, statements=tuple(wanted.values()), unreadable={}, is_part=True)


class Results(NamedTuple):
    """The studies of a results folder, and stray files beside them."""

    trees: tuple[Tree, ...]
    strays: tuple[str, ...] = ()


def load_results(folder: str | Path) -> Results:
    """The results in a folder: one study's folder, or a folder with one folder per study."""
    root = Path(folder).absolute()
    if not root.is_dir():
        raise BadInput(folder, "", "is not a folder" if root.exists() else "no such folder", WANTED)
    with readable(folder, WANTED):
        entries = sorted(os.scandir(root), key=lambda entry: entry.name)
    folders = [entry for entry in entries if entry.is_dir(follow_symlinks=False) and not entry.name.startswith(".")]
    # A study that has lost its marks is recognized by its place in results/.
    marks, is_there = (STUDY_FILE, FOLDER), root.resolve().parent.name == RESULTS
    is_lost = is_there and not any(Path(one.path, mark).exists() for one in folders for mark in marks)
    if is_lost or any(entry.name in marks for entry in entries):
        return Results((load_study(root),))
    if not folders:
        raise BadInput(folder, "", "contains no results", WANTED)
    strays = tuple(entry.name for entry in entries if entry not in folders)
    return Results(tuple(load_study(root / entry.name) for entry in folders), strays)


def load_readable(root: Path) -> Tree:
    """One study's results, all of whose statements can be read."""
    study = load_study(root)
    for error in study.unreadable.values():
        raise error
    return study


def study_of(path: str | Path) -> Path | None:
    """The folder of the study that a file lies in, by its statements."""
    return next((place for place in Path(path).absolute().parents if (place / FOLDER).is_dir()), None)


def load_study(root: Path) -> Tree:
    """One study's results."""
    files, strange = _walk(root)
    readable_ones, unreadable = [], {}
    # Dependencies repeat in many statements: one object for each, or large studies fill the memory.
    seen: dict[Artifact, Artifact] = {}
    for path in files:
        if path.startswith(f"{FOLDER}/") and path != f"{FOLDER}/{LEFT_OUT}{SUFFIX}":
            try:
                one = _read_statement(root, path, files[path])
                shared = tuple(seen.setdefault(needed, needed) for needed in one.dependencies)
                readable_ones.append(one._replace(dependencies=shared))
            except BadInput as error:
                unreadable[path] = error
    # The folder may have another name than the study.
    names = Counter(one.name.split("/")[1] for one in readable_ones if one.name.startswith(f"{RESULTS}/"))
    name = next((name for name, _ in names.most_common(1)), root.resolve().name)
    tree = Tree(name, root, files, strange, tuple(readable_ones), unreadable, {}, _left_out(root, files))
    for one in readable_ones:
        for path in {tree.inside(output.name) for output in one.outputs} - {None}:
            tree.producers[path] = (*tree.producers.get(path, ()), one)
    return tree


def _walk(root: Path) -> tuple[dict[str, int], dict[str, str]]:
    """The plain files below a folder with their sizes, and everything else with a description."""
    files, strange, folders = {}, {}, [""]
    while folders:
        folder = folders.pop()
        try:
            entries = list(os.scandir(root / folder))
        except OSError as error:
            strange[folder or "."] = f"is a folder that cannot be read ({fault_name(error)})"
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if scratch.is_scratch(entry.name) and scratch.is_held(entry.path):
                # The unfinished output of a living process is no result yet.
                continue
            try:
                about = entry.stat(follow_symlinks=False)
            except OSError as error:
                strange[path] = f"cannot be examined ({fault_name(error)})"
                continue
            if stat.S_ISDIR(about.st_mode):
                folders.append(path)
            elif stat.S_ISREG(about.st_mode):
                files[path] = about.st_size
            else:
                strange[path] = "is a symbolic link" if stat.S_ISLNK(about.st_mode) else "is not a plain file"
    return dict(sorted(files.items())), dict(sorted(strange.items()))


def _left_out(root: Path, files: dict[str, int]) -> dict[str, str]:
    """The large files that an archive of an earlier version lacks, with their digests."""
    try:
        listed = read_json(root / LEFT_OUT) if LEFT_OUT in files else {}
    except BadInput:
        return {}
    found = listed.items() if isinstance(listed, dict) else ()
    return {path: str(digest) for path, digest in found if path not in files and path.endswith(LARGE)}


def _read_statement(root: Path, path: str, size: int) -> Statement:
    """The statement in a file of a study; `size` is the size of the file."""
    if not path.endswith(SUFFIX) or size > LARGEST_STATEMENT:
        wanted = f"a name that ends in {SUFFIX}, and at most {LARGEST_STATEMENT} bytes"
        raise BadInput(root / path, "", f"is no statement, with {size} bytes", wanted)
    signed = statements.unpack_envelope(read_plain(root / path, statements.WANTED), root / path)
    about = {"path": path, "sha256": signed.sha256(), "is_signed": bool(signed.signatures)}
    return statements.open_statement(signed, root / path)._replace(**about)
