"""What a figure by class takes of a study: the names of the classes."""

from toolnoise.analyses.classes import class_names
from toolnoise.study import config
from toolnoise.study.figure import Figure
from toolnoise.study.study import Study


def _class_names(study: Study, figure: Figure) -> dict[str, list[str]]:
    registry, entries = config.registered("datasets"), study.config["datasets"]
    return {dataset: class_names.of(entries[dataset], registry) for _, dataset in figure.tasks}


TAKEN = {"class_names": _class_names}
