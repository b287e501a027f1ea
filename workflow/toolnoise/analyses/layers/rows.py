"""The jobs of layers: a dump of how each represents some examples, and how similar runs are in it."""

from toolnoise.steps.reads import TRAINED, at, spec, training_minutes
from toolnoise.steps.step import Step
from toolnoise.study import layout
from toolnoise.study.cells import Cell

ROWS = {
    "dump-layers": Step(
        "dump_layers",
        "dump how a cell's runs represent some test examples, layer by layer",
        place=Cell,
        places=lambda study: study.layers,
        parameters=lambda study, cell: spec(study, cell) | {"examples": study.layers[cell]},
        reads=TRAINED,
        writes={"grams": layout.GRAMS, "index": layout.LAYERS_INDEX},
        work="toolnoise.analyses.layers.dump:dump",
        wanted=("layers", "a cell whose block has the key layers"),
        tooling=lambda cell: cell.hardware,
        # Up to a forward pass for every GiB of what the layers of each run give.
        minutes=training_minutes,
        record="index",
        travels="dumps of layers",
    ),
    "measure-layers": Step(
        "measure_layers",
        "measure how similar corresponding layers of a cell's runs are",
        place=Cell,
        places=lambda study: study.layers,
        parameters=lambda _, cell: {"cell": list(cell)},
        reads={"grams": at(layout.GRAMS), "index": at(layout.LAYERS_INDEX)},
        writes={"out": "results/{study}/metrics/layers/" + layout.CELL + ".csv"},
        work="toolnoise.analyses.layers.measure:measure",
        wanted=("layers", "a cell whose block has the key layers"),
        metrics={"out": ("layers", "toolnoise.analyses.layers.metric:LAYERS")},
    ),
}
