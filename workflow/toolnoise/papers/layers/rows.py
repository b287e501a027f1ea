"""The jobs of layers: a dump of how each represents some examples, and how similar runs are in it."""

from toolnoise.steps.reads import TRAINED, at, spec, training_minutes
from toolnoise.steps.step import JobRecord, Needs, Step, Where, Work, Write, metric
from toolnoise.study import layout
from toolnoise.study.cells import Cell

ROWS = {
    "dump-layers": Step(
        "dump_layers",
        "dump how a cell's runs represent some test examples, layer by layer",
        where=Where(Cell, lambda study: study.layers, "layers", "a cell whose block has the key layers"),
        parameters=lambda study, cell: spec(study, cell) | {"examples": study.layers[cell]},
        reads=TRAINED,
        writes={
            "grams": Write(layout.GRAMS),
            "index": Write(layout.LAYERS_INDEX),
        },
        work=Work("toolnoise.papers.layers.dump:dump"),
        # Up to a forward pass for every GiB of what the layers of each run give.
        needs=Needs(tooling=lambda cell: cell.hardware, minutes=training_minutes),
        record=JobRecord("index", "dumps of layers"),
    ),
    "measure-layers": Step(
        "measure_layers",
        "measure how similar corresponding layers of a cell's runs are",
        where=Where(Cell, lambda study: study.layers, "layers", "a cell whose block has the key layers"),
        parameters=lambda _, cell: {"cell": list(cell)},
        reads={"grams": at(layout.GRAMS), "index": at(layout.LAYERS_INDEX)},
        writes={"out": metric("layers", layout.CELL, "toolnoise.papers.layers.metric")},
        work=Work("toolnoise.papers.layers.measure:measure"),
    ),
}
