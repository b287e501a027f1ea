"""The history of the program, as git has it: the files of commits, their times and their order."""

import functools
import hashlib
import io
import re
import tarfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from toolnoise.provenance.repository import git

SHA = r"[0-9a-f]{40,64}"


def show(sha: str, file: str) -> bytes | None:
    """A file's content in a commit; None without such a commit or file."""
    return git("show", f"{sha}:{file}") if re.fullmatch(SHA, sha) else None


@functools.cache
def committed(sha: str) -> datetime | None:
    """The time of a commit in UTC; None if there is no such commit."""
    seconds = git("show", "--no-patch", "--format=%ct", f"{sha}^{{commit}}") if re.fullmatch(SHA, sha) else None
    return datetime.fromtimestamp(int(seconds), UTC).replace(tzinfo=None) if seconds else None


def named(revision: str) -> str | None:
    """The commit that a revision of this repository, such as a tag or the start of its digest, names."""
    answer = git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    return answer.decode().strip() if answer else None


def descends(sha: str, ancestor: str) -> bool:
    """Whether a commit is another one or descends from it; a commit that is not here does not."""
    return git("merge-base", "--is-ancestor", ancestor, sha) is not None


def files_of(sha: str, names: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of those of these files that a commit has; one call of git for all."""
    asked = [name for name in dict.fromkeys(names) if name.isprintable()]
    if not asked or not re.fullmatch(SHA, sha):
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
                found[name] = hashlib.sha256(answer[at : at + size]).hexdigest()
            at += size + 1
    return found


def extract(sha: str, folder: Path) -> None:
    """Write the files of a commit to a folder."""
    packed = git("archive", "--format=tar", sha)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
