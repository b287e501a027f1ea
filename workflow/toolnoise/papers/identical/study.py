"""The tables of identical runs."""

from toolnoise.study.cells import Cell
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import TABLES, Kind


def _compared(grid: Grid) -> list[Cell]:
    """Cells whose runs Pham et al. would compare: with fixed seeds, or with nothing fixed."""
    return [cell for cell in grid.built if cell.variant in ("impl", "algo_impl") and len(grid.seeds[cell]) > 1]


KINDS = {
    "identical_runs": Kind(
        ("identical",),
        lambda grid: (grid.built, None),
        category=TABLES,
        files=("resources/published-identical.csv",),
        caption="""How far the runs of each cell of study *{study}* end apart, measured as by Pham et al. (ASE
            2020): range and SD of accuracy, over all examples and in the class with the largest difference. Below:
            their headline numbers with the largest values of this study. A range grows with the number of runs, so
            compare it only with a range over as many runs. Runs with ``random_seed`` 1 differ at most by the
            implementation. The CSV has every criterion of convergence, in the columns of their
            ``analysis_result.csv`` followed by ours.""",
    ),
    "identical_times": Kind(
        ("identical",),
        lambda grid: (grid.built, None),
        category=TABLES,
        files=("resources/published-identical.csv",),
        caption="""How long the runs of each cell of study *{study}* take, measured as by Pham et al. (ASE 2020):
            epochs and time to convergence, and training time, each with its range in per cent of its mean.""",
    ),
    "identical_tests": Kind(
        ("convergence",),
        lambda grid: (_compared(grid), None),
        needs="the variant impl or algo_impl with two runs or more",
        category=TABLES,
        caption="""The tests of the analysis of Pham et al. (ASE 2020) on the runs of study *{study}*: Levene's test of
            equal spread between fixed-seed and default runs, networks, criteria of convergence and toolings, and Mann
            and Whitney's test of equal position. p-values are two-sided, and given once more adjusted for the number of
            tests.""",
    ),
}
