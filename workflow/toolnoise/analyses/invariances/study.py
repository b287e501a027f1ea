"""The figure of invariances, and the toolings of a task that compute one training in another way.

Each of them differs from the first in one setting.
"""

from toolnoise.study.cells import Cell, Task
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import Kind
from toolnoise.study.study import PAIRABLE, Study

# A study that has a tooling with one of these asks for them.
PARTS = ("accumulate", "world")
# Settings of a tooling that decide no bit of a deterministic run, or that follow from another.
ASIDE = ("name", "impl_noise")


def ways(study: Study, task: Task) -> dict[str, str]:
    """By tooling, the setting in which it differs from the first of its engine that divides no batch, which has none.

    Empty if no tooling of the task divides batches.
    """
    names = list(dict.fromkeys(cell.hardware for cell in _paired(study, task)))
    toolings = {name: dict(study.tooling(name)) for name in names}
    divided = [name for name in names if any(part in toolings[name] for part in PARTS)]
    if not divided:
        return {}
    engine = toolings[divided[0]]["engine"]
    first = next((name for name in names if toolings[name]["engine"] == engine and name not in divided), None)
    found = {first: ""} if first else {}
    for name in names if first else ():
        base, other = toolings[first], toolings[name]
        changed = [key for key in {**base, **other} if base.get(key) != other.get(key) and key not in ASIDE]
        if len(changed) == 1 and changed[0] != "engine":
            found[name] = f"{changed[0]} {other.get(changed[0], 1)}"
    return found if len(found) > 1 else {}


def tasks(study: Study) -> list[Task]:
    """Every task that is trained in several ways."""
    return [task for task in dict.fromkeys(Task(*cell.task) for cell in study.cells) if ways(study, task)]


def cells(study: Study, task: Task) -> list[Cell]:
    """The cells of a task in its ways, under the variants in which all have equal draws."""
    names = ways(study, task)
    return [cell for cell in _paired(study, task) if cell.hardware in names]


def _paired(study: Study, task: Task) -> list[Cell]:
    return [cell for cell in study.cells if cell.task == task and cell.variant in PAIRABLE]


def _computed_in_ways(grid: Grid) -> list[Cell]:
    study = grid.study
    shown = {cell for task in tasks(study) for cell in cells(study, task)}
    return [cell for cell in grid.cells if cell in shown]


KINDS = {
    "invariances": Kind(
        ("invariances",),
        lambda grid: (_computed_in_ways(grid), None),
        needs="a tooling with accumulate or world, and one of its engine without",
        caption="""One training of study *{study}* computed in other ways that should not matter: the gradient of a
            batch as a sum over parts, one after another (accumulate) or in several processes (world), or with other
            threads. Run s has bit-equal initial weights, batches and masks in every way. Dots: the churn between run s
            in one way and in the other, divided by the churn between two seeds, with 95 % jackknife intervals over
            draws. Brackets: the relative difference of the training loss in the first epoch, the largest of all draws.
            With rounding alone it is small; with a layer that mixes the examples of a batch, such as batch
            normalisation, it is not.""",
    ),
}
