"""What of a study the papers have a number for, and the data sets on which sources of noise can be told apart."""

import functools

from toolnoise.study import published
from toolnoise.study.cells import Cell, Network
from toolnoise.study.figure_grid import Grid, several


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


def isolating(grid: Grid) -> list[Cell]:
    """Cells of data sets on toolings that have two or more variants with a single source."""
    places = several(grid.scored, lambda cell: cell[1:3], lambda varying: len(varying) == 1)
    return [cell for cell in grid.scored if cell[1:3] in places]
