"""The figures of what determinism costs."""

import re
from collections import Counter
from collections.abc import Callable, Iterable

from toolnoise.study.cells import Cell, Network, Variants
from toolnoise.study.entries import emulates
from toolnoise.study.figure_grid import Grid, places_of
from toolnoise.study.kind import Kind, by_tooling

# The variants whose churns show what determinism removes.
REMOVED = ("algo_impl", "algo", "impl")


def _by_kernel_size(networks: Iterable[Cell]) -> Callable[[Cell], str]:
    """The figure that shows a network: models named M-k1, M-k3, ... share one figure, the others have another."""
    members = Counter(_family(model) for model in {cell.model for cell in networks})

    def part(cell: Cell) -> str:
        family = _family(cell.model)
        return "kernel-size" if family and members[family] > 1 else "networks"

    return part


def _family(model: str) -> str:
    named = re.fullmatch(r"(.+)-k[1-9]\d*", model)
    return named[1] if named else ""


def _costed(grid: Grid) -> list[Cell | Network]:
    """Networks whose cost of determinism is measured, with the cells that show what it removes.

    The cost is that of a real switch, so the noise must be real, too: toolings that emulate it are left out.
    """
    networks = {
        (network.model, network.hardware): network
        for network in grid.networks
        if not emulates(grid.config["hardware"][network.hardware])
    }
    places = [
        place
        for place in places_of(grid.usual)
        if (place.model, place.hardware) in networks
        and {Cell(*place, "algo_impl"), Cell(*place, "impl")} <= set(grid.usual)
    ]
    cells = [cell for cell in grid.usual if Variants(*cell[:3]) in places and cell.variant in REMOVED]
    return [*cells, *dict.fromkeys(networks[place.model, place.hardware] for place in places)]


KINDS = {
    "kernels": Kind(
        ("kernels", "overhead"),
        lambda grid: (grid.networks, by_tooling),
        needs="the key overhead",
    ),
    "overhead": Kind(
        ("overhead",),
        lambda grid: (grid.networks, _by_kernel_size(grid.networks)),
        needs="the key overhead",
        takes=("width",),
    ),
    "cost_of_control": Kind(
        ("ratios", "overhead"),
        lambda grid: (_costed(grid), None),
        needs="the key overhead with a model that the grid trains under algo_impl and impl, its noise not emulated",
        takes=("width",),
    ),
}
