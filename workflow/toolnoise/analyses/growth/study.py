"""The figure and the table of growth, and which cells are compared, step by step, with which reference.

Run by run, a cell and its reference have the same algorithmic draws. The reference of a tooling is the same variant on
the reference tooling, which is the first of the task. The reference of emulated noise, of a tooling's own noise and of
a moved bit is the cell on the same tooling in which they are absent.
"""

from collections.abc import Collection, Iterable, Iterator

from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.study.cells import Cell, Variants
from toolnoise.study.entries import records_steps
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import TABLES, Kind, by_task
from toolnoise.study.study import Study
from toolnoise.study.variants import variant

# The variants in which a tooling alone decides what is not drawn.
REFERENCES = ("algo", "control")


def places(cells: Iterable[Cell]) -> dict[tuple[str, str], Variants]:
    """Each task on its reference tooling."""
    tasks: dict[tuple[str, str], Variants] = {}
    for cell in cells:
        if cell.variant in REFERENCES:
            tasks.setdefault(cell.task, Variants(*cell[:3]))
    return tasks


def references(place: Variants, cells: Collection[Cell], drawn: Collection[Cell]) -> Iterator[tuple[Cell, Cell]]:
    """Each cell of the task that has a reference, with it; `drawn` are the cells with several draws."""
    for cell in cells:
        if cell.task == place.task:
            reference = _reference(cell, place.hardware, cell in drawn)
            if reference in cells and reference != cell:
                yield cell, reference


def _reference(cell: Cell, hardware: str, has_draws: bool) -> Cell | None:
    if cell.variant in REFERENCES:
        return cell._replace(hardware=hardware)
    varying = set(variant(cell.variant).varying)
    drawn = varying.intersection(ALGORITHMIC)
    if drawn == set(ALGORITHMIC) or (has_draws and not drawn):
        # The draw of what is fixed in a run is the seed of a run of ALGO.
        return cell._replace(variant="algo")
    return cell._replace(variant="control") if not drawn else None


def growing(study: Study) -> dict[Variants, tuple[tuple[Cell, Cell], ...]]:
    """The cells of each task on its reference tooling that are compared step by step, each with its reference."""
    by_place = {
        place: tuple(references(place, study.seeds, study.draws))
        for task, place in places(study.seeds).items()
        if task in study.recipe_of and records_steps(study.config["recipes"][study.recipe_of[task]])
    }
    return {place: pairs for place, pairs in by_place.items() if pairs}


def _shown(grid: Grid) -> list[Cell]:
    pairs = (both for of_task in growing(grid.study).values() for both in of_task)
    return [cell for cell in dict.fromkeys(cell for both in pairs for cell in both) if cell in grid.cells]


KINDS = {
    "growth": Kind(
        ("growth",),
        lambda grid: (_shown(grid), by_task),
        needs="a recipe with record_steps, and two cells of a task with equal draws",
        takes=("width",),
        caption="""How far two runs of study *{study}* from one start are apart after training steps 1, 2, 4, 8, ... and
            at the end. They have bit-equal initial weights, batches and augmentation, and differ by one thing: the
            tooling, the order of summation (emulated implementation noise), or one bit of one weight. Growth by a power
            of the number of steps is a straight line here. The dotted line is the distance of unrelated weights. If
            emulated noise grows and ends as the noise of toolings does, its line runs among theirs.""",
    ),
    "growth_fits": Kind(
        ("growth_fits",),
        lambda grid: (_shown(grid), None),
        needs="a recipe with record_steps, and two cells of a task with equal draws",
        category=TABLES,
        caption="""Fits to the growth of the distance between two runs of study *{study}* from one start: its rate, what
            a power and an exponential of the number of steps leave unexplained, the largest leap, the share of starts
            in which another network results, and the end. The last columns compare each perturbation with the other
            toolings, start by start.""",
    ),
}
