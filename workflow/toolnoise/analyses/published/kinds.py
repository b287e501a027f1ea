"""The tables of the papers, and their numbers beside ours."""

from toolnoise.analyses.published.comparable import isolating, with_numbers
from toolnoise.study.kind import PUBLISHED, SUB_GROUPS, TABLES, Kind

KINDS = {
    "table1": Kind(
        ("counts",),
        lambda grid: (grid.built, None),
        needs="a network that is built here: a model with a recipe",
        category=TABLES,
        takes=("sources",),
        rank=10,
    ),
    "table3": Kind(
        ("counts",),
        lambda grid: (grid.grouped, None),
        needs=SUB_GROUPS,
        category=TABLES,
        rank=11,
    ),
    "table4": Kind(
        ("counts",),
        lambda grid: (grid.built, None),
        category=TABLES,
        rank=12,
    ),
    "table5": Kind(
        ("stability",),
        lambda grid: (grid.grouped, None),
        needs=SUB_GROUPS,
        category=TABLES,
        rank=13,
    ),
    "sources": Kind(
        ("stability",),
        lambda grid: (isolating(grid), lambda cell: f"{cell.hardware}-{cell.dataset}"),
        needs="two variants of a single source or more",
        category=TABLES,
        also=("ratios",),
        files=("resources/published-sources.csv",),
        rank=14,
    ),
    "paper_vs_ours": Kind(
        ("stability", "counts"),
        lambda grid: (with_numbers(grid), None),
        needs="a model, a data set and a variant with a number in resources/published.csv, or such a network, on a GPU",
        category=PUBLISHED,
        also=("overhead",),
        files=("resources/published.csv",),
        takes=("accelerators", "differences"),
        rank=16,
    ),
}
