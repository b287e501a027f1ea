"""The results that travel between clusters: those made on a tooling, which other sites may not have.

These are runs, dumps of predictions and of layers, profiles and times of steps, each with its statement. Everything
else can be made from them anywhere. Only the statements of the prepared data are included.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.record import tree
from toolnoise.record.archive import BLOCK
from toolnoise.record.statements import Statement, path_for
from toolnoise.steps import STEPS, Job

# A run's statement has about 15 kB, that of a dump 300 bytes more for each file that it was made from.
LARGEST_STATEMENT, AN_INPUT = 4 * 2**20, 2**10
# What to call the files of such jobs; which jobs write dumps; and which send their statements alone.
NAMED = {verb: step.record.travels for verb, step in STEPS.items() if step.record.travels}
DUMPS = tuple(verb for verb, step in STEPS.items() if step.record.option == "index")
STATED = tuple(verb for verb, step in STEPS.items() if step.record.stated)
# The sender's list of those who may sign: to be read, never to be trusted.
SIGNERS, LARGEST_LIST = "allowed_signers", 2**20


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


def hardware(job: Job) -> str:
    """The tooling that a job's files are made on."""
    return job.parameters["spec"]["hardware"]["name"]


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
    with files.readable(path, "the file that its statement names"), tree.open_plain(path) as file:
        while left and (chunk := file.read(min(left, BLOCK))):
            left -= len(chunk)
            digest.update(chunk)
            done(len(chunk))
            yield chunk
        more = file.read(1)
    if left or more or digest.hexdigest() != sha256:
        raise BadInput(path, "", "differs from its statement", "unchanged results: see toolnoise audit")
