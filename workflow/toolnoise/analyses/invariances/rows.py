"""The job of invariances: what other ways to compute one training change."""

from toolnoise.analyses.invariances import ways
from toolnoise.steps.reads import INDEX, RUN_FILES
from toolnoise.steps.step import Parameters, Read, Step, Where, Work, metric
from toolnoise.study import layout
from toolnoise.study.cells import Cell, Task
from toolnoise.study.study import Study


def _cells(study: Study, task: Task) -> list[Cell]:
    return ways.cells(study, task, ways.ways(study, task))


def _parameters(study: Study, task: Task) -> Parameters:
    cells = [[cell.hardware, cell.variant] for cell in _cells(study, task)]
    return task._asdict() | {"cells": cells, "ways": ways.ways(study, task)}


def _dumps(study: Study, task: Task) -> list[str]:
    """The dump of each cell of the task whose tooling is one of the ways."""
    return [study.path(layout.LOGITS, cell) for cell in _cells(study, task)]


def _runs(study: Study, task: Task) -> list[str]:
    """The records of all runs of these cells."""
    return [path for cell in _cells(study, task) for path in study.runs(layout.RECORD, cell)]


ROWS = {
    "measure-ways": Step(
        "measure_ways",
        "measure what other ways to compute one training change",
        where=Where(Task, ways.tasks, "grid", "a task on a tooling with accumulate or world, and on one without"),
        parameters=_parameters,
        reads={"logits": Read(_dumps, INDEX, several=True), "records": Read(_runs, RUN_FILES, several=True)},
        writes={"out": metric("invariances", "{model}/{dataset}", "toolnoise.analyses.invariances.metric")},
        work=Work("toolnoise.analyses.invariances.measure:measure"),
    ),
}
