"""The job that writes the names of classes, where only the files of a data set may have them."""

from collections.abc import Iterator

from toolnoise.steps.reads import DATA
from toolnoise.steps.step import Step, Where, Work, metric
from toolnoise.steps.table import with_sources
from toolnoise.study.cells import Dataset
from toolnoise.study.figure_kinds import KINDS
from toolnoise.study.study import Study


def _with_names(study: Study) -> Iterator[Dataset]:
    """Data sets whose classes are shown by name, where only their files may have the names."""
    by_class = (figure for figure in study.figures if "labels" in KINDS[figure.notebook].also)
    shown = {dataset for figure in by_class for _, dataset in figure.tasks}
    unnamed = {name for name in shown if "classes" not in study.config["datasets"][name]}
    return (place for place in with_sources(study) if place.dataset in unnamed)


ROWS = {
    "name-classes": Step(
        "name_classes",
        "write the names that a data set's files give its classes",
        where=Where(
            Dataset, _with_names, "datasets", "a data set from files, without the key classes, in a figure by class"
        ),
        parameters=lambda _, place: {"dataset": place.dataset},
        reads=DATA,
        writes={"out": metric("labels", "{dataset}", "toolnoise.papers.classes.naming")},
        work=Work("toolnoise.papers.classes.naming:write"),
    ),
}
