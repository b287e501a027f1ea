"""Which kinds of figures and tables a study can feed, each as a row.

A kind is a notebook of its name; a figure is that notebook executed for some toolings and tasks, and its name begins
with its kind. A new kind is a row here or in `kinds.py` of an analysis, its notebook and its caption. Pure and light:
the Snakefile reads this module.
"""

from toolnoise.study import analyses
from toolnoise.study.figure_grid import RUNS_FOR_ENSEMBLES
from toolnoise.study.kind import PUBLISHED, TABLE_2, TABLES, Kind, by_dataset, by_place, by_task, by_tooling

_SUB_GROUPS = "a data set with sub-groups: faces, celeba with groups, or an image-folder with a group"
_OF_THE_KERNEL = {
    "table2": Kind(
        ("stability",),
        lambda grid: (grid.usual, None),
        category=TABLE_2,
    ),
    "noise_by_source": Kind(
        ("stability", "runs"),
        lambda grid: (grid.usual, by_tooling),
        also=("ratios",),
        takes=("width",),
    ),
    "batch_norm": Kind(
        ("stability", "runs", "ratios"),
        lambda grid: (grid.with_and_without_bn, by_tooling),
        needs="a model M and a model M-bn in one block",
        takes=("width",),
    ),
    "subgroups": Kind(
        ("stability",),
        lambda grid: (grid.grouped, by_tooling),
        needs=_SUB_GROUPS,
        takes=("width",),
    ),
    "per_class": Kind(
        ("stability", "runs"),
        lambda grid: (grid.varied, by_place),
        also=("labels",),
        takes=("class_names", "width"),
    ),
    "across_toolings": Kind(
        ("stability", "runs", "cross_tooling"),
        lambda grid: (grid.paired, by_task),
        needs="two toolings with a variant of control or algo",
        takes=("width",),
    ),
    "order": Kind(
        ("stability", "runs", "counts"),
        lambda grid: (grid.order, lambda cell: by_place(grid.order[cell])),
        needs="the variant shuffle of one builder with two batch sizes or more",
        takes=("batch_sizes", "width"),
    ),
    "ensembles": Kind(
        ("ensembles",),
        lambda grid: (grid.with_ensembles, by_task),
        needs=f"a cell with {RUNS_FOR_ENSEMBLES} runs or more of one draw",
        takes=("width",),
    ),
    "ratios": Kind(
        ("ratios",),
        lambda grid: (grid.compared, None),
        needs="algo_impl or algo beside another variant, or a model M and a model M-bn in one block",
        category=TABLES,
    ),
    "components": Kind(
        ("stability",),
        lambda grid: (grid.with_draws, None),
        needs="a block with the key draws",
        category=TABLES,
    ),
    "table1": Kind(
        ("counts",),
        lambda grid: (grid.built, None),
        needs="a network that is built here: a model with a recipe",
        category=TABLES,
        takes=("sources",),
    ),
    "table3": Kind(
        ("counts",),
        lambda grid: (grid.grouped, None),
        needs=_SUB_GROUPS,
        category=TABLES,
    ),
    "table4": Kind(
        ("counts",),
        lambda grid: (grid.built, None),
        category=TABLES,
    ),
    "table5": Kind(
        ("stability",),
        lambda grid: (grid.grouped, None),
        needs=_SUB_GROUPS,
        category=TABLES,
    ),
    "sources": Kind(
        ("stability",),
        lambda grid: (grid.isolating, by_dataset),
        needs="two variants of a single source or more",
        category=TABLES,
        also=("ratios",),
        files=("resources/published-sources.csv",),
    ),
    "one_bit": Kind(
        ("stability",),
        lambda grid: (grid.moving, by_place),
        needs="a bit that is moved after different epochs, such as bit and bit_5",
        takes=("width",),
    ),
    "paper_vs_ours": Kind(
        ("stability", "counts"),
        lambda grid: (grid.published, None),
        needs="a model, a data set and a variant with a number in resources/published.csv, or such a network, on a GPU",
        category=PUBLISHED,
        also=("overhead",),
        files=("resources/published.csv",),
        takes=("accelerators", "differences"),
    ),
}
# By name: those of the kernel, then those of each analysis.
KINDS: dict[str, Kind] = _OF_THE_KERNEL | {
    name: kind for module in analyses.adding("kinds") for name, kind in module.KINDS.items()
}


def notebook_of(kind: str) -> str:
    """The path of a kind's notebook in the repository."""
    return f"notebooks/{kind}.ipynb"


def caption_of(kind: str) -> str:
    """The path of a kind's caption in the repository, in the form that Snakemake reads for its report."""
    return f"workflow/report/{kind}.rst"
