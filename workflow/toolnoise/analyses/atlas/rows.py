"""The job of the atlas: what separates many toolings."""

from toolnoise.steps.reads import of_cells
from toolnoise.steps.step import Parameters, Step, Where, Work, metric
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


ROWS = {
    "measure-atlas": Step(
        "measure_atlas",
        "measure what separates many toolings, and which part of a tooling explains it",
        where=Where(Task, tasks, "grid", "a task in a block with atlas"),
        parameters=_atlas,
        reads=of_cells(mapped),
        writes={
            "out": metric("atlas", "{model}/{dataset}", "toolnoise.analyses.atlas.metric"),
            "out-factors": metric("atlas_factors", "{model}/{dataset}", "toolnoise.analyses.atlas.metric"),
            "out-toolings": metric("atlas_toolings", "{model}/{dataset}", "toolnoise.analyses.atlas.metric"),
        },
        work=Work("toolnoise.analyses.atlas.measure:measure"),
    ),
}
