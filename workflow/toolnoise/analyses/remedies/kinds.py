"""The table of remedies."""

from toolnoise.analyses.remedies import plan
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import TABLES, Feed, Kind, by_place


def _remedied(grid: Grid) -> Feed:
    """The cells under remedies, by the place that they are compared with."""
    single = {cell: plan.single(grid.study, cell) for cell in grid.study.views if cell in grid.cells}
    return single, lambda cell: by_place(single[cell])


KINDS = {
    "remedies": Kind(
        ("remedies",),
        _remedied,
        needs="the key remedies in a block",
        category=TABLES,
        files=("resources/published-remedies.csv",),
    ),
}
