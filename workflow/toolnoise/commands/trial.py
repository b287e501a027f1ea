"""Call the builder of a study's own model in a dry run, so that a mistake in it is reported before any job starts."""

from pathlib import Path

from toolnoise import steps
from toolnoise.base import code_digest
from toolnoise.base.errors import BadInput
from toolnoise.record import statements
from toolnoise.steps import STEPS
from toolnoise.study import layout
from toolnoise.study.study import Study
from toolnoise.training import model_trial


def call_builder(study: Study, model: str, dataset: str) -> None:
    """Call the builder of a study's own model for a data set, unless a check of it on some tooling is current."""
    step = STEPS["check-model"]
    asked = {place: step.parameters(study, place) for place in step.where.all(study) if place[:2] == (model, dataset)}
    if not any(is_current("check-model", given, study.path(layout.CHECKED, place)) for place, given in asked.items()):
        model_trial.require((given["spec"] for given in asked.values()), dataset, study.config["datasets"][dataset])


def is_current(verb: str, parameters: steps.Parameters, output: str | Path) -> bool:
    """Whether an output is there, made with these parameters by the present code: by its statement alone."""
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
