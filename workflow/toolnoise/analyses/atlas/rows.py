"""The job of the atlas: what separates many toolings."""

from toolnoise.steps.reads import INDEX, RUN_FILES
from toolnoise.steps.step import Parameters, Read, Step, Where, Work, metric
from toolnoise.study import layout
from toolnoise.study.cells import Cell, Task
from toolnoise.study.study import Study


def tasks(study: Study) -> list[Task]:
    """Every task whose toolings are compared all at once."""
    return list(dict.fromkeys(Task(*cell.task) for cell in study.cells if cell in study.atlas))


def mapped(study: Study, task: Task) -> list[Cell]:
    """The cells of a task whose toolings are compared all at once."""
    return [cell for cell in study.cells if cell in study.atlas and cell.task == task]


def _atlas(study: Study, task: Task) -> Parameters:
    return task._asdict() | {"cells": [[cell.hardware, cell.variant] for cell in mapped(study, task)]}


def _mapped_dumps(study: Study, task: Task) -> list[str]:
    """The dump of each cell of the task that the atlas shows."""
    return [study.path(layout.LOGITS, cell) for cell in mapped(study, task)]


def _mapped_runs(study: Study, task: Task) -> list[str]:
    """The records of all runs of these cells."""
    return [path for cell in mapped(study, task) for path in study.runs(layout.RECORD, cell)]


ROWS = {
    "measure-atlas": Step(
        "measure_atlas",
        "measure what separates many toolings, and which part of a tooling explains it",
        where=Where(Task, tasks, "grid", "a task in a block with atlas"),
        parameters=_atlas,
        reads={
            "logits": Read(_mapped_dumps, INDEX, several=True),
            "records": Read(_mapped_runs, RUN_FILES, several=True),
        },
        writes={
            "out": metric("atlas", "{model}/{dataset}", "toolnoise.analyses.atlas.metric"),
            "out-factors": metric("atlas_factors", "{model}/{dataset}", "toolnoise.analyses.atlas.metric"),
            "out-toolings": metric("atlas_toolings", "{model}/{dataset}", "toolnoise.analyses.atlas.metric"),
        },
        work=Work("toolnoise.analyses.atlas.measure:measure"),
    ),
}
