"""Which kinds of figures and tables a study can feed, each as a row.

A kind is a notebook of its name; a figure is that notebook executed for some toolings and tasks, and its name begins
with its kind. A new kind is a row here, its notebook and its caption in workflow/report/captions.yaml. Light: the
Snakefile reads this module.
"""

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from toolnoise.base.files import read_text
from toolnoise.base.program import path_of
from toolnoise.study import strict_yaml
from toolnoise.study.cells import Cell, Network
from toolnoise.study.figure_grid import RUNS_FOR_ENSEMBLES, Grid
from toolnoise.study.layout import NARROW

Subject = Cell | Network

CAPTIONS = "workflow/report/captions.yaml"

# The page shows the categories in the order of their names.
TABLE_2, FIGURES, TABLES, PUBLISHED = "1 Table 2: accuracy", "2 Figures", "3 Further tables", "4 Published and ours"

# What several kinds need.
FRAMEWORKS = "two toolings of different engines with a variant of control or algo"
TEXT = "a model that is built here, on a data set of text"
SUB_GROUPS = "a data set with sub-groups: faces, celeba with groups, or text with frequency"

# Selects the cells or networks that a kind shows, and the part of the figure's name that splits them into figures.
Feed = tuple[Iterable[Subject], Callable[[Any], str] | None]


class Kind(NamedTuple):
    """A notebook: the metric files it reads, the cells it needs, and its category on the page.

    `also` lists metric files that it reads if the study has them, `files` those of the repository that it reads.
    `takes` names what else of the study it takes (papers/notebook_values.py).
    """

    reads: tuple[str, ...]
    feed: Callable[[Grid], Feed]
    needs: str = "a cell that is not `excluded_from` it, and to be named in `figures`, where a study has that key"
    category: str = FIGURES
    also: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()

    @property
    def formats(self) -> tuple[str, ...]:
        """The suffixes of the files that one would download; the page shows the first."""
        return ("svg", "pdf", "png") if self.category == FIGURES else ("html", "csv", "md", "tex")

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes of all files that it writes. What can be as narrow as a column has a form for small screens."""
        return (*self.formats, f"{NARROW}.svg") if "width" in self.takes else self.formats


def by_tooling(place: Subject) -> str:
    """A figure for each tooling."""
    return place.hardware


def by_task(cell: Cell) -> str:
    """A figure for each task."""
    return f"{cell.model}-{cell.dataset}"


def by_place(cell: Cell) -> str:
    """A figure for each task on each tooling."""
    return f"{cell.hardware}-{by_task(cell)}"


def by_kernel_size(networks: Iterable[Cell]) -> Callable[[Cell], str]:
    """The figure that shows a network: models named M-k1, M-k3, ... share one figure, the others have another."""
    members = Counter(_family(model) for model in {cell.model for cell in networks})

    def part(cell: Cell) -> str:
        family = _family(cell.model)
        return "kernel-size" if family and members[family] > 1 else "networks"

    return part


def _family(model: str) -> str:
    named = re.fullmatch(r"(.+)-k[1-9]\d*", model)
    return named[1] if named else ""


# By name, in the order of the page.
KINDS: dict[str, Kind] = {
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
        needs=SUB_GROUPS,
        takes=("label_of", "width"),
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
        needs=SUB_GROUPS,
        category=TABLES,
        takes=("label_of",),
    ),
    "table4": Kind(
        ("counts",),
        lambda grid: (grid.built, None),
        category=TABLES,
    ),
    "table5": Kind(
        ("stability",),
        lambda grid: (grid.grouped, None),
        needs=SUB_GROUPS,
        category=TABLES,
        takes=("label_of",),
    ),
    "sources": Kind(
        ("stability",),
        lambda grid: (grid.isolating, lambda cell: f"{cell.hardware}-{cell.dataset}"),
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
        lambda grid: (grid.with_numbers, None),
        needs="a model, a data set and a variant with a number in resources/published.csv, or such a network, on a GPU",
        category=PUBLISHED,
        also=("overhead",),
        files=("resources/published.csv",),
        takes=("accelerators", "differences", "label_of"),
    ),
    "claims": Kind(
        ("claims",),
        lambda grid: ([*grid.usual, *grid.networks], None),
    ),
    "claim_parts": Kind(
        ("claims",),
        lambda grid: ([*grid.usual, *grid.networks], None),
        category=PUBLISHED,
    ),
    "frameworks": Kind(
        ("stability", "runs", "cross_tooling", "frameworks"),
        lambda grid: (grid.framed, by_task),
        needs=FRAMEWORKS,
        also=("identical",),
        takes=("width",),
    ),
    "framework_parts": Kind(
        ("frameworks", "partings"),
        lambda grid: (grid.framed, by_task),
        needs=FRAMEWORKS,
        also=("identical",),
        takes=("width",),
    ),
    "partings": Kind(
        ("partings",),
        lambda grid: (grid.framed, by_task),
        needs=FRAMEWORKS,
        also=("identical",),
        category=TABLES,
    ),
    "growth": Kind(
        ("growth",),
        lambda grid: (grid.growing, by_task),
        needs="a recipe with record_steps, and two cells of a task with equal draws",
        takes=("width",),
    ),
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
        lambda grid: (grid.identical, None),
        needs="the variant impl or algo_impl with two runs or more",
        category=TABLES,
    ),
    "language": Kind(
        ("stability", "language", "runs"),
        lambda grid: (grid.of_text, by_tooling),
        needs=TEXT,
        also=("ratios",),
        takes=("width",),
    ),
    "table_language": Kind(
        ("stability", "language"),
        lambda grid: (grid.of_text, None),
        needs=TEXT,
        category=TABLES,
    ),
    "layers": Kind(
        ("layers",),
        lambda grid: ([cell for cell in grid.cells if cell in grid.study.layers], by_place),
        needs="a block with the key layers",
        takes=("width",),
    ),
    "kernels": Kind(
        ("kernels", "overhead"),
        lambda grid: (grid.networks, by_tooling),
        needs="the key overhead",
    ),
    "overhead": Kind(
        ("overhead",),
        lambda grid: (grid.networks, by_kernel_size(grid.networks)),
        needs="the key overhead",
        takes=("width",),
    ),
    "cost_of_control": Kind(
        ("ratios", "overhead"),
        lambda grid: (grid.costed, None),
        needs="the key overhead with a model that the grid trains under algo_impl and impl, its noise not emulated",
        takes=("width",),
    ),
    "remedies": Kind(
        ("remedies",),
        lambda grid: (grid.remedied, lambda cell: by_place(grid.remedied[cell])),
        needs="the key remedies in a block",
        category=TABLES,
        files=("resources/published-remedies.csv",),
    ),
}


def notebook_of(kind: str) -> str:
    """The path of a kind's notebook in the repository."""
    return f"notebooks/{kind}.ipynb"


def caption_in(kind: str, study: str) -> str:
    """The caption of a kind, reStructuredText, in a study of that name."""
    return _captions()[kind].format(study=study)


@functools.cache
def _captions() -> dict[str, str]:
    return strict_yaml.load(read_text(path_of(CAPTIONS)))
