"""The figure and the table of growth."""

from toolnoise.analyses.growth import plan
from toolnoise.study.cells import Cell
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import TABLES, Kind, by_task


def _growing(grid: Grid) -> list[Cell]:
    pairs = (both for of_task in plan.growing(grid.study).values() for both in of_task)
    return [cell for cell in dict.fromkeys(cell for both in pairs for cell in both) if cell in grid.cells]


KINDS = {
    "growth": Kind(
        ("growth",),
        lambda grid: (_growing(grid), by_task),
        needs="a recipe with record_steps, and two cells of a task with equal draws",
        takes=("width",),
    ),
    "growth_fits": Kind(
        ("growth_fits",),
        lambda grid: (_growing(grid), None),
        needs="a recipe with record_steps, and two cells of a task with equal draws",
        category=TABLES,
    ),
}
