"""The job of rarity: the noise of sub-groups as if they had fewer test examples."""

from toolnoise.steps.reads import DATA, at
from toolnoise.steps.step import Step, Where, Work, metric
from toolnoise.study import layout
from toolnoise.study.cells import Cell
from toolnoise.study.entries import has_groups
from toolnoise.study.study import Study


def _grouped(study: Study) -> list[Cell]:
    """The cells whose data have sub-groups."""
    return [cell for cell in study.cells if has_groups(study.config["datasets"][cell.dataset])]


ROWS = {
    "measure-part-sizes": Step(
        "measure_part_sizes",
        "measure the noise of sub-groups as if they had fewer test examples",
        where=Where(Cell, _grouped, "grid", "a cell whose data set has sub-groups"),
        parameters=lambda _, cell: {"cell": list(cell)},
        reads=DATA | {"logits": at(layout.LOGITS), "index": at(layout.PREDICTIONS)},
        writes={"out": metric("part_sizes", layout.CELL, "toolnoise.analyses.rarity.metric")},
        work=Work("toolnoise.analyses.rarity.measure:measure"),
    ),
}
