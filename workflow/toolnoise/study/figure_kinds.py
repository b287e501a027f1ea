"""The kinds of figures and tables, one per row, with the parts of a study that each of them shows.

A kind is the notebook of that name; a figure is the notebook executed for some toolings and tasks, and its name begins
with the kind. A new kind needs a row here, a notebook, and a caption in workflow/report/captions.yaml. Imports nothing
heavy, because the Snakefile reads this module.
"""

import functools
import json
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from toolnoise.base.files import read_text
from toolnoise.base.noise_sources import DRAW
from toolnoise.base.program import path_of
from toolnoise.formulas.outcomes import SCORED
from toolnoise.study import programs, published, strict_yaml
from toolnoise.study.cells import Cell, Network, Variants
from toolnoise.study.entries import has_groups, of_text
from toolnoise.study.published import comparisons_of_cells, with_batch_norm
from toolnoise.study.study import Study
from toolnoise.study.variants import variant_named

Subject = Cell | Network

CAPTIONS = "workflow/report/captions.yaml"

# The page shows the categories in the order of their names.
TABLE_2, FIGURES, TABLES, PUBLISHED = "1 Table 2: accuracy", "2 Figures", "3 Further tables", "4 Published and ours"

# Requirements that several kinds share.
FRAMEWORKS = "two toolings of different engines with a variant of control or algo"
TEXT = "a model that is built here, on a data set of text"
SUB_GROUPS = "a data set with sub-groups: faces, celeba with groups, or text with frequency"

# Runs of one draw: enough for three sizes of ensembles, and three ensembles of the largest. The SD of two means little.
RUNS_FOR_ENSEMBLES = 9


class Grid:
    """The parts of a study that figures show."""

    def __init__(self, study: Study, seeds: Mapping[Cell, Sequence[int]]) -> None:
        """Take a study, and the shown cells with their seeds."""
        self.study, self.cells, self.seeds = study, tuple(seeds), seeds
        self.config, self.recipe_of, self.networks = study.config, study.recipe_of, study.networks

    def without(self, excluded: Container[Cell]) -> "Grid":
        """The same parts, without these cells."""
        return Grid(self.study, {cell: seeds for cell, seeds in self.seeds.items() if cell not in excluded})

    @functools.cached_property
    def order(self) -> dict[Cell, Cell]:
        """Cells that differ only in batch size and whose runs differ only in the order of the data.

        Maps each cell to its family's first cell.
        """
        families: dict[str, dict[int, Cell]] = {}
        for cell in self.cells:
            if cell.variant == "shuffle" and cell.task in self.recipe_of:
                recipe = dict(self.config["recipes"][self.recipe_of[cell.task]])
                size = recipe.pop("batch_size")
                about = [self.config["models"][cell.model], recipe, cell.dataset, cell.hardware]
                families.setdefault(json.dumps(about, sort_keys=True), {}).setdefault(size, cell)
        several = [tuple(family.values()) for family in families.values() if len(family) > 1]
        return {cell: family[0] for family in several for cell in family}

    @functools.cached_property
    def usual(self) -> tuple[Cell, ...]:
        """All cells except those trained only for the figure `order`; all cells if none would remain."""
        ordered = {cell.task for cell in self.order} - {cell.task for cell in self.cells if cell.variant != "shuffle"}
        return tuple(cell for cell in self.cells if cell.task not in ordered) or self.cells

    def varied(self) -> list[Cell]:
        """Cells of each task and tooling with a variant besides Control: under Control alone, every number is 0."""
        places = {cell[:3] for cell in self.usual if variant_named(cell.variant).varying}
        return [cell for cell in self.usual if cell[:3] in places]

    def built(self) -> list[Cell]:
        """Cells of networks that are built here, so that their data and epochs are known."""
        return [cell for cell in self.usual if cell.task in self.recipe_of]

    def scored(self) -> list[Cell]:
        """Cells whose runs output scores, not only classes."""
        return [cell for cell in self.usual if programs.outcome_of_model(self.config, cell.model) in SCORED]

    def grouped(self) -> list[Cell]:
        """Cells of data sets with sub-groups, except text: its classes are tokens, so it has no false positives."""
        datasets = self.config["datasets"]
        with_groups = {name for name, entry in datasets.items() if has_groups(entry) and not of_text(entry)}
        return [cell for cell in self.usual if cell.dataset in with_groups]

    def of_text(self) -> list[Cell]:
        """Cells of language models that are built here."""
        return [cell for cell in self.built() if of_text(self.config["datasets"][cell.dataset])]

    def with_draws(self) -> list[Cell]:
        """Cells with several draws of their fixed sources."""
        return [cell for cell in self.usual if len({seed // DRAW for seed in self.seeds[cell]}) > 1]

    def compared(self) -> list[Cell]:
        """Cells that are the numerator or denominator of a ratio."""
        cells = self.usual
        places = dict.fromkeys(Variants(*cell[:3]) for cell in cells)
        pairs = (both for place in places for both in comparisons_of_cells(place, cells))
        cells_of = {cell for both in pairs for cell in both}
        return [cell for cell in cells if cell in cells_of]

    def paired(self) -> list[Cell]:
        """Cells of tasks that two toolings train with equal draws."""
        tasks = {pair.task for pair in self.study.pairs if self.seeds.keys() >= set(pair.cells)}
        return [cell for cell in self.usual if cell.task in tasks]

    def framed(self) -> list[Cell]:
        """Cells of tasks on toolings that use two frameworks."""
        pairs = [pair for pair in self.study.frameworks if self.seeds.keys() >= set(pair.cells)]
        framed = {(*pair.task, name) for pair in pairs for name in (pair.hardware, pair.other_hardware)}
        return [cell for cell in self.usual if cell[:3] in framed]

    def growing(self) -> list[Cell]:
        """Cells that are compared step by step with a reference, and their references."""
        pairs = (both for of_task in self.study.growing().values() for both in of_task)
        return [cell for cell in dict.fromkeys(cell for both in pairs for cell in both) if cell in self.cells]

    def identical(self) -> list[Cell]:
        """Cells whose runs Pham et al. would compare: with fixed seeds, or with nothing fixed."""
        return [cell for cell in self.built() if cell.variant in ("impl", "algo_impl") and len(self.seeds[cell]) > 1]

    @functools.cached_property
    def remedied(self) -> dict[Cell, Cell]:
        """Maps each cell with remedies to the cell that it is compared with."""
        return {cell: self.study.without_remedy(cell) for cell in self.study.views if cell in self.cells}

    def isolating(self) -> list[Cell]:
        """Cells of data sets on toolings that have two or more variants with a single source."""
        cells = self.scored()
        single = {(cell[1:3], cell.variant) for cell in cells if len(variant_named(cell.variant).varying) == 1}
        variants = Counter(place for place, _ in single)
        return [cell for cell in cells if variants[cell[1:3]] > 1]

    def with_and_without_bn(self) -> list[Cell]:
        """The varied cells of each model M for which there is a model M-bn, and the cells of that M-bn."""
        cells = self.varied()
        without = {cell for cell in cells if with_batch_norm(cell) in cells}
        with_bn = set(map(with_batch_norm, without))
        return [cell for cell in cells if cell in without | with_bn]

    def with_ensembles(self) -> list[Cell]:
        """Cells with several runs per draw, of tasks in which some cell has enough runs of one draw for ensembles."""
        enough = {cell.task for cell in self.scored() if self._runs_of_a_draw(cell) >= RUNS_FOR_ENSEMBLES}
        return [cell for cell in self.scored() if cell.task in enough and self._runs_of_a_draw(cell) > 1]

    def _runs_of_a_draw(self, cell: Cell) -> int:
        return max(Counter(seed // DRAW for seed in self.seeds[cell]).values())

    def with_numbers(self) -> list[Cell | Network]:
        """Cells and networks with a published number of Zhuang et al., on any accelerator of the same kind."""
        trained, timed = published.published_trainings(), published.published_timings()
        cells = [cell for cell in self.usual if (*cell.task, cell.variant) in trained]
        sizes = {key: self.config.get("overhead", {}).get(key) for key in published.OVERHEAD_AT}
        # One published number is the smallest over all networks, so all networks are shown.
        are_timed = any(network.model in timed for network in self.networks)
        networks = self.networks if sizes == published.OVERHEAD_AT and are_timed else ()
        return [
            place
            for place in (*cells, *networks)
            if self.config["hardware"][place.hardware]["accelerator"] == published.ACCELERATOR
        ]


class Kind(NamedTuple):
    """A notebook: the metric files it reads, the cells or networks it shows, and its category on the page.

    `split` gives the part of a figure's name by which these are split into figures. `also` lists metric files that the
    notebook reads if the study has them, `files` the files of the repository that it reads. `takes` names further
    values of the study that it needs (papers/notebook_values.py).
    """

    reads: tuple[str, ...]
    shows: Callable[[Grid], Iterable[Subject]]
    split: Callable[[Grid, Any], str] | None = None
    needs: str = "a cell that is not `excluded_from` it, and to be named in `figures`, where a study has that key"
    category: str = FIGURES
    also: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes of all files that the notebook writes; the page shows the first."""
        return ("svg", "pdf", "png") if self.category == FIGURES else ("html", "csv", "md", "tex")


def by_tooling(_grid: Grid, place: Subject) -> str:
    """A figure for each tooling."""
    return place.hardware


def by_task(_grid: Grid, cell: Cell) -> str:
    """A figure for each task."""
    return f"{cell.model}-{cell.dataset}"


def by_place(grid: Grid, cell: Cell) -> str:
    """A figure for each task on each tooling."""
    return f"{cell.hardware}-{by_task(grid, cell)}"


def by_kernel_size(grid: Grid, network: Network) -> str:
    """The figure that shows a network: models named M-k1, M-k3, ... share one figure, the others have another."""
    family = _family(network.model)
    members = {other.model for other in grid.networks if _family(other.model) == family}
    return "kernel-size" if family and len(members) > 1 else "networks"


def _family(model: str) -> str:
    named = re.fullmatch(r"(.+)-k[1-9]\d*", model)
    return named[1] if named else ""


# The kinds by name, in the order of the page.
KINDS = {
    "table2": Kind(("stability",), lambda grid: grid.usual, category=TABLE_2),
    "noise_by_source": Kind(("stability", "runs"), Grid.varied, by_tooling, also=("ratios",)),
    "batch_norm": Kind(
        ("stability", "runs", "ratios"),
        Grid.with_and_without_bn,
        by_tooling,
        needs="a model M and a model M-bn in one block",
    ),
    "subgroups": Kind(("stability",), Grid.grouped, by_tooling, needs=SUB_GROUPS, takes=("label_of",)),
    "per_class": Kind(("stability", "runs"), Grid.varied, by_place, also=("labels",), takes=("class_names",)),
    "across_toolings": Kind(
        ("stability", "runs", "cross_tooling"),
        Grid.paired,
        by_task,
        needs="two toolings with a variant of control or algo",
        also=("frameworks",),
    ),
    "order": Kind(
        ("stability", "runs", "counts"),
        lambda grid: grid.order,
        lambda grid, cell: by_place(grid, grid.order[cell]),
        needs="the variant shuffle of one builder with two batch sizes or more",
        takes=("batch_sizes",),
    ),
    "ensembles": Kind(
        ("ensembles",), Grid.with_ensembles, by_task, needs=f"a cell with {RUNS_FOR_ENSEMBLES} runs or more of one draw"
    ),
    "ratios": Kind(
        ("ratios",),
        Grid.compared,
        needs="algo_impl or algo beside another variant, or a model M and a model M-bn in one block",
        category=TABLES,
    ),
    "components": Kind(("stability",), Grid.with_draws, needs="a block with the key draws", category=TABLES),
    "table1": Kind(
        ("counts",),
        Grid.built,
        needs="a network that is built here: a model with a recipe",
        category=TABLES,
        takes=("sources",),
    ),
    "table3": Kind(("counts",), Grid.grouped, needs=SUB_GROUPS, category=TABLES, takes=("label_of",)),
    "table4": Kind(("counts",), Grid.built, category=TABLES),
    "table5": Kind(("stability",), Grid.grouped, needs=SUB_GROUPS, category=TABLES, takes=("label_of",)),
    "sources": Kind(
        ("stability",),
        Grid.isolating,
        lambda _grid, cell: f"{cell.hardware}-{cell.dataset}",
        needs="two variants of a single source or more",
        category=TABLES,
        also=("ratios",),
        files=("resources/published-sources.csv",),
    ),
    "paper_vs_ours": Kind(
        ("stability", "counts"),
        Grid.with_numbers,
        needs="a model, a data set and a variant with a number in resources/published.csv, or such a network, on a GPU",
        category=PUBLISHED,
        also=("overhead",),
        files=("resources/published.csv",),
        takes=("accelerators", "differences", "label_of"),
    ),
    "claims": Kind(("claims",), lambda grid: [*grid.usual, *grid.networks], category=PUBLISHED),
    "framework_parts": Kind(("frameworks",), Grid.framed, by_task, needs=FRAMEWORKS, also=("identical",)),
    "partings": Kind(("partings",), Grid.framed, by_task, needs=FRAMEWORKS, category=TABLES, also=("identical",)),
    "growth": Kind(
        ("growth",), Grid.growing, by_task, needs="a recipe with record_steps, and two cells of a task with equal draws"
    ),
    "identical_runs": Kind(("identical",), Grid.built, category=TABLES, files=("resources/published-identical.csv",)),
    "identical_tests": Kind(
        ("convergence",), Grid.identical, needs="the variant impl or algo_impl with two runs or more", category=TABLES
    ),
    "language": Kind(("stability", "language", "runs"), Grid.of_text, by_tooling, needs=TEXT),
    "table_language": Kind(("stability", "language"), Grid.of_text, needs=TEXT, category=TABLES),
    "layers": Kind(
        ("layers",),
        lambda grid: [cell for cell in grid.cells if cell in grid.study.layers],
        by_place,
        needs="a block with the key layers",
    ),
    "kernels": Kind(("kernels", "overhead"), lambda grid: grid.networks, by_tooling, needs="the key overhead"),
    "overhead": Kind(("overhead",), lambda grid: grid.networks, by_kernel_size, needs="the key overhead"),
    "remedies": Kind(
        ("remedies",),
        lambda grid: grid.remedied,
        lambda grid, cell: by_place(grid, grid.remedied[cell]),
        needs="the key remedies in a block",
        category=TABLES,
        files=("resources/published-remedies.csv",),
    ),
}


def notebook_of(kind: str) -> str:
    """The path of a kind's notebook in the repository."""
    return f"notebooks/{kind}.ipynb"


def caption_in(kind: str, study: str) -> str:
    """The caption of a kind in reStructuredText, for the study of this name."""
    return _captions()[kind].format(study=study)


@functools.cache
def _captions() -> dict[str, str]:
    return strict_yaml.load_yaml(read_text(path_of(CAPTIONS)))
