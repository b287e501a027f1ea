"""The dump of a cell under remedies, for estimates."""

from toolnoise.analyses.remedies import plan
from toolnoise.epoch_plan import cycles
from toolnoise.study import layout
from toolnoise.study.analyses import Dump
from toolnoise.study.cells import Cell
from toolnoise.study.study import Study


def of_cell(study: Study, cell: Cell) -> list[Dump]:
    """The dump of all remedies of a cell, if it has any."""
    remedies = plan.applied(study, cell)
    if not remedies:
        return []
    recipe = study.config["recipes"][study.recipe_of[cell.task]]
    return [Dump(layout.REMEDIED, plan.passes(remedies, cycles(recipe)), len(remedies))]
