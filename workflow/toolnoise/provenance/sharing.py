"""The results that travel between clusters, and the archives that they travel in: the same files give the same bytes.

What travels was made on a tooling, which other sites may not have: runs, dumps of predictions and of layers, profiles
and times of steps, each with its statement. Everything else can be made from them anywhere. Only the statements of the
prepared data are included. `record.archive` reads the archives.
"""

import gzip
import hashlib
import lzma
import tarfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.provenance.archive import BLOCK, SUFFIXES, Member
from toolnoise.provenance.statements import Statement, path_for
from toolnoise.steps import STEPS, Job

# A run's statement has about 15 kB, that of a dump 300 bytes more for each file that it was made from.
LARGEST_STATEMENT, AN_INPUT = 4 * 2**20, 2**10
# What to call the files of such jobs; which jobs write dumps; and which send their statements alone.
NAMED = {verb: step.record.travels for verb, step in STEPS.items() if step.record.travels}
DUMPS = tuple(verb for verb, step in STEPS.items() if step.record.option == "index")
STATED = tuple(verb for verb, step in STEPS.items() if step.record.stated)
# The sender's list of those who may sign: to be read, never to be trusted.
SIGNERS, LARGEST_LIST = "allowed_signers", 2**20
# What compresses an archive, by its suffix.
COMPRESSED: dict[str, Callable[[IO[bytes]], IO[bytes]]] = {
    ".tar": lambda file: file,
    # Without name and time, so that the same files give the same bytes.
    ".tar.gz": partial(gzip.GzipFile, "", "wb", 9, mtime=0),
    ".tar.xz": partial(lzma.LZMAFile, mode="wb"),
}


class Counts(NamedTuple):
    """The number of jobs whose files were exported or imported, by verb, and the number of the others."""

    jobs: Counter[str]
    others: int

    def __str__(self) -> str:
        return ", ".join(f"{self.jobs[verb]} {name}" for verb, name in NAMED.items() if self.jobs[verb]) or "nothing"


def largest_statement(job: Job) -> int:
    """The most bytes that the statement of a job may have."""
    return max(LARGEST_STATEMENT, AN_INPUT * len(job.inputs))


def travels(job: Job) -> bool:
    """Whether a job's files are made on a tooling."""
    return job.verb in NAMED


def statement_name(job: Job) -> str:
    """The name of a job's statement, in the form of names in statements."""
    return path_for(job.outputs[0][0]).as_posix()


def difference(statement: Statement, job: Job) -> str:
    """The part in which a statement differs from a job of the study; empty if none."""
    if statement.verb != job.verb:
        return "verb"
    if statement.parameters != job.parameters:
        return "spec"
    if tuple((artifact.name, artifact.role) for artifact in statement.outputs) != job.outputs:
        return "list of outputs"
    if tuple((artifact.name, artifact.role) for artifact in statement.inputs) != job.inputs:
        return "list of inputs"
    return ""


def unchanged(path: Path, sha256: str, size: int, done: Callable[[int], object] = lambda _: None) -> Iterator[bytes]:
    """The bytes of a file in chunks, as its statement has them; `done` is called with each number of bytes read."""
    digest, left = hashlib.sha256(), size
    with files.readable(path, "the file that its statement names"), files.open_plain(path) as file:
        while left and (chunk := file.read(min(left, BLOCK))):
            left -= len(chunk)
            digest.update(chunk)
            done(len(chunk))
            yield chunk
        more = file.read(1)
    if left or more or digest.hexdigest() != sha256:
        raise BadInput(path, "", "differs from its statement", "unchanged results: see toolnoise audit")


def pack(path: str | Path, members: Iterable[Member]) -> None:
    """Write an archive, compressed according to its suffix."""
    suffix = next((suffix for suffix in SUFFIXES if str(path).endswith(suffix)), None)
    if suffix is None:
        raise BadInput("command line", "--out", f"found {str(path)!r}", f"a name that ends in {', '.join(SUFFIXES)}")
    with files.replacing(path) as scratch, scratch.open("wb") as file, COMPRESSED[suffix](file) as tar:
        written = 0
        for member in members:
            written += tar.write(_header(member))
            written += sum(tar.write(chunk) for chunk in member.chunks)
            written += tar.write(bytes(-member.size % tarfile.BLOCKSIZE))
        end = 2 * tarfile.BLOCKSIZE
        tar.write(bytes(end + -(written + end) % tarfile.RECORDSIZE))


def _header(member: Member) -> bytes:
    about = tarfile.TarInfo(member.name)
    about.size = member.size
    try:
        return about.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
    except ValueError as error:
        found = f"does not fit into an archive ({error})"
        raise BadInput(member.name, "", found, "names of about 250 bytes and files of 8 GiB at most") from None
