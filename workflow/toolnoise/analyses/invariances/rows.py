"""The job of invariances: what other ways to compute one training change."""

from toolnoise.analyses.invariances.study import cells, tasks, ways
from toolnoise.steps.reads import of_cells
from toolnoise.steps.step import Parameters, Step, Where, Work, metric
from toolnoise.study.cells import Task
from toolnoise.study.study import Study


def _parameters(study: Study, task: Task) -> Parameters:
    computed = [[cell.hardware, cell.variant] for cell in cells(study, task)]
    return task._asdict() | {"cells": computed, "ways": ways(study, task)}


ROWS = {
    "measure-ways": Step(
        "measure_ways",
        "measure what other ways to compute one training change",
        where=Where(Task, tasks, "grid", "a task on a tooling with accumulate or world, and on one without"),
        parameters=_parameters,
        reads=of_cells(cells),
        writes={"out": metric("invariances", "{model}/{dataset}", "toolnoise.analyses.invariances.metric")},
        work=Work("toolnoise.analyses.invariances.measure:measure"),
    ),
}
