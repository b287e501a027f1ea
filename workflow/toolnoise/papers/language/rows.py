"""The jobs of language: what each run writes after the same beginnings, and how far runs end apart."""

from toolnoise.steps.reads import DATA, TRAINED, at, built, measured, spec, training_minutes
from toolnoise.steps.step import JobRecord, Needs, Step, Where, Work, Write, metric
from toolnoise.study import layout
from toolnoise.study.cells import Cell
from toolnoise.study.entries import of_text
from toolnoise.study.study import Study

TEXTS = "results/{study}/continuations/" + layout.CELL
ALLOWED = "a cell whose data set is text"


def cells(study: Study) -> list[Cell]:
    """The cells of language models that are built here."""
    return [cell for cell in built(study) if of_text(study.config["datasets"][cell.dataset])]


ROWS = {
    "dump-continuations": Step(
        "dump_continuations",
        "let a cell's runs continue some test segments",
        where=Where(Cell, cells, "grid", ALLOWED),
        parameters=spec,
        reads=TRAINED,
        writes={"texts": Write(TEXTS + ".npy"), "index": Write(TEXTS + ".json")},
        work=Work("toolnoise.papers.language.continuations:dump"),
        needs=Needs(tooling=lambda cell: cell.hardware, minutes=training_minutes),
        record=JobRecord("index", "continuations"),
    ),
    "measure-language": Step(
        "measure_language",
        "measure how far a cell's runs end apart as language models",
        where=Where(Cell, cells, "grid", ALLOWED),
        parameters=measured,
        reads=DATA
        | {
            "logits": at(layout.LOGITS),
            "index": at(layout.PREDICTIONS),
            "texts": at(TEXTS + ".npy"),
            "texts-index": at(TEXTS + ".json"),
        },
        writes={"out": metric("language", layout.CELL, "toolnoise.papers.language.metric")},
        work=Work("toolnoise.papers.language.measure:measure"),
    ),
}
