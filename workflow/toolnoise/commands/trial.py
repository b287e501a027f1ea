"""Call the builder of a study's own model in a dry run, so that a mistake in it is reported before any job starts."""

from toolnoise.record.current import is_current
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
