"""Whether a result is as a job would make it now, by its statement alone."""

from pathlib import Path

from toolnoise import steps
from toolnoise.base import code_digest
from toolnoise.base.errors import BadInput
from toolnoise.record import statements
from toolnoise.steps import STEPS


def is_current(verb: str, parameters: steps.Parameters, output: str | Path) -> bool:
    """Whether an output is there, made with these parameters by the present code."""
    if not Path(output).exists():
        return False
    try:
        stated = statements.read(statements.path_for(output))
    except (BadInput, OSError):
        return False
    step = STEPS[verb]
    made_by = {one.name: one.sha256 for one in stated.dependencies}
    present = code_digest.sources(*step.modules(parameters), files=step.work.files(parameters))
    return stated.parameters == steps.stated(parameters) and made_by.items() >= present.items()
