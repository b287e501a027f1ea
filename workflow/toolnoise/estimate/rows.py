"""The job that times some steps of a cell."""

from toolnoise.steps.reads import A_CELL, DATA, built, spec
from toolnoise.steps.step import JobRecord, Needs, Step, Where, Work, Write
from toolnoise.study import layout
from toolnoise.study.cells import Cell

ROWS = {
    "measure-speed": Step(
        "measure_speed",
        "time some training steps of a cell; only estimates depend on them",
        where=Where(Cell, built, *A_CELL),
        parameters=spec,
        reads=DATA,
        writes={"out": Write(layout.SPEED, timed=True)},
        work=Work("toolnoise.estimate.speed_probe:measure"),
        needs=Needs(tooling=lambda cell: cell.hardware, cold="it measures how long a start takes"),
        record=JobRecord("out", "times of steps"),
        unrepeatable="what it made are times",
        needed=False,
    ),
}
