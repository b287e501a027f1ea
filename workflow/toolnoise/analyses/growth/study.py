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
        caption="""How far two runs of study *{study}* from one start are apart after training steps 1, 2, 4, 8, ... and
            at the end. They have bit-equal initial weights, batches and augmentation, and differ by one thing: the
            tooling, the order of summation (emulated implementation noise), or one bit of one weight. Growth by a power
            of the number of steps is a straight line here. The dotted line is the distance of unrelated weights. If
            emulated noise grows and ends as the noise of toolings does, its line runs among theirs.""",
    ),
    "growth_fits": Kind(
        ("growth_fits",),
        lambda grid: (_growing(grid), None),
        needs="a recipe with record_steps, and two cells of a task with equal draws",
        category=TABLES,
        caption="""Fits to the growth of the distance between two runs of study *{study}* from one start: its rate, what
            a power and an exponential of the number of steps leave, the largest leap, the share of starts in which
            another network results, and the end. The last columns compare each perturbation with the other toolings,
            start by start.""",
    ),
}
