"""The jobs of remedies: a dump of predictions under them, and what they leave of the noise."""

from toolnoise.steps.reads import DATA, INDEX, TRAINED, at, measured, spec, training_minutes
from toolnoise.steps.step import JobRecord, Needs, Read, Step, Where, Work, Write, metric
from toolnoise.study import layout
from toolnoise.study.cells import Cell
from toolnoise.study.study import Study


def _remedied(study: Study, cell: Cell) -> list[str]:
    """The cell's dump under remedies; a cell without a remedy of its own has none."""
    return [study.path(layout.REMEDIED, cell)] if study.remedies_of(cell) else []


def _single(study: Study, cell: Cell) -> list[str]:
    """The dump of the runs that it is compared with; none if these are its own."""
    single = study.without_remedy(cell)
    return [study.path(layout.LOGITS, single)] if single != cell else []


ROWS = {
    "remedy": Step(
        "dump_remedies",
        "dump a cell's predictions under remedies for noise",
        where=Where(
            Cell,
            lambda study: (cell for cell in study.views if study.remedies_of(cell)),
            "remedies",
            "a cell whose block has remedies, or snapshots",
        ),
        parameters=lambda study, cell: spec(study, cell) | {"remedies": list(study.remedies_of(cell))},
        reads=TRAINED,
        writes={
            "logits": Write(layout.REMEDIED),
            "index": Write(layout.REMEDIED_INDEX),
        },
        work=Work("toolnoise.papers.remedies.dump:dump"),
        # Hundreds of views of all of a cell's runs: the time of a training, not of a dump.
        needs=Needs(tooling=lambda cell: cell.hardware, minutes=training_minutes),
        record=JobRecord("index", "dumps of remedied predictions"),
    ),
    "measure-remedies": Step(
        "measure_remedies",
        "measure what remedies leave of a cell's noise",
        where=Where(Cell, lambda study: study.views, "remedies", "a cell whose block has that key"),
        parameters=measured,
        reads=DATA
        | {"logits": at(layout.LOGITS), "index": at(layout.PREDICTIONS)}
        | {
            "remedied": Read(_remedied, INDEX, several=True, optional=True),
            "single": Read(_single, INDEX, several=True, optional=True),
        },
        writes={"out": metric("remedies", layout.CELL, "toolnoise.papers.remedies.metric")},
        work=Work("toolnoise.papers.remedies.measure:measure"),
    ),
}
