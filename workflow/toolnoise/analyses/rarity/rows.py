"""The job of rarity: the noise of sub-groups as if they had fewer test examples."""

from toolnoise.steps.reads import DATA, at
from toolnoise.steps.step import Step
from toolnoise.study import layout
from toolnoise.study.cells import Cell

ROWS = {
    "measure-part-sizes": Step(
        "measure_part_sizes",
        "measure the noise of sub-groups as if they had fewer test examples",
        place=Cell,
        places=lambda study: study.grouped,
        parameters=lambda _, cell: {"cell": list(cell)},
        reads=DATA | {"logits": at(layout.LOGITS), "index": at(layout.PREDICTIONS)},
        writes={"out": "results/{study}/metrics/part_sizes/" + layout.CELL + ".csv"},
        work="toolnoise.analyses.rarity.measure:measure",
        wanted=("grid", "a cell whose data set has sub-groups"),
        metrics={"out": ("part_sizes", "toolnoise.analyses.rarity.metric:PART_SIZES")},
    ),
}
