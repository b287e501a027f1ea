"""Which kinds of figures and tables a study can feed, each as a row.

A kind is a notebook of its name; a figure is that notebook executed for some toolings and tasks, and its name begins
with its kind. A new kind is a row here or in `kinds.py` of an analysis, its notebook and its caption. Pure and light:
the Snakefile reads this module.
"""

from toolnoise.study import analyses
from toolnoise.study.figure_grid import RUNS_FOR_ENSEMBLES
from toolnoise.study.kind import TABLE_2, TABLES, Kind, by_place, by_task, by_tooling

_OF_THE_KERNEL = {
    "table2": Kind(("stability",), lambda grid: (grid.usual, None), category=TABLE_2, rank=0),
    "noise_by_source": Kind(
        ("stability", "runs"),
        lambda grid: (grid.usual, by_tooling),
        also=("ratios",),
        takes=("width",),
        rank=1,
    ),
    "batch_norm": Kind(
        ("stability", "runs", "ratios"),
        lambda grid: (grid.with_and_without_bn, by_tooling),
        needs="a model M and a model M-bn in one block",
        takes=("width",),
        rank=2,
    ),
    "order": Kind(
        ("stability", "runs", "counts"),
        lambda grid: (grid.order, lambda cell: by_place(grid.order[cell])),
        needs="the variant shuffle of one builder with two batch sizes or more",
        takes=("batch_sizes", "width"),
        rank=6,
    ),
    "ensembles": Kind(
        ("ensembles",),
        lambda grid: (grid.with_ensembles, by_task),
        needs=f"a cell with {RUNS_FOR_ENSEMBLES} runs or more of one draw",
        takes=("width",),
        rank=7,
    ),
    "ratios": Kind(
        ("ratios",),
        lambda grid: (grid.compared, None),
        needs="algo_impl or algo beside another variant, or a model M and a model M-bn in one block",
        category=TABLES,
        rank=8,
    ),
    "components": Kind(
        ("stability",),
        lambda grid: (grid.with_draws, None),
        needs="a block with the key draws",
        category=TABLES,
        rank=9,
    ),
    "one_bit": Kind(
        ("stability",),
        lambda grid: (grid.moving, by_place),
        needs="a bit that is moved after different epochs, such as bit and bit_5",
        takes=("width",),
        rank=15,
    ),
}
_ALL = _OF_THE_KERNEL | {name: kind for module in analyses.adding("kinds") for name, kind in module.KINDS.items()}
# By name, in the order of the page.
KINDS: dict[str, Kind] = dict(sorted(_ALL.items(), key=lambda item: item[1].rank))


def notebook_of(kind: str) -> str:
    """The path of a kind's notebook in the repository."""
    return f"notebooks/{kind}.ipynb"


def caption_of(kind: str) -> str:
    """The path of a kind's caption in the repository, in the form that Snakemake reads for its report."""
    return f"workflow/report/{kind}.rst"
