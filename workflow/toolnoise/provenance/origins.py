"""The standing of the code, the environment and the commit behind a result.

A file of the repository is known if the present one has its digest, or if the one in the stated commit has. In the
second case other code made the result than the present one: it is stale, which is not its fault, unless what counts of
the code is the same.
"""

import functools
import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

from toolnoise.base import files, program
from toolnoise.base.errors import as_given
from toolnoise.base.files import LARGEST_TEXT, is_below
from toolnoise.provenance import repository
from toolnoise.provenance.statements import CODE, LOCK, PACKAGE, RESOURCE, RESULTS, UNKNOWN, Artifact, Statement

# Standings of a file besides unknown. Denied: the file is here, but the stated commit has a different one.
CURRENT, CHANGED, DENIED = "current", "changed", "denied"
# The folders whose files are the repository's, wherever a study ran.
REPOSITORY = ("workflow", "notebooks", "resources", "requirements")
# Names in lock files of an observed package; tensorflow-cpu is TensorFlow without its GPU kernels.
PINNED_AS = {"tensorflow": ("tensorflow", "tensorflow-cpu")}

# From a statement, the digest of what counts of the present code; None if that cannot be known.
Counted = Callable[[Statement], str | None]


def standings(statement: Statement, root: Path) -> list[tuple[Artifact, str]]:
    """The files of the repository that made a result, each with its standing; `root` is the folder of its study."""
    made_by = statement.made_of(CODE, RESOURCE, LOCK)
    return list(zip(made_by, _judged(made_by, statement.commit, statement.changes is None, root), strict=True))


# Runs of one model share their code, so it is judged once.
@functools.cache
def _judged(made_by: tuple[Artifact, ...], commit: str | None, clean: bool, root: Path) -> tuple[str, ...]:
    there = repository.files_of(commit, [file.name for file in made_by])
    then = {name: hashlib.sha256(content).hexdigest() for name, content in there.items()}
    is_here = commit is not None and repository.committed(commit) is not None

    def standing(file: Artifact) -> str:
        in_commit = then.get(file.name)
        if file.sha256 == _here(file.name, root):
            # What lies beside a study is in no commit.
            is_its = is_here and (in_commit or file.name.partition("/")[0] in REPOSITORY)
            return DENIED if clean and is_its and in_commit != file.sha256 else CURRENT
        return CHANGED if in_commit == file.sha256 else UNKNOWN

    return tuple(map(standing, made_by))


@functools.cache
def _here(name: str, root: Path) -> str | None:
    """The digest of the file with that name in the repository, or else in the folder that the study ran in.

    That folder has results/<study>. A stranger may have written the name: it leads down from there, through no link out
    of it, to a plain file, of which no more is read than any source has.
    """
    if not is_below(name) or not name.isprintable():
        return None
    here = _digest(program.path_of(name))
    place = Path(as_given(root)).resolve().parent
    if here or name.partition("/")[0] in REPOSITORY or place.name != RESULTS:
        return here
    # Not Path.resolve: of a circle of links it makes an error.
    beside = Path(os.path.realpath(place.parent / name))
    return _digest(beside) if beside.is_relative_to(place.parent) else None


def _digest(path: Path) -> str | None:
    try:
        with files.open_plain(path) as file:
            small = os.fstat(file.fileno()).st_size <= LARGEST_TEXT
            return hashlib.sha256(file.read(LARGEST_TEXT)).hexdigest() if small else None
    except OSError:
        return None


def changed_since(statement: Statement, root: Path, counted: Counted) -> list[str]:
    """What has changed of the code that made a result; nothing if what counts of it has not."""
    if statement.counted and statement.counted == counted(statement):
        return []
    changed = [file.name for file, standing in standings(statement, root) if standing == CHANGED]
    return changed + [one.uri for one in statement.made_of(PACKAGE) if not _installed(one)]


def is_other_in_package(file: Artifact) -> bool:
    """Whether a file of an installed package is another one here than was stated."""
    package = _installed(file) if is_below(file.name) else ""
    return bool(package) and _digest(repository.installed_file(package, file.name)) != file.sha256


def _installed(file: Artifact) -> str:
    """The package of a file, if its version is installed."""
    named = re.fullmatch(r"pkg:pypi/([A-Za-z0-9._-]+)@(.+)", file.uri)
    return named[1] if named and repository.versions(named[1]).get(named[1]) == named[2] else ""


def unpinned(statement: Statement, lock: Artifact) -> list[str]:
    """The packages of a job whose versions are not those of its lock file."""
    pins, wrong = _pins(lock, statement.commit), []
    for package, version in statement.observed.get("versions", {}).items():
        pinned = {pins[known] for known in PINNED_AS.get(package, (package,)) if known in pins}
        matters = pinned or (pins and package in repository.DECISIVE)
        if matters and repository.public(version) not in pinned:
            wrong.append(f"{package} {version}; {lock.name} pins {', '.join(pinned) or 'none'}")
    return wrong


@functools.cache
def _pins(lock: Artifact, commit: str | None) -> dict[str, str]:
    """The versions that a lock file pins; empty if the file is unknown, which is a finding of its own."""
    path = program.path_of(lock.name)
    here, then = path.read_bytes() if path.is_file() else None, repository.files_of(commit, [lock.name]).get(lock.name)
    known = (text for text in (here, then) if text and hashlib.sha256(text).hexdigest() == lock.sha256)
    return next((repository.pins(text.decode()) for text in known), {})
