"""The job that times some steps of a cell."""

from toolnoise.steps.reads import A_CELL, DATA, built, spec
from toolnoise.steps.step import Step
from toolnoise.study import layout
from toolnoise.study.cells import Cell

ROWS = {
    "measure-speed": Step(
        "measure_speed",
        "time some training steps of a cell; only estimates depend on them",
        place=Cell,
        places=built,
        parameters=spec,
        reads=DATA,
        writes={"out": layout.SPEED},
        work="toolnoise.analyses.estimate.speed_probe:measure",
        wanted=A_CELL,
        tooling=lambda cell: cell.hardware,
        needed=False,
        record="out",
        travels="times of steps",
        unrepeatable="what it made are times",
    ),
}
