"""The program's origin: the commit, its history, the environment's lock file, and whether a result's code is known.

A machine for a single measurement may have no git. A tree that is packed for such a machine records its commit
itself.

A file in a statement is known if the present file has its digest, or if the file in the stated commit has. In the
second case the code has changed since: the result is stale, which is no fault. It is not stale if the code that affects
the outputs is the same.
"""

import functools
import hashlib
import importlib.metadata
import io
import os
import re
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from toolnoise.base.errors import BadInput, as_given, fault_name, warn_once
from toolnoise.base.files import LARGEST_TEXT, canonical_sha256, is_below, open_plain, read_json, sha256
from toolnoise.base.program import ROOT, path_of
from toolnoise.provenance.statements import CODE, LOCK, PACKAGE, RESOURCE, RESULTS, UNKNOWN, Artifact, Statement

# The lock files for other versions of the frameworks.
VERSIONS = "requirements/versions"
# The first match counts, so lock files of one framework come before those of several.
LOCKS = (
    *(f"requirements/{name}.txt" for name in ("cpu", "cuda", "jax", "jax-cuda", "torch", "frameworks", "dev")),
    "requirements/machines/gpu.txt",
    *(f"{VERSIONS}/{path.name}" for path in sorted(path_of(VERSIONS).glob("*.txt"))),
)
# Packages that affect numbers and figures; the other pins of a lock follow from these.
DECISIVE = (
    *("tensorflow", "tensorflow-cpu", "jax", "jaxlib", "torch", "keras", "numpy"),
    *("jax-cuda12-plugin", "jax-cuda13-plugin", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13"),
    *("matplotlib", "pandas", "papermill", "snakemake"),
)
# The packages of each engine's framework. A job imports only its own engine's, but an existing program may import any.
FRAMEWORKS = {
    "tensorflow": {"tensorflow", "tensorflow-cpu"},
    "jax": {"jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda13-plugin"},
    "torch": {"torch"},
}
# The engine of existing training programs, which may import any of them.
PROGRAMS = "command"
# In a tree without git: its commit and the SHA-256 of each of its files.
PACKED = ROOT / "packed.json"
# Lines of a lock file with packages for other systems.
_ELSEWHERE = re.compile(rf"^\S+ ; sys_platform (== '(?!{sys.platform}')|!= '{sys.platform}').*", re.MULTILINE)


# Git
# ---


class Commit(NamedTuple):
    """A commit, empty if unknown, and the SHA-256 of the difference between it and the present files.

    `changes` is None if there is no difference, and `UNKNOWN` if git did not answer; `why` is then git's error.
    """

    sha: str
    changes: str | None
    why: str = ""


@functools.cache
def head_commit() -> Commit | None:
    """The commit that is checked out; None if the program is not in a repository of its own."""
    said, why = _asked("rev-parse", "--show-toplevel", "HEAD")
    if why:
        # The repository is refused or broken, unless it does not exist or has no commit yet.
        lost = (ROOT / ".git").exists() and git_output("rev-list", "--all", "--max-count=1") != b""
        return Commit("", UNKNOWN, why) if lost else None
    folder, sha = said.decode().split("\n")[:2]
    if Path(folder).resolve() != ROOT.resolve():
        return None
    diff, why = _asked("diff", "HEAD", "--binary", "--no-color", "--no-ext-diff", "--no-textconv")
    return Commit(sha, UNKNOWN if why else hashlib.sha256(diff).hexdigest() if diff else None, why)


def refresh() -> None:
    """Let git cache the times of all files: in a fresh clone, the `git diff` of each job would read many of them.

    If git does not answer, warn here, once for all jobs.
    """
    git_output("status", "--porcelain", "--untracked-files=no")
    if (revision := head_commit()) and revision.why:
        warn_once(f"git does not tell the commit, or what differs from it ({revision.why}): results will say so")


@functools.cache
def packed_commit() -> Commit | None:
    """The commit that this tree was packed from, and the difference from it; None if it was not packed."""
    if not PACKED.exists():
        return None
    about = read_json(PACKED)
    digests = {name: sha256(path_of(name)) if path_of(name).is_file() else None for name in about["files"]}
    changed = {name: digest for name, digest in digests.items() if digest != about["files"][name]}
    return Commit(about["commit"], canonical_sha256(changed) if changed else None)


@functools.cache
def time_of_commit(sha: str) -> datetime | None:
    """The time of a commit in UTC; None if there is no such commit."""
    seconds = git_output("show", "--no-patch", "--format=%ct", f"{sha}^{{commit}}") if _is_digest(sha) else None
    return datetime.fromtimestamp(int(seconds), UTC).replace(tzinfo=None) if seconds else None


def files_of(sha: str | None, names: Iterable[str]) -> dict[str, bytes]:
    """The contents in a commit of these files, without those that it lacks; one call of git for all."""
    asked = [name for name in dict.fromkeys(names) if name.isprintable()]
    if not asked or not _is_digest(sha):
        return {}
    answer = git_output("cat-file", "--batch", given="".join(f"{sha}:{name}\n" for name in asked).encode()) or b""
    found, at = {}, 0
    for name in asked:
        end = answer.find(b"\n", at)
        entry = re.fullmatch(rb"[0-9a-f]+ ([a-z]+) (\d+)", answer[at:end])
        at = end + 1
        if entry:
            size = int(entry[2])
            if entry[1] == b"blob":
                found[name] = answer[at : at + size]
            at += size + 1
    return found


def extract_commit(sha: str, folder: Path) -> None:
    """Write the files of a commit to a folder."""
    with tarfile.open(fileobj=io.BytesIO(git_output("archive", "--format=tar", sha))) as archive:
        archive.extractall(folder, filter="data")


def git_output(*arguments: str, given: bytes | None = None) -> bytes | None:
    """The output of git in the program's repository; None if git fails."""
    said, why = _asked(*arguments, given=given)
    return None if why else said


def _asked(*arguments: str, given: bytes | None = None) -> tuple[bytes, str]:
    """The output of git, and the reason if it fails."""
    try:
        done = subprocess.run(["git", "-C", ROOT, *arguments], input=given, capture_output=True)
    except OSError as error:
        return b"", f"git cannot be started ({fault_name(error)})"
    if done.returncode < 0:
        # A killed git gave no answer: the job stops, and does not record an unknown commit.
        killed = f"git was killed by {signal.Signals(-done.returncode).name}"
        raise BadInput(ROOT, "", killed, "type the same command again")
    first, *_ = done.stderr.decode(errors="replace").strip().splitlines() or [f"git ended with {done.returncode}"]
    return done.stdout, first if done.returncode else ""


def _is_digest(sha: str | None) -> bool:
    return re.fullmatch(r"[0-9a-f]{40,64}", sha or "") is not None


# Packages
# --------


def package_versions(*packages: str) -> dict[str, str]:
    """The versions of these packages, without packages that are not installed."""
    found = {package: _version(package) for package in packages}
    return {package: version for package, version in found.items() if version is not None}


@functools.cache
def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def installed_file(package: str, file: str) -> Path:
    """The path of a file of an installed package."""
    return Path(str(importlib.metadata.distribution(package).locate_file(file)))


@functools.cache
def lock_file(engine: str) -> str | None:
    """The first lock file that this environment satisfies for a job on this engine; None if no file fits.

    The environment may have further packages: tools, and frameworks that neither the job nor the lock file names.
    """
    here = {package: version_without_tag(version) for package, version in package_versions(*DECISIVE).items()}
    locks = (name for name in LOCKS if path_of(name).exists())
    return next((name for name in locks if _fits(here, path_of(name).read_text("utf-8"), engine)), None)


def _fits(here: dict[str, str], lock: str, engine: str) -> bool:
    """Whether all frameworks of a lock file are installed, and all packages `here` have the versions that it pins."""
    pinned, further = pinned_versions(_ELSEWHERE.sub("", lock)), set[str]()
    for other, packages in FRAMEWORKS.items():
        chosen = {package: version for package, version in pinned.items() if package in packages}
        if not chosen.items() <= here.items():
            return False
        if not chosen and engine not in (other, PROGRAMS):
            further |= packages
    return {package: version for package, version in here.items() if package not in further}.items() <= pinned.items()


def pinned_versions(lock: str) -> dict[str, str]:
    """The versions of packages that a lock file's text pins."""
    return dict(re.findall(r"^([a-z0-9.-]+)==([^ ;\\]+)", lock, re.MULTILINE))


def version_without_tag(version: str) -> str:
    """A version without its build tag: a lock pins PyTorch 2.13.0, and 2.13.0+cpu is installed."""
    return version.partition("+")[0]


# Standings
# ---------

# Standings of a file besides unknown. Denied: the file is here, but the stated commit has a different one.
CURRENT, CHANGED, DENIED = "current", "changed", "denied"
# The folders whose files are the repository's, wherever a study ran.
REPOSITORY = ("workflow", "notebooks", "resources", "requirements")
# Names in lock files of an observed package; tensorflow-cpu is TensorFlow without its GPU kernels.
PINNED_AS = {"tensorflow": ("tensorflow", "tensorflow-cpu")}

# Maps a statement to the digest of the present code that affects its outputs; None if that cannot be known.
Counted = Callable[[Statement], str | None]


def standings_of_files(statement: Statement, root: Path) -> list[tuple[Artifact, str]]:
    """The files of the repository that made a result, each with its standing; `root` is the folder of its study."""
    made_by = statement.made_of(CODE, RESOURCE, LOCK)
    return list(zip(made_by, _judged(made_by, statement.commit, statement.changes is None, root), strict=True))


# Runs of one model share their code, so it is judged once.
@functools.cache
def _judged(made_by: tuple[Artifact, ...], commit: str | None, clean: bool, root: Path) -> tuple[str, ...]:
    there = files_of(commit, [file.name for file in made_by])
    then = {name: hashlib.sha256(content).hexdigest() for name, content in there.items()}
    is_here = commit is not None and time_of_commit(commit) is not None
    has_commits = head_commit() is not None

    def standing(file: Artifact) -> str:
        in_commit = then.get(file.name)
        if file.sha256 == _here(file.name, root):
            # Files beside a study are in no commit.
            is_its = is_here and (in_commit or file.name.partition("/")[0] in REPOSITORY)
            return DENIED if clean and is_its and in_commit != file.sha256 else CURRENT
        if in_commit == file.sha256:
            return CHANGED
        # Without a repository, the program's other versions are not known: their results are stale, and a note says so.
        return UNKNOWN if has_commits or file.name.partition("/")[0] not in REPOSITORY else CHANGED

    return tuple(map(standing, made_by))


@functools.cache
def _here(name: str, root: Path) -> str | None:
    """The digest of the file with that name in the repository, or else in the folder that the study ran in.

    That folder has results/<study>. The name may come from a stranger: only a plain file below the folder counts, with
    no link out of it, and at most as large as a source file may be.
    """
    if not is_below(name) or not name.isprintable():
        return None
    here = _digest(path_of(name))
    place = Path(as_given(root)).resolve().parent
    if here or name.partition("/")[0] in REPOSITORY or place.name != RESULTS:
        return here
    # Not Path.resolve, which raises an error for a circle of links.
    beside = Path(os.path.realpath(place.parent / name))
    return _digest(beside) if beside.is_relative_to(place.parent) else None


def _digest(path: Path) -> str | None:
    try:
        with open_plain(path) as file:
            small = os.fstat(file.fileno()).st_size <= LARGEST_TEXT
            return hashlib.sha256(file.read(LARGEST_TEXT)).hexdigest() if small else None
    except OSError:
        return None


def changed_since(statement: Statement, root: Path, counted: Counted) -> list[str]:
    """The changed files and packages of a result's code; empty if the code that affects its outputs is the same."""
    if statement.counted and statement.counted == counted(statement):
        return []
    changed = [file.name for file, standing in standings_of_files(statement, root) if standing == CHANGED]
    return changed + [one.uri for one in statement.made_of(PACKAGE) if not _installed(one)]


def is_other_in_package(file: Artifact) -> bool:
    """Whether a file of an installed package differs from the stated file."""
    package = _installed(file) if is_below(file.name) else ""
    return bool(package) and _digest(installed_file(package, file.name)) != file.sha256


def _installed(file: Artifact) -> str:
    """The package of a file, if the stated version is installed; else empty."""
    named = re.fullmatch(r"pkg:pypi/([A-Za-z0-9._-]+)@(.+)", file.uri)
    return named[1] if named and package_versions(named[1]).get(named[1]) == named[2] else ""


def unpinned_packages(statement: Statement, lock: Artifact) -> list[str]:
    """The packages of a job whose versions differ from its lock file, in words."""
    there, wrong = _pinned(lock, statement.commit), []
    for package, version in statement.observed.get("versions", {}).items():
        pinned = {there[known] for known in PINNED_AS.get(package, (package,)) if known in there}
        matters = pinned or (there and package in DECISIVE)
        if matters and version_without_tag(version) not in pinned:
            wrong.append(f"{package} {version}; {lock.name} pins {', '.join(pinned) or 'none'}")
    return wrong


@functools.cache
def _pinned(lock: Artifact, commit: str | None) -> dict[str, str]:
    """The versions that a lock file pins; empty if the file is unknown, which is a finding of its own."""
    path = path_of(lock.name)
    here, then = path.read_bytes() if path.is_file() else None, files_of(commit, [lock.name]).get(lock.name)
    known = (text for text in (here, then) if text and hashlib.sha256(text).hexdigest() == lock.sha256)
    return next((pinned_versions(text.decode()) for text in known), {})
