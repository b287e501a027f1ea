"""The job of the atlas: what separates many toolings."""

from toolnoise.steps.reads import INDEX, RUN_FILES
from toolnoise.steps.step import Parameters, Read, Step
from toolnoise.study import layout
from toolnoise.study.cells import Task
from toolnoise.study.study import Study


def _atlas(study: Study, task: Task) -> Parameters:
    return task._asdict() | {"cells": [[cell.hardware, cell.variant] for cell in study.mapped(task)]}


def _mapped_dumps(study: Study, task: Task) -> list[str]:
    """The dump of each cell of the task that the atlas shows."""
    return [study.path(layout.LOGITS, cell) for cell in study.mapped(task)]


def _mapped_runs(study: Study, task: Task) -> list[str]:
    """The records of all runs of these cells."""
    return [path for cell in study.mapped(task) for path in study.runs(layout.RECORD, cell)]


ROWS = {
    "measure-atlas": Step(
        "measure_atlas",
        "measure what separates many toolings, and which part of a tooling explains it",
        place=Task,
        places=lambda study: study.atlases,
        parameters=_atlas,
        reads={
            "logits": Read(_mapped_dumps, INDEX, several=True),
            "records": Read(_mapped_runs, RUN_FILES, several=True),
        },
        writes={
            "out": "results/{study}/metrics/atlas/{model}/{dataset}.csv",
            "out-factors": "results/{study}/metrics/atlas_factors/{model}/{dataset}.csv",
            "out-toolings": "results/{study}/metrics/atlas_toolings/{model}/{dataset}.csv",
        },
        work="toolnoise.analyses.atlas.measure:measure",
        wanted=("grid", "a task in a block with atlas"),
        metrics={
            "out": ("atlas", "toolnoise.analyses.atlas.metric:ATLAS"),
            "out-factors": ("atlas_factors", "toolnoise.analyses.atlas.metric:ATLAS_FACTORS"),
            "out-toolings": ("atlas_toolings", "toolnoise.analyses.atlas.metric:ATLAS_TOOLINGS"),
        },
    ),
}
