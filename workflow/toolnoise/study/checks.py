"""The jobs that a study expects."""

from typing import Any, NamedTuple

from toolnoise import steps
from toolnoise.provenance.statements import path_for
from toolnoise.study.cells import Place
from toolnoise.study.study import Study


class ExpectedJob(NamedTuple):
    """A job: its verb, its place, the names of its outputs, its parameters, whether a whole study has it."""

    verb: str
    place: Place
    outputs: tuple[str, ...]
    parameters: dict[str, Any] | None
    needed: bool


def expected_jobs(study: Study) -> dict[str, ExpectedJob]:
    """The jobs of a study by the names of their statements."""
    jobs = {}
    for job in steps.jobs(study):
        outputs = tuple(name for name, _ in job.outputs)
        parameters = {key: value for key, value in job.parameters.items() if key != "keys"}
        jobs[path_for(outputs[0]).as_posix()] = ExpectedJob(job.verb, job.place, outputs, parameters, job.needed)
    return jobs
