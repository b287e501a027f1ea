"""The figures and the table of two toolings, and of two that have other frameworks."""

from collections.abc import Iterable

from toolnoise.study.cells import Cell, Pair
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import TABLES, Kind, by_task

_FRAMEWORKS = "two toolings of different engines with a variant of control or algo"


def _paired(grid: Grid) -> list[Cell]:
    """Cells of tasks that two toolings train from equal draws."""
    tasks = {pair.task for pair in _shown(grid, grid.study.pairs)}
    return [cell for cell in grid.usual if cell.task in tasks]


def _framed(grid: Grid) -> list[Cell]:
    """Cells of tasks on toolings that use two frameworks."""
    framed = {cell[:3] for pair in _shown(grid, grid.study.frameworks) for cell in pair.cells}
    return [cell for cell in grid.usual if cell[:3] in framed]


def _shown(grid: Grid, pairs: Iterable[Pair]) -> list[Pair]:
    return [pair for pair in pairs if all(cell in grid.seeds for cell in pair.cells)]


KINDS = {
    "across_toolings": Kind(
        ("stability", "runs", "cross_tooling"),
        lambda grid: (_paired(grid), by_task),
        needs="two toolings with a variant of control or algo",
        takes=("width",),
        rank=5,
    ),
    "frameworks": Kind(
        ("stability", "runs", "cross_tooling", "frameworks", "identical"),
        lambda grid: (_framed(grid), by_task),
        needs=_FRAMEWORKS,
        takes=("width",),
    ),
    "framework_parts": Kind(
        ("frameworks", "partings", "identical"),
        lambda grid: (_framed(grid), by_task),
        needs=_FRAMEWORKS,
        takes=("width",),
    ),
    "partings": Kind(
        ("partings", "identical"),
        lambda grid: (_framed(grid), by_task),
        needs=_FRAMEWORKS,
        category=TABLES,
    ),
}
