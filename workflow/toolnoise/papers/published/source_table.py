"""What each source of noise is in a study, by its recipes, models and toolings, and the variants in which it may vary.

Table 1 of Zhuang et al. lists the algorithmic sources in general; this is the same of one study.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from toolnoise.datasets.sources import keeps_originals
from toolnoise.study.cells import Cell
from toolnoise.study.variants import variant

Task = tuple[str, str]
Uses = list[tuple[str, list[str]]]
# The algorithmic sources in the paper's order; then the noise of the implementation, and what a variant must ask for.
ORDER = ("init", "augment", "shuffle", "dropout", "impl", "data", "bit")
ON_REQUEST = ("data", "bit")
NOISE = {
    "native": "the tooling's own, if it has any",
    "reduction-order": "emulated: the order of the examples within each batch",
    "none": "none",
}


class SourceUse(NamedTuple):
    """A source of noise: its uses, each with the places that have it (none: all have it), and the variants."""

    name: str
    uses: Uses
    varies: list[str]


def sources(config: Mapping[str, Any], recipe_of: Mapping[Task, str], cells: Collection[Cell]) -> list[SourceUse]:
    """The sources of these cells of networks that are built here; data and one bit only if a variant varies them."""
    recipes = {task: config["recipes"][name] for task, name in recipe_of.items()}
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    varied = {name: [cell for cell in cells if name in variant(cell.variant).varying] for name in ORDER}
    uses = {
        "init": [("the weights of every network", [])],
        "augment": _grouped(
            ((task, use) for task in tasks for use in _augments(recipes[task], config["datasets"][task[1]])), tasks
        ),
        "shuffle": _grouped(((task, f"batches of {recipes[task]['batch_size']}") for task in tasks), tasks),
        "dropout": _grouped(((task, use) for task in tasks for use in _drops(config["models"][task[0]])), tasks),
        "impl": _of_toolings(config, cells),
        "data": [("a bootstrap sample of the training set", [])],
        "bit": _moves(varied["bit"]),
    }
    return [
        SourceUse(name, uses[name], list(dict.fromkeys(cell.variant for cell in varied[name])))
        for name in ORDER
        if name not in ON_REQUEST or varied[name]
    ]


def _augments(recipe: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[str]:
    if recipe["crop"]:
        yield f"crops after {recipe['crop']} pixel{'s' if recipe['crop'] > 1 else ''} of padding"
    if box := recipe.get("resized_crop"):
        area = " to ".join(f"{100 * share:g}" for share in box["area"])
        yield f"boxes of {area} % of a picture's area, resized to {data['image_size']} pixels"
    elif not keeps_originals(data) and data.get("stored_size", 0) > data.get("image_size", 0):
        yield f"crops of {data['image_size']} out of {data['stored_size']} pixels"
    if recipe["flip"]:
        yield "mirroring"


def _drops(model: Mapping[str, Any]) -> Iterator[str]:
    if rate := model.get("options", {}).get("dropout"):
        yield f"dropout with rate {rate}"


def _of_toolings(config: Mapping[str, Any], cells: Iterable[Cell]) -> Uses:
    toolings = list(dict.fromkeys(cell.hardware for cell in cells))
    by_use: dict[str, list[str]] = {}
    for name in toolings:
        by_use.setdefault(NOISE[config["hardware"][name]["impl_noise"]], []).append(name)
    return [(use, [] if len(by_use) == 1 else names) for use, names in by_use.items()]


def _moves(cells: Iterable[Cell]) -> Uses:
    after = sorted({variant(cell.variant).bit_after for cell in cells})
    return [(f"after epoch {epoch}" if epoch else "before the first epoch", []) for epoch in after]


def _grouped(uses: Iterable[tuple[Task, str]], tasks: Collection[Task]) -> Uses:
    """Each use with its tasks; a data set stands for all tasks on it."""
    by_use: dict[str, list[Task]] = {}
    for task, use in uses:
        by_use.setdefault(use, []).append(task)
    return [(use, [] if len(of_use) == len(tasks) else list(_named(of_use, tasks))) for use, of_use in by_use.items()]


def _named(chosen: Collection[Task], tasks: Collection[Task]) -> Iterator[str]:
    for dataset in dict.fromkeys(dataset for _, dataset in chosen):
        on_it = [task for task in tasks if task[1] == dataset]
        if all(task in chosen for task in on_it):
            yield dataset
        else:
            yield from (f"{model}/{dataset}" for model, other in chosen if other == dataset)
