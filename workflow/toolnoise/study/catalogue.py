"""Which figures and tables a study can feed, from which metric files, and what Zhuang et al. call them.

Pure and light: the Snakefile reads it. A kind is a notebook; a figure is that notebook executed for some toolings and
tasks, and its name begins with its kind.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.study.variants import variant

if TYPE_CHECKING:
    from toolnoise.study.grid import Cell, Pair

Task = tuple[str, str]

# The page shows the categories in the order of their names.
TABLE_2, FIGURES, TABLES, PUBLISHED = "1 Table 2: accuracy", "2 Figures", "3 Further tables", "4 Published and ours"


class Kind(NamedTuple):
    """A notebook: the metric files that it reads, what feeds it, and where the page shows it."""

    reads: tuple[str, ...]
    needs: str = "to be named in `figures`, where a study has that key"
    category: str = FIGURES
    also: tuple[str, ...] = ()  # read if the study has them
    files: tuple[str, ...] = ()  # of the repository, beside the notebook

    @property
    def formats(self) -> tuple[str, ...]:
        """The suffixes of the files that it writes; the page shows the first."""
        return ("svg", "pdf", "png") if self.category == FIGURES else ("html", "csv", "md", "tex")


# Ensembles of up to half the runs: three sizes, and of the largest still two ensembles.
RUNS_FOR_ENSEMBLES = 6

_FRAMEWORKS = "two toolings of different engines with a variant of control or algo"
_SUB_GROUPS = "a data set with sub-groups: faces, or celeba with groups"
KINDS = {
    "table2": Kind(("stability",), category=TABLE_2),
    "noise_by_source": Kind(("stability",)),
    "batch_norm": Kind(("stability",), "a model M and a model M-bn in one block"),
    "subgroups": Kind(("stability",), _SUB_GROUPS),
    "per_class": Kind(("stability",)),
    "across_toolings": Kind(("stability", "cross_tooling"), "two toolings with a variant of control or algo"),
    "frameworks": Kind(
        ("stability", "cross_tooling", "frameworks", "partings", "identical"),
        _FRAMEWORKS,
    ),
    "layers": Kind(("layers",), "a block with the key layers"),
    "order": Kind(("stability", "counts"), "the variant shuffle of one builder with two batch sizes or more"),
    "ensembles": Kind(("ensembles",), f"a cell with {RUNS_FOR_ENSEMBLES} runs or more"),
    "kernels": Kind(("kernels",), "the key overhead"),
    "overhead": Kind(("overhead",), "the key overhead"),
    "table3": Kind(("counts",), _SUB_GROUPS, TABLES),
    "table4": Kind(("counts",), category=TABLES),
    "table5": Kind(("stability",), _SUB_GROUPS, TABLES),
    "sources": Kind(
        ("stability",), "two variants of a single source or more", TABLES, files=("resources/published-sources.csv",)
    ),
    "one_bit": Kind(("stability",), "a bit that is moved after different epochs, such as bit and bit_5"),
    "remedies": Kind(("remedies",), "the key remedies in a block", TABLES, files=("resources/published-remedies.csv",)),
    "partings": Kind(("partings", "identical"), _FRAMEWORKS, TABLES),
    "identical_runs": Kind(("identical",), category=TABLES, files=("resources/published-identical.csv",)),
    "paper_vs_ours": Kind(
        ("stability", "counts"), category=PUBLISHED, also=("overhead",), files=("resources/published.csv",)
    ),
}

# What notebooks use of the package.
_USED = (
    *("rendering", "plots", "panels", "tables", "published", "views"),
    *("metrics.table", "metrics.identical", "metrics.remedies", "stats.spread"),
)
MODULES = tuple(f"toolnoise.{name}" for name in _USED)

# The paper's items, by the names that their figures have in a study with the paper's grid; and its numbers beside ours.
TARGETS = {
    "table2": ("table2",),
    "table3": ("table3",),
    "table4": ("table4",),
    "table5": ("table5",),
    "fig2": ("noise_by_source-v100",),
    "fig3": ("batch_norm-v100",),
    "fig4": ("subgroups-v100",),
    "fig5": ("per_class-v100-resnet18-cifar10", "per_class-v100-resnet18-cifar100"),
    "fig6": ("across_toolings-resnet18-cifar100",),
    "fig7": ("order-tpu-v2-8-smallcnn-b125-cifar10",),
    "fig8": ("kernels-v100",),
    "fig9a": ("overhead-networks",),
    "fig9b": ("overhead-kernel-size",),
    "fig11": ("noise_by_source-p100",),
    "fig13": ("noise_by_source-rtx5000",),
    "paper_vs_ours": ("paper_vs_ours",),
}


class Figure(NamedTuple):
    """One notebook executed for some toolings and tasks."""

    name: str
    notebook: str
    hardware: tuple[str, ...]
    tasks: tuple[Task, ...]

    def shows(self, place: "Cell | Pair") -> bool:
        """Whether the figure shows a cell, or a pair of toolings."""
        toolings = {place.hardware, getattr(place, "other_hardware", place.hardware)}
        return place[:2] in self.tasks and toolings <= set(self.hardware)


def possible(
    config: Mapping[str, Any],
    seeds: Mapping["Cell", Sequence[int]],
    pairs: Iterable["Pair"],
    recipe_of: Mapping[Task, str],
    networks: Sequence["Cell"] = (),
    remedied: Mapping["Cell", "Cell"] = MappingProxyType({}),
    layers: Collection["Cell"] = (),
    frameworks: Iterable["Pair"] = (),
) -> dict[str, tuple[Figure, ...]]:
    """The figures of each kind that a study's cells can feed, or the networks that its overhead is measured on.

    `remedied` maps cells under remedies to those that they are held against, `layers` are the cells whose layers are
    compared, `frameworks` those of the pairs that compute with two frameworks.
    """
    cells = tuple(seeds)
    order = _order(config, cells, recipe_of)
    # A task that is trained under `shuffle` alone, for the figure of the order, is in no other one.
    ordered = {cell[:2] for cell in order} - {cell[:2] for cell in cells if cell.variant != "shuffle"}
    usual = tuple(cell for cell in cells if cell[:2] not in ordered) or cells
    grouped = [cell for cell in usual if _has_groups(config["datasets"][cell.dataset])]
    many = {cell for cell, mine in seeds.items() if len(mine) >= RUNS_FOR_ENSEMBLES}
    paired = {pair[:2] for pair in pairs}
    parted = {(*pair[:2], hardware) for pair in frameworks for hardware in (pair.hardware, pair.other_hardware)}
    framed = [cell for cell in usual if cell[:3] in parted]
    tooling = attrgetter("hardware")
    isolating = _several(usual, lambda cell: cell[1:3], lambda varying: len(varying) == 1)
    moving = _several(usual, lambda cell: cell[:3], lambda varying: varying == ("bit",))
    return {
        "table2": _figures("table2", usual),
        "noise_by_source": _figures("noise_by_source", usual, tooling),
        "batch_norm": _figures("batch_norm", _with_and_without(usual), tooling),
        "subgroups": _figures("subgroups", grouped, tooling),
        "per_class": _figures("per_class", usual, _place),
        "across_toolings": _figures("across_toolings", [cell for cell in usual if cell[:2] in paired], _task),
        "frameworks": _figures("frameworks", framed, _task),
        "layers": _figures("layers", [cell for cell in cells if cell in layers], _place),
        "order": _figures("order", order, lambda cell: _place(order[cell])),
        "ensembles": _figures("ensembles", [cell for cell in usual if cell in many], _task),
        "kernels": _figures("kernels", networks, tooling),
        "overhead": _figures("overhead", networks, _by_kernel_size(networks)),
        "table3": _figures("table3", grouped),
        "table4": _figures("table4", usual),
        "table5": _figures("table5", grouped),
        "sources": _figures("sources", [cell for cell in usual if cell[1:3] in isolating], _dataset),
        "one_bit": _figures("one_bit", [cell for cell in usual if cell[:3] in moving], _place),
        "remedies": _figures("remedies", remedied, lambda cell: _place(remedied[cell])),
        "partings": _figures("partings", framed, _task),
        "identical_runs": _figures("identical_runs", usual),
        "paper_vs_ours": _figures("paper_vs_ours", [*usual, *networks]),
    }


def chosen(
    possible: Mapping[str, tuple[Figure, ...]], kinds: Iterable[str] | None, file: str | Path
) -> Iterator[Figure]:
    """The figures of the kinds that a study asks for, or of every kind; one that cannot be fed is told in one line."""
    for kind in possible if kinds is None else kinds:
        if kinds and not possible[kind]:
            raise BadInput(file, "figures", f"{kind!r} cannot be fed by the grid", f"it needs {KINDS[kind].needs}")
        yield from possible[kind]


def by_target(figures: Iterable[Figure]) -> dict[str, tuple[Figure, ...]]:
    """What each item of the paper is in a study: its own figures or, off the paper's grid, all of its kind."""
    papers = {name for names in TARGETS.values() for name in names}
    found = {}
    for target, names in TARGETS.items():
        mine = tuple(figure for figure in figures if figure.notebook == _kind(target))
        own = tuple(figure for figure in mine if figure.name in names)
        found[target] = own if any(figure.name in papers for figure in mine) else mine
    return found


def of_target(target: str, figures: Iterable[Figure], file: str | Path) -> tuple[Figure, ...]:
    """The figures that an item of the paper is in a study; that there is none is told in one line."""
    found = by_target(figures)[target]
    if not found:
        others = [figure.name for figure in figures if figure.notebook == _kind(target)]
        if others:
            missing = " or ".join(TARGETS[target])
            raise BadInput(file, target, f"the study has no {missing}", f"it has {', '.join(others)}")
        raise BadInput(file, target, f"the study has no {_kind(target)}", f"it needs {KINDS[_kind(target)].needs}")
    return found


def _kind(target: str) -> str:
    return TARGETS[target][0].partition("-")[0]


def _figures(kind: str, cells: Iterable["Cell"], part: Callable[["Cell"], str] | None = None) -> tuple[Figure, ...]:
    """One figure of all these cells, or one for each part of them."""
    parts: dict[str, list[Cell]] = {}
    for cell in cells:
        parts.setdefault(f"{kind}-{part(cell)}" if part else kind, []).append(cell)
    return tuple(
        Figure(name, kind, _unique(cell.hardware for cell in mine), _unique(cell[:2] for cell in mine))
        for name, mine in parts.items()
    )


def _has_groups(dataset: Mapping[str, Any]) -> bool:
    return dataset["reader"] == "faces" or bool(dataset.get("groups"))


def _by_kernel_size(networks: Iterable["Cell"]) -> Callable[["Cell"], str]:
    """Where a network is shown: models named M-k1, M-k3, ... together, the others in a figure of their own."""
    members = Counter(_family(model) for model in {cell.model for cell in networks})

    def part(cell: "Cell") -> str:
        family = _family(cell.model)
        return "kernel-size" if family and members[family] > 1 else "networks"

    return part


def _family(model: str) -> str:
    named = re.fullmatch(r"(.+)-k[1-9]\d*", model)
    return named[1] if named else ""


def _task(cell: "Cell") -> str:
    return f"{cell.model}-{cell.dataset}"


def _place(cell: "Cell") -> str:
    return f"{cell.hardware}-{_task(cell)}"


def _dataset(cell: "Cell") -> str:
    return f"{cell.hardware}-{cell.dataset}"


def _several(
    cells: Iterable["Cell"], part: Callable[["Cell"], tuple[str, ...]], wanted: Callable[[tuple[str, ...]], bool]
) -> set[tuple[str, ...]]:
    """The parts of a study with two variants or more of what is wanted."""
    found = {(part(cell), cell.variant) for cell in cells if wanted(variant(cell.variant).varying)}
    counts = Counter(place for place, _ in found)
    return {place for place, count in counts.items() if count > 1}


def _unique(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))


def _with_and_without(cells: tuple["Cell", ...]) -> list["Cell"]:
    """The cells of models M for which there is an M-bn, and of those."""
    without = {cell for cell in cells if cell._replace(model=f"{cell.model}-bn") in cells}
    with_bn = {cell._replace(model=f"{cell.model}-bn") for cell in without}
    return [cell for cell in cells if cell in without | with_bn]


def _order(config: Mapping[str, Any], cells: tuple["Cell", ...], recipe_of: Mapping[Task, str]) -> dict["Cell", "Cell"]:
    """Cells that differ in nothing but their batch size, and whose runs in nothing but the order of the data.

    By each cell the first of those that it goes with.
    """
    families: dict[str, dict[int, Cell]] = {}
    for cell in cells:
        if cell.variant == "shuffle":
            recipe = dict(config["recipes"][recipe_of[cell[:2]]])
            size = recipe.pop("batch_size")
            family = json.dumps([config["models"][cell.model], recipe, cell.dataset, cell.hardware], sort_keys=True)
            families.setdefault(family, {}).setdefault(size, cell)
    several = [tuple(family.values()) for family in families.values() if len(family) > 1]
    return {cell: family[0] for family in several for cell in family}
