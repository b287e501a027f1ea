"""The figures of what determinism costs."""

import re
from collections import Counter
from collections.abc import Callable, Iterable

from toolnoise.study.cells import Cell
from toolnoise.study.kind import Kind, by_tooling


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
        lambda grid: (grid.costed, None),
        needs="the key overhead with a model that the grid trains under algo_impl and impl, its noise not emulated",
        takes=("width",),
    ),
}
