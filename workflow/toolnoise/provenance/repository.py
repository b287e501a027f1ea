"""The program's origin: the commit, its history, the difference from it, and the lock file of the environment.

A machine for a single measurement may have no git. A tree that is packed for such a machine records its commit
itself.
"""

import functools
import hashlib
import importlib.metadata
import io
import re
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import faults
from toolnoise.base.errors import BadInput, warn_once
from toolnoise.base.files import canonical_sha256, read_json, sha256
from toolnoise.base.program import ROOT, path_of
from toolnoise.provenance.statements import UNKNOWN

# The lock files of toolings' own environments.
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
# The packages of each engine's framework. No job imports those of another engine's, but an existing program may.
FRAMEWORKS = {
    "tensorflow": {"tensorflow", "tensorflow-cpu"},
    "jax": {"jax", "jaxlib", "jax-cuda12-plugin", "jax-cuda13-plugin"},
    "torch": {"torch"},
}
# The engine of existing training programs, which may import any of them.
PROGRAMS = "command"
# In a tree without git: its commit and the SHA-256 of each of its files.
PACKED = ROOT / "packed.json"
# Packages that a lock file has for other systems than this one.
_ELSEWHERE = re.compile(rf"^\S+ ; sys_platform (== '(?!{sys.platform}')|!= '{sys.platform}').*", re.MULTILINE)


# Git
# ---


class Commit(NamedTuple):
    """A commit, empty if unknown, and the SHA-256 of the difference of its files from it.

    That is None if there is no difference, and `UNKNOWN` if git did not answer; `why` has what it said instead.
    """

    sha: str
    changes: str | None
    why: str = ""


@functools.cache
def commit() -> Commit | None:
    """The commit that is checked out; None if the program is not in a repository of its own."""
    said, why = _asked("rev-parse", "--show-toplevel", "HEAD")
    if why:
        # It is refused or broken, unless there is no repository, or one that has no commit yet.
        lost = (ROOT / ".git").exists() and git("rev-list", "--all", "--max-count=1") != b""
        return Commit("", UNKNOWN, why) if lost else None
    folder, sha = said.decode().split("\n")[:2]
    if Path(folder).resolve() != ROOT.resolve():
        return None
    diff, why = _asked("diff", "HEAD", "--binary", "--no-color", "--no-ext-diff", "--no-textconv")
    return Commit(sha, UNKNOWN if why else hashlib.sha256(diff).hexdigest() if diff else None, why)


def refresh() -> None:
    """Let git note the times of all files: in a fresh clone, each `git diff` of each job would read many of them.

    If git does not answer, say so here, once for all jobs.
    """
    git("status", "--porcelain", "--untracked-files=no")
    if (revision := commit()) and revision.why:
        warn_once(f"git does not tell the commit, or what differs from it ({revision.why}): results will say so")


@functools.cache
def packed() -> Commit | None:
    """The commit that this tree was packed from, and the difference from it; None if it was not packed."""
    if not PACKED.exists():
        return None
    about = read_json(PACKED)
    digests = {name: sha256(path_of(name)) if path_of(name).is_file() else None for name in about["files"]}
    changed = {name: digest for name, digest in digests.items() if digest != about["files"][name]}
    return Commit(about["commit"], canonical_sha256(changed) if changed else None)


@functools.cache
def committed(sha: str) -> datetime | None:
    """The time of a commit in UTC; None if there is no such commit."""
    seconds = git("show", "--no-patch", "--format=%ct", f"{sha}^{{commit}}") if _is_digest(sha) else None
    return datetime.fromtimestamp(int(seconds), UTC).replace(tzinfo=None) if seconds else None


def named(revision: str) -> str | None:
    """The commit that a revision of this repository, such as a tag or the start of its digest, names."""
    answer = git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return answer.decode().strip() if answer else None


def descends(sha: str, ancestor: str) -> bool:
    """Whether a commit is another one or descends from it; a commit that is not here does not."""
    return git("merge-base", "--is-ancestor", ancestor, sha) is not None


def files_of(sha: str | None, names: Iterable[str]) -> dict[str, bytes]:
    """Those of these files that a commit has, with what they were; one call of git for all."""
    asked = [name for name in dict.fromkeys(names) if name.isprintable()]
    if not asked or not _is_digest(sha):
        return {}
    answer = git("cat-file", "--batch", given="".join(f"{sha}:{name}\n" for name in asked).encode()) or b""
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


def extract(sha: str, folder: Path) -> None:
    """Write the files of a commit to a folder."""
    with tarfile.open(fileobj=io.BytesIO(git("archive", "--format=tar", sha))) as archive:
        archive.extractall(folder, filter="data")


def git(*arguments: str, given: bytes | None = None) -> bytes | None:
    """What git prints of the program's repository; None if it has no answer."""
    said, why = _asked(*arguments, given=given)
    return None if why else said


def _asked(*arguments: str, given: bytes | None = None) -> tuple[bytes, str]:
    """What git printed, and why it has no answer."""
    try:
        done = subprocess.run(["git", "-C", ROOT, *arguments], input=given, capture_output=True)
    except OSError as error:
        return b"", f"git cannot be started ({faults.called(error)})"
    if done.returncode < 0:
        # That is no answer of git's: what it stops is not recorded as unknown.
        killed = f"git was killed by {signal.Signals(-done.returncode).name}"
        raise BadInput(ROOT, "", killed, "type the same command again")
    first, *_ = done.stderr.decode(errors="replace").strip().splitlines() or [f"git ended with {done.returncode}"]
    return done.stdout, first if done.returncode else ""


def _is_digest(sha: str | None) -> bool:
    return re.fullmatch(r"[0-9a-f]{40,64}", sha or "") is not None


# Packages
# --------


def versions(*packages: str) -> dict[str, str]:
    """The versions of those of these packages that are installed."""
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
def lock(engine: str) -> str | None:
    """The lock file whose environment a job on this engine has here; None if there is none.

    The environment may have further packages: frameworks that neither the job nor the lock file names, and tools.
    """
    here = {package: public(version) for package, version in versions(*DECISIVE).items()}
    locks = (name for name in LOCKS if path_of(name).exists())
    return next((name for name in locks if _fits(here, path_of(name).read_text("utf-8"), engine)), None)


def _fits(here: dict[str, str], lock: str, engine: str) -> bool:
    """Whether all frameworks of a lock file are installed, and what is installed is as it pins it."""
    pinned, further = pins(_ELSEWHERE.sub("", lock)), set[str]()
    for other, packages in FRAMEWORKS.items():
        chosen = {package: version for package, version in pinned.items() if package in packages}
        if not chosen.items() <= here.items():
            return False
        if not chosen and engine not in (other, PROGRAMS):
            further |= packages
    return {package: version for package, version in here.items() if package not in further}.items() <= pinned.items()


def pins(lock: str) -> dict[str, str]:
    """The versions of packages that a lock file's text pins."""
    return dict(re.findall(r"^([a-z0-9.-]+)==([^ ;\\]+)", lock, re.MULTILINE))


def public(version: str) -> str:
    """A version without its build tag: a lock pins PyTorch 2.13.0, and 2.13.0+cpu is installed."""
    return version.partition("+")[0]
