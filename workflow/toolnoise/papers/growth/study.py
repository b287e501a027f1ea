"""The figure of growth, and which cells are compared, step by step, with which reference.

Run by run, a cell and its reference have the same algorithmic draws. The reference of a tooling is the same variant on
the reference tooling, which is the first of the task. The reference of emulated noise, of a tooling's own noise and of
a moved bit is the cell on the same tooling in which they are absent.
"""

from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.study.cells import Cell, Variants
from toolnoise.study.entries import records_steps
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import Kind, by_task
from toolnoise.study.study import Study
from toolnoise.study.variants import variant

# The variants in which a tooling alone decides what is not drawn.
REFERENCES = ("algo", "control")


def growing(study: Study) -> dict[Variants, list[tuple[Cell, Cell]]]:
    """Each task on its reference tooling, with the cells that are compared step by step and the reference of each."""
    places: dict[tuple[str, str], Variants] = {}
    for cell in study.seeds:
        recipe = study.config["recipes"].get(study.recipe_of.get(cell.task), {})
        if cell.variant in REFERENCES and records_steps(recipe):
            places.setdefault(cell.task, Variants(*cell[:3]))
    pairs: dict[Variants, list[tuple[Cell, Cell]]] = {}
    for cell in study.seeds:
        place = places.get(cell.task)
        reference = _reference(cell, place.hardware, cell in study.draws) if place else None
        if place and reference in study.seeds and reference != cell:
            pairs.setdefault(place, []).append((cell, reference))
    return pairs


def _reference(cell: Cell, hardware: str, has_draws: bool) -> Cell | None:
    if cell.variant in REFERENCES:
        return cell._replace(hardware=hardware)
    varying = set(variant(cell.variant).varying)
    drawn = varying.intersection(ALGORITHMIC)
    if drawn == set(ALGORITHMIC) or (has_draws and not drawn):
        # The draw of what is fixed in a run is the seed of a run of ALGO.
        return cell._replace(variant="algo")
    return cell._replace(variant="control") if not drawn else None


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
}
