"""The jobs of remedies: a dump of predictions under them, and what they leave of the noise."""

from toolnoise.analyses.remedies import plan
from toolnoise.steps.reads import DATA, INDEX, TRAINED, at, measured, spec, training_minutes
from toolnoise.steps.step import Read, Step
from toolnoise.study import layout
from toolnoise.study.cells import Cell
from toolnoise.study.study import Study


def _remedied(study: Study, cell: Cell) -> list[str]:
    """The cell's dump under remedies; a cell without a remedy of its own has none."""
    return [study.path(layout.REMEDIED, cell)] if plan.applied(study, cell) else []


def _single(study: Study, cell: Cell) -> list[str]:
    """The dump of the runs that it is compared with; none if these are its own."""
    single = plan.single(study, cell)
    return [study.path(layout.LOGITS, single)] if single != cell else []


ROWS = {
    "remedy": Step(
        "dump_remedies",
        "dump a cell's predictions under remedies for noise",
        place=Cell,
        places=lambda study: (cell for cell in study.views if plan.applied(study, cell)),
        parameters=lambda study, cell: spec(study, cell) | {"remedies": list(plan.applied(study, cell))},
        reads=TRAINED,
        writes={"logits": layout.REMEDIED, "index": layout.REMEDIED_INDEX},
        work="toolnoise.analyses.remedies.dump:dump",
        wanted=("remedies", "a cell whose block has remedies, or snapshots"),
        tooling=lambda cell: cell.hardware,
        # Hundreds of views of all of a cell's runs: the time of a training, not of a dump.
        minutes=training_minutes,
        record="index",
        travels="dumps of remedied predictions",
    ),
    "measure-remedies": Step(
        "measure_remedies",
        "measure what remedies leave of a cell's noise",
        place=Cell,
        places=lambda study: study.views,
        parameters=measured,
        reads=DATA
        | {"logits": at(layout.LOGITS), "index": at(layout.PREDICTIONS)}
        | {
            "remedied": Read(_remedied, INDEX, several=True, optional=True),
            "single": Read(_single, INDEX, several=True, optional=True),
        },
        writes={"out": "results/{study}/metrics/remedies/" + layout.CELL + ".csv"},
        work="toolnoise.analyses.remedies.measure:measure",
        wanted=("remedies", "a cell whose block has that key"),
        metrics={"out": ("remedies", "toolnoise.analyses.remedies.metric:REMEDIES")},
    ),
}
