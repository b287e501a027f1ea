"""What the program is made of here: the commit, what differs from it, and the lock file of its environment.

A machine for one measurement may have no git. A tree that is packed for it says itself which commit it is of.
"""

import functools
import hashlib
import importlib.metadata
import io
import re
import subprocess
import tarfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from toolnoise.base.code_digest import ROOT
from toolnoise.base.errors import BadInput
from toolnoise.base.files import canonical_sha256, read_json
from toolnoise.provenance.record.hashing import sha256

# The first that fits is the one: those of one framework come before the one of all. What tests need besides, in dev.txt
# and jax-dev.txt, decides nothing.
LOCKS = tuple(f"requirements/{name}.txt" for name in ("cpu", "cuda", "jax", "jax-cuda", "torch", "frameworks"))
# What decides numbers and figures; the other pins follow from these in a lock.
DECISIVE = (
    *("tensorflow", "tensorflow-cpu", "jax", "jaxlib", "torch", "keras", "numpy"),
    *("jax-cuda12-plugin", "jax-cuda13-plugin", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13"),
    *("matplotlib", "pandas", "papermill", "snakemake"),
)
SHA = r"[0-9a-f]{40,64}"
# Of a tree without git: the commit that it was packed from, and the SHA-256 of each of its files.
PACKED = ROOT / "packed.json"


class Commit(NamedTuple):
    """A commit, and the SHA-256 of the difference between it and the files that it knows; None if there is none."""

    sha: str
    changes: str | None


@functools.cache
def commit() -> Commit | None:
    """The commit that is checked out; None where the program is not in a repository of its own."""
    top = _git("rev-parse", "--show-toplevel", "HEAD")
    if top is None:
        return None
    folder, sha = top.decode().split("\n")[:2]
    if Path(folder).resolve() != ROOT.resolve():
        return None
    difference = _git("diff", "HEAD", "--binary", "--no-color", "--no-ext-diff", "--no-textconv")
    return Commit(sha, hashlib.sha256(difference).hexdigest() if difference else None)


@functools.cache
def packed() -> Commit | None:
    """The commit that this tree was packed from, and what has changed since; None if it was not packed."""
    if not PACKED.exists():
        return None
    about = read_json(PACKED)
    try:
        sha, files = about["commit"], dict(about["files"])
    except (KeyError, TypeError, ValueError):
        raise BadInput(PACKED, "", "lacks a commit or its files", "what bench/gpu.py pack writes") from None
    there = {name: sha256(ROOT / name) if (ROOT / name).is_file() else None for name in files}
    changed = {name: digest for name, digest in there.items() if digest != files[name]}
    return Commit(sha, canonical_sha256(changed) if changed else None)


def tracked(sha: str) -> list[str]:
    """The names of the plain files of a commit."""
    listed = (_git("ls-tree", "-r", "-z", sha) or b"").decode().split("\0")
    return [name for about, _, name in (line.partition("\t") for line in listed) if about.startswith("100")]


def show(sha: str, file: str) -> bytes | None:
    """A file as a commit has it; None where there is no such commit or file."""
    return _git("show", f"{sha}:{file}") if re.fullmatch(SHA, sha) else None


@functools.cache
def committed(sha: str) -> datetime | None:
    """When a commit was made, in UTC; None where there is no such commit."""
    told = _git("show", "--no-patch", "--format=%ct", f"{sha}^{{commit}}") if re.fullmatch(SHA, sha) else None
    return datetime.fromtimestamp(int(told), UTC).replace(tzinfo=None) if told else None


def files_of(sha: str, names: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of these files as a commit has them, of those that it has; asked of git all at once."""
    asked = [name for name in dict.fromkeys(names) if name.isprintable()]
    if not asked or not re.fullmatch(SHA, sha):
        return {}
    answer = _git("cat-file", "--batch", given="".join(f"{sha}:{name}\n" for name in asked).encode()) or b""
    found, at = {}, 0
    for name in asked:
        end = answer.find(b"\n", at)
        told = re.fullmatch(rb"[0-9a-f]+ ([a-z]+) (\d+)", answer[at:end])
        at = end + 1
        if told:
            size = int(told[2])
            if told[1] == b"blob":
                found[name] = hashlib.sha256(answer[at : at + size]).hexdigest()
            at += size + 1
    return found


def extract(sha: str, folder: Path) -> None:
    """Lay out the files of a commit in a folder."""
    packed = _git("archive", "--format=tar", sha)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")


def versions(*packages: str) -> dict[str, str]:
    """The versions of these packages, of those that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def installed_file(package: str, file: str) -> Path:
    """Where a file of an installed package is."""
    return Path(str(importlib.metadata.distribution(package).locate_file(file)))


@functools.cache
def lock() -> str | None:
    """The lock file that the decisive packages of this environment are as; None if they are as none."""
    here = {package: public(version) for package, version in versions(*DECISIVE).items()}
    for name in LOCKS:
        path = ROOT / name
        if path.exists() and here.items() <= pins(path.read_text("utf-8")).items():
            return name
    return None


def pins(lock: str) -> dict[str, str]:
    """The versions that the text of a lock file pins packages to."""
    return dict(re.findall(r"^([a-z0-9.-]+)==([^ ;\\]+)", lock, re.MULTILINE))


def public(version: str) -> str:
    """A version without the name of its build: 2.13.0+cpu is PyTorch 2.13.0, which a lock pins."""
    return version.partition("+")[0]


def _git(*arguments: str, given: bytes | None = None) -> bytes | None:
    try:
        done = subprocess.run(["git", "-C", ROOT, *arguments], input=given, capture_output=True)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
