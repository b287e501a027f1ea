"""The figure of invariances."""

from toolnoise.analyses.invariances import ways
from toolnoise.study.cells import Cell
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import Kind


def _computed_in_ways(grid: Grid) -> list[Cell]:
    study = grid.study
    shown = {cell for task in ways.tasks(study) for cell in ways.cells(study, task, ways.ways(study, task))}
    return [cell for cell in grid.cells if cell in shown]


KINDS = {
    "invariances": Kind(
        ("invariances",),
        lambda grid: (_computed_in_ways(grid), None),
        needs="a tooling with accumulate or world, and one of its engine without",
        caption="""One training of study *{study}* computed in other ways that should not matter: the gradient of a
            batch as a sum over parts, one after another (accumulate) or in several processes (world), or with other
            threads. Run s has bit-equal initial weights, batches and masks in every way. Dots: the churn between run s
            in one way and in the other, divided by the churn between two seeds, with 95 % jackknife intervals over
            draws. Brackets: the relative difference of the training loss in the first epoch, the largest of all draws.
            Rounding makes it small; a layer that looks at the examples beside each other, as batch normalisation does,
            does not.""",
    ),
}
