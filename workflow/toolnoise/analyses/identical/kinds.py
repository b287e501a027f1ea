"""The tables of identical runs."""

from toolnoise.study.cells import Cell
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import TABLES, Kind


def _repeated(grid: Grid) -> list[Cell]:
    """Cells whose runs Pham et al. would compare: with fixed seeds, or with nothing fixed."""
    return [cell for cell in grid.built if cell.variant in ("impl", "algo_impl") and len(grid.seeds[cell]) > 1]


KINDS = {
    "identical_runs": Kind(
        ("identical",),
        lambda grid: (grid.built, None),
        category=TABLES,
        files=("resources/published-identical.csv",),
    ),
    "identical_times": Kind(
        ("identical",),
        lambda grid: (grid.built, None),
        category=TABLES,
        files=("resources/published-identical.csv",),
    ),
    "identical_tests": Kind(
        ("convergence",),
        lambda grid: (_repeated(grid), None),
        needs="the variant impl or algo_impl with two runs or more",
        category=TABLES,
    ),
}
