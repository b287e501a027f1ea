"""The figures of what determinism costs."""

import re
from collections import Counter
from collections.abc import Callable, Iterable

from toolnoise.study.cells import Cell, Network, Variants
from toolnoise.study.entries import emulates
from toolnoise.study.figure_grid import Grid
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
        for place in dict.fromkeys(Variants(*cell[:3]) for cell in grid.usual)
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
        caption="""Time of a training step in study *{study}*, kernel by kernel, with the tooling's default and with
            deterministic implementations: the twenty longest kernels, in milliseconds on one axis (figure 8 of Zhuang
            et al., arXiv:2106.11872). On a GPU the profiler times kernels on the device. On a CPU it times operators by
            type, on the thread that runs them, without the operators that they call. ``metrics/kernels.csv`` has the
            names and the number of calls.""",
    ),
    "overhead": Kind(
        ("overhead",),
        lambda grid: (grid.networks, _by_kernel_size(grid.networks)),
        needs="the key overhead",
        takes=("width",),
        caption="""The cost of determinism in study *{study}*: time of a training step with deterministic
            implementations divided by its time with default ones, summed over all kernels and by the clock. These are
            figures 9a (networks) and 9b (kernel sizes) of Zhuang et al. (arXiv:2106.11872) as ratios: the paper's
            largest, 746 % for 7x7 kernels on a P100, is 7.46 here. The interval of a hollow dot contains 1, no
            cost. On a CPU, operators take the place of kernels.""",
    ),
    "cost_of_control": Kind(
        ("ratios", "overhead"),
        lambda grid: (_costed(grid), None),
        needs="the key overhead with a model that the grid trains under algo_impl and impl, its noise not emulated",
        takes=("width",),
        caption="""What determinism costs in study *{study}*, and what it removes. Across: time of a training step with
            deterministic implementations divided by its time with default ones, by the clock. Up: the share of the
            churn of ALGO+IMPL that determinism removes. On the left the initial weights and the order of the data are
            fixed, and determinism removes all of IMPL's churn. On the right they vary, and determinism removes only the
            part of the churn of ALGO+IMPL that ALGO lacks. A network at the top left is made repeatable at little cost;
            one at the bottom right pays much for little.""",
    ),
}
