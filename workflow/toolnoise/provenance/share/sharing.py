"""What of a study travels from one cluster to another: what was made on a tooling, which others may not have.

These are runs, dumps of predictions and of layers, profiles and times of steps, each with its statement. Everything
else can be made from them anywhere; of the prepared data only the statements go along.
"""

from collections import Counter
from typing import NamedTuple

from toolnoise.provenance.record.statements import Statement, path_for
from toolnoise.steps import STEPS, Job

# A statement of a run has some ten kB, one of a dump some hundred bytes more for each run.
LARGEST_STATEMENT = 4 * 2**20
# What such jobs' files are called, and which of them are dumps; of the prepared data the statements go along.
NAMED = {verb: step.travels for verb, step in STEPS.items() if step.travels}
DUMPS = tuple(verb for verb, step in STEPS.items() if step.record == "index")
DATA = "prepare"


class Told(NamedTuple):
    """How many jobs' files were exported or imported, by verb, and how many were not."""

    jobs: Counter[str]
    others: int

    def __str__(self) -> str:
        return ", ".join(f"{self.jobs[verb]} {name}" for verb, name in NAMED.items() if self.jobs[verb]) or "nothing"


def travels(job: Job) -> bool:
    """Whether a job's files are made on a tooling."""
    return job.verb in NAMED


def hardware(job: Job) -> str:
    """The tooling that such a job's files are made on."""
    return job.parameters["spec"]["hardware"]["name"]


def statement_name(job: Job) -> str:
    """What the statement of a job is called, as statements call files."""
    return path_for(job.outputs[0][0]).as_posix()


def difference(statement: Statement, job: Job) -> str:
    """In what a statement is another than a job of the study must have; empty if in nothing."""
    if statement.verb != job.verb:
        return "verb"
    if statement.parameters != job.parameters:
        return "spec"
    if tuple((one.name, one.role) for one in statement.outputs) != job.outputs:
        return "list of outputs"
    if tuple((one.name, one.role) for one in statement.inputs) != job.inputs:
        return "list of inputs"
    return ""
