"""What the papers add to a study: their figures, their tables, their numbers beside ours, and what these take of it.

That is what the papers have a number for, and the data sets on which sources of noise can be told apart.
"""

import functools
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from toolnoise.base.noise_sources import DRAW
from toolnoise.papers.published import source_table
from toolnoise.study import config, published
from toolnoise.study.cells import Cell, Network
from toolnoise.study.comparisons import with_batch_norm
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import PUBLISHED, SUB_GROUPS, TABLES, Kind, by_place, by_task, by_tooling
from toolnoise.study.study import Figure, Study
from toolnoise.study.variants import variant

# Of one draw: three sizes of ensembles, and three ensembles of the largest. Two have no SD to speak of.
RUNS_FOR_ENSEMBLES = 9


@functools.cache
def trained() -> frozenset[tuple[str, str, str]]:
    """The models, data sets and variants of trainings with a number of Zhuang et al."""
    numbers = (number for number in published.read() if number.model and number.dataset)
    return frozenset((number.model, number.dataset, name) for number in numbers for name in number.variants)


@functools.cache
def timed() -> frozenset[str]:
    """The networks whose cost of determinism has a number of Zhuang et al."""
    return frozenset(number.model for number in published.read() if number.metric == "kernel_ratio" and number.model)


def with_numbers(grid: Grid) -> list[Cell | Network]:
    """Cells and networks with a number of Zhuang et al., on any accelerator of the same kind."""
    cells = [cell for cell in grid.usual if (*cell.task, cell.variant) in trained()]
    sizes = {key: grid.config.get("overhead", {}).get(key) for key in published.OVERHEAD_AT}
    # The smallest of all networks is one of the numbers, so that all of them count.
    are_timed = any(network.model in timed() for network in grid.networks)
    networks = grid.networks if sizes == published.OVERHEAD_AT and are_timed else ()
    return [
        place
        for place in (*cells, *networks)
        if grid.config["hardware"][place.hardware]["accelerator"] == published.ACCELERATOR
    ]


def several(
    cells: Iterable[Cell], part: Callable[[Cell], tuple[str, ...]], wanted: Callable[[tuple[str, ...]], bool]
) -> set[tuple[str, ...]]:
    """The parts of a study with at least two of the wanted variants."""
    parts = {(part(cell), cell.variant) for cell in cells if wanted(variant(cell.variant).varying)}
    counts = Counter(place for place, _ in parts)
    return {place for place, count in counts.items() if count > 1}


def isolating(grid: Grid) -> list[Cell]:
    """Cells of data sets on toolings that have two or more variants with a single source."""
    places = several(grid.scored, lambda cell: cell[1:3], lambda varying: len(varying) == 1)
    return [cell for cell in grid.scored if cell[1:3] in places]


def with_and_without_bn(grid: Grid) -> list[Cell]:
    """The cells of models M that have an M-bn, and the cells of those M-bn, of tasks in which something varies."""
    cells = grid.varied
    without = {cell for cell in cells if with_batch_norm(cell) in cells}
    with_bn = set(map(with_batch_norm, without))
    return [cell for cell in cells if cell in without | with_bn]


def with_ensembles(grid: Grid) -> list[Cell]:
    """Cells of tasks that have enough runs of one draw for ensembles of them under some variant."""
    enough = {cell.task for cell in grid.scored if _runs_of_a_draw(grid, cell) >= RUNS_FOR_ENSEMBLES}
    return [cell for cell in grid.scored if cell.task in enough and _runs_of_a_draw(grid, cell) > 1]


def _runs_of_a_draw(grid: Grid, cell: Cell) -> int:
    return max(Counter(seed // DRAW for seed in grid.seeds[cell]).values())


def moving(grid: Grid) -> list[Cell]:
    """Cells of tasks on toolings in which a bit is moved after different epochs."""
    places = several(grid.usual, lambda cell: cell[:3], lambda varying: varying == ("bit",))
    return [cell for cell in grid.usual if cell[:3] in places]


KINDS = {
    "batch_norm": Kind(
        ("stability", "runs", "ratios"),
        lambda grid: (with_and_without_bn(grid), by_tooling),
        needs="a model M and a model M-bn in one block",
        takes=("width",),
        rank=2,
        caption="""The same model without and with batch normalisation in study *{study}*. In figure 3 of Zhuang et al.
            (arXiv:2106.11872) the SD of the small CNN on CIFAR-10 falls from 0.86 to 0.30 percentage points. Use the
            confidence intervals to judge whether it falls here; small dots are the runs.""",
    ),
    "order": Kind(
        ("stability", "runs", "counts"),
        lambda grid: (grid.order, lambda cell: by_place(grid.order[cell])),
        needs="the variant shuffle of one builder with two batch sizes or more",
        takes=("batch_sizes", "width"),
        rank=6,
        caption="""Runs of study *{study}* that differ only in the order of the training examples, against the batch
            size (figure 7 of Zhuang et al., arXiv:2106.11872). Initial weights, augmentation and the implementation are
            fixed. With the full set in one batch, every step sees every example. Only the order in which floating-point
            numbers are added remains: rounding, amplified by training. The paper's text gives the full set alone; the
            other batch sizes are this study's choice, and those of workflow/studies/paper.yaml (125 to 10,000) divide
            the 50,000 examples, so that all batches of an epoch are whole.""",
    ),
    "ensembles": Kind(
        ("ensembles",),
        lambda grid: (with_ensembles(grid), by_task),
        needs=f"a cell with {RUNS_FOR_ENSEMBLES} runs or more of one draw",
        takes=("width",),
        rank=7,
        caption="""The noise that remains after averaging the logits of k runs of study *{study}*: accuracy, its SD and
            the churn of ensembles, against k. Ensembles of the same size share no run, so they vary as independent
            trainings do. Their number is given below each size. The dashed line is the SD of single runs divided by the
            square root of k.""",
    ),
    "one_bit": Kind(
        ("stability",),
        lambda grid: (moving(grid), by_place),
        needs="a bit that is moved after different epochs, such as bit and bit_5",
        takes=("width",),
        rank=15,
        caption="""The effect of one changed bit in study *{study}*. In each run one weight, drawn by the run's seed, is
            moved by one unit in its last place, before training or after some epochs; everything else is fixed. The
            figure shows how far the runs end apart, against the epoch of the change. The band shows the noise of all
            sources together.""",
    ),
    "table1": Kind(
        ("counts",),
        lambda grid: (grid.built, None),
        needs="a network that is built here: a model with a recipe",
        category=TABLES,
        takes=("sources",),
        rank=10,
        caption="""Sources of noise in study *{study}*: what is drawn, how the study uses it, and the variants in which
            it may vary from run to run. Table 1 of Zhuang et al. (arXiv:2106.11872) lists the first four, the
            algorithmic sources, in general.""",
    ),
    "table3": Kind(
        ("counts",),
        lambda grid: (grid.grouped, None),
        needs=SUB_GROUPS,
        category=TABLES,
        takes=("label_of",),
        rank=11,
        caption="""Training examples of study *{study}* by sub-group and label, as counts and as shares of the training
            set (table 3 of Zhuang et al., arXiv:2106.11872). A rate over few examples varies more from run to run; the
            figure of the sub-groups shows by how much. Where examples have several labels, the table shows one of them,
            and all together.""",
    ),
    "table4": Kind(
        ("counts",),
        lambda grid: (grid.built, None),
        category=TABLES,
        rank=12,
        caption="""Data sets of study *{study}*: the numbers of classes (or of labels, where an example has several), of
            training examples and of test examples (table 4 of Zhuang et al., arXiv:2106.11872).""",
    ),
    "table5": Kind(
        ("stability",),
        lambda grid: (grid.grouped, None),
        needs=SUB_GROUPS,
        category=TABLES,
        takes=("label_of",),
        rank=13,
        caption="""Sample SD (ddof 1) over runs of accuracy, FPR = FP / (FP + TN) and FNR = FN / (FN + TP) by sub-group
            in study *{study}*, with its ratio to the SD over all examples and the ratio expected from group size alone
            (table 5 of Zhuang et al., arXiv:2106.11872, which does not have the latter). A star marks a ratio outside
            the range expected from size alone in 95 % of studies; by chance, one in twenty ratios is. The authors' code
            divides false negatives by all negatives; ours divides them by all positives. Where examples have several
            labels, the table shows one of them, as the paper's does by its counts, and all together, as the authors'
            code counts errors.""",
    ),
    "sources": Kind(
        ("stability",),
        lambda grid: (isolating(grid), lambda cell: f"{cell.hardware}-{cell.dataset}"),
        needs="two variants of a single source or more",
        category=TABLES,
        also=("ratios",),
        files=("resources/published-sources.csv",),
        rank=14,
        caption="""Runs of study *{study}* in which one source of noise varies, or several, or one bit of one weight is
            changed. The table shows their spread in the measures of table 1 of Summers & Dinneen (arXiv:2103.04514),
            each with its 95 % confidence interval; the published and replicated rows are below ours. "Churn / all" is
            the churn divided by the churn with all sources.""",
    ),
    "paper_vs_ours": Kind(
        ("stability", "counts"),
        lambda grid: (with_numbers(grid), None),
        needs="a model, a data set and a variant with a number in resources/published.csv, or such a network, on a GPU",
        category=PUBLISHED,
        also=("overhead",),
        files=("resources/published.csv",),
        takes=("accelerators", "differences", "label_of"),
        rank=16,
        caption="""The numbers that Zhuang et al. (arXiv:2106.11872) publish in tables 2 to 5 and in the text on figures
            2, 3, 5 and 9, with the numbers of study *{study}* for the same cells, if need be on another GPU; the last
            column lists the differences. The range contains the published number in 95 % of cases if both numbers come
            from the same distribution. With five or ten runs on either side the range is wide: agreement does not mean
            equality. Items for which nothing was run are left out here; the CSV has all numbers.""",
    ),
}


def recipe_differences(model: str, dataset: str, recipe: dict[str, Any]) -> list[str]:
    """In words, how a task's recipe differs from the paper's; nothing if it does not, or if the paper has no such task.

    The paper has two, as the families `paper` and `authors` of resources/recipes.yaml: its text and its code do not
    agree. The published numbers come from the code, so the text's recipe is a difference, too, where the code has
    another.
    """
    known = config.registered("recipes")
    text, code = (known.get(config.recipe_for(family, model, dataset, known)) for family in ("paper", "authors"))
    if text is None or code is None:
        return []
    changed = [] if recipe["epochs"] in (text["epochs"], code["epochs"]) else [f"epochs ({recipe['epochs']})"]
    rest, of_text, of_code = ({**entry, "epochs": None} for entry in (recipe, text, code))
    if rest != of_code:
        changed.append("recipe of the text" if rest == of_text else "recipe")
    return changed


def _accelerators(study: Study, figure: Figure) -> dict[str, str]:
    return {name: study.tooling(name)["accelerator"] for name in figure.hardware}


def _differences(study: Study, figure: Figure) -> dict[str, list[str]]:
    recipes = {task: study.config["recipes"][study.recipe_of[task]] for task in figure.tasks if task in study.recipe_of}
    return {"/".join(task): recipe_differences(*task, recipe) for task, recipe in recipes.items()}


def _sources(study: Study, figure: Figure) -> list[list[Any]]:
    shown = [cell for cell in study.cells if figure.shows(cell)]
    return [
        [name, [list(use) for use in uses], variants]
        for name, uses, variants in source_table.sources(study.config, study.recipe_of, shown)
    ]


TAKEN = {"accelerators": _accelerators, "differences": _differences, "sources": _sources}
