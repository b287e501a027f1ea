"""The tables of identical runs."""

from toolnoise.study.kind import TABLES, Kind

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
        lambda grid: (grid.with_identical_runs, None),
        needs="the variant impl or algo_impl with two runs or more",
        category=TABLES,
    ),
}
