"""The values that a notebook gets besides metric files: the toolings and tasks that it shows, and those it `takes`.

Table 1 of Zhuang et al. lists the algorithmic sources in general; ours describes each source of noise in a study, by
its recipes, models and toolings, with the variants that vary it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from toolnoise.datasets.sources import checksums_of, keeps_originals
from toolnoise.study import config
from toolnoise.study.cells import Cell
from toolnoise.study.entries import labels_shown
from toolnoise.study.figure_files import synthetic_datasets
from toolnoise.study.figure_kinds import FIGURES, KINDS
from toolnoise.study.study import Figure, Study
from toolnoise.study.variants import variant_named

Task = tuple[str, str]
Uses = list[tuple[str, list[str]]]
# The algorithmic sources in the paper's order, implementation noise, and the sources that only special variants vary.
ORDER = ("init", "augment", "shuffle", "dropout", "impl", "data", "bit")
ON_REQUEST = ("data", "bit")
NOISE = {
    "native": "the tooling's own, if it has any",
    "reduction-order": "emulated: the order of the examples within each batch",
    "none": "none",
}
# In the order of the labels, from batches.meta.txt of CIFAR-10's archive and the README of Fashion-MNIST.
NAMES = {
    "cifar10": ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    "fashion-mnist": ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"),
}


def recipe_differences(model: str, dataset: str, recipe: dict[str, Any]) -> list[str]:
    """How a task's recipe differs from the paper's, in words; empty if it does not, or if the paper has no such task.

    The paper has two recipes, the families `paper` and `authors` of resources/recipes.yaml: its text and its code do
    not agree. The published numbers come from the code, so the text's recipe is a difference, too, if the code has
    another.
    """
    recipes = config.registry_entries("recipes")
    text, code = (recipes.get(config.recipe_for(family, model, dataset, recipes)) for family in ("paper", "authors"))
    if text is None or code is None:
        return []
    changed = [] if recipe["epochs"] in (text["epochs"], code["epochs"]) else [f"epochs ({recipe['epochs']})"]
    rest, of_text, of_code = ({**entry, "epochs": None} for entry in (recipe, text, code))
    if rest != of_code:
        changed.append("recipe of the text" if rest == of_text else "recipe")
    return changed


def accelerators_of(study: Study, figure: Figure) -> dict[str, str]:
    """The kind of accelerator of each tooling that a figure shows."""
    return {name: study.tooling(name)["accelerator"] for name in figure.hardware}


def differences_of_recipes(study: Study, figure: Figure) -> dict[str, list[str]]:
    """How the recipe of each task differs from the paper's, in words."""
    recipes = {task: study.config["recipes"][study.recipe_of[task]] for task in figure.tasks if task in study.recipe_of}
    return {"/".join(task): recipe_differences(*task, recipe) for task, recipe in recipes.items()}


def sources_shown(study: Study, figure: Figure) -> list[list[Any]]:
    """The sources of noise of the cells that a figure shows, with their uses and the variants that let them vary."""
    shown = [cell for cell in study.cells if figure.shows(cell)]
    used = sources_of(study.config, study.recipe_of, shown)
    return [[name, [list(use) for use in uses], variants] for name, uses, variants in used]


def class_names(entry: dict[str, Any], registry: dict[str, Any]) -> list[str]:
    """The names by label; empty if only the data have them, or if they are numbers."""
    return list(
        next((names for name, names in NAMES.items() if checksums_of(registry[name]) == checksums_of(entry)), ())
    )


def names_of_classes(study: Study, figure: Figure) -> dict[str, list[str]]:
    """The names of the classes of each data set that a figure shows."""
    registry, entries = config.registry_entries("datasets"), study.config["datasets"]
    return {dataset: class_names(entries[dataset], registry) for _, dataset in figure.tasks}


class SourceUse(NamedTuple):
    """A source of noise: its uses, each with its places (empty: all places), and the variants that vary the source."""

    name: str
    uses: Uses
    varies: list[str]


def sources_of(config: Mapping[str, Any], recipe_of: Mapping[Task, str], cells: Collection[Cell]) -> list[SourceUse]:
    """The sources of these cells of networks that are built here; data and one bit only if a variant varies them."""
    recipes = {task: config["recipes"][name] for task, name in recipe_of.items()}
    tasks = list(dict.fromkeys(cell.task for cell in cells))
    varied = {name: [cell for cell in cells if name in variant_named(cell.variant).varying] for name in ORDER}
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
    after = sorted({variant_named(cell.variant).bit_after for cell in cells})
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


# The values that a kind of figure may take, by their names in its `takes`.
TAKEN = {
    "batch_sizes": lambda study, figure: dict(
        sorted((model, study.batch_size(model, dataset)) for model, dataset in figure.tasks)
    ),
    "label_of": lambda study, figure: labels_shown(study.config["datasets"], (name for _, name in figure.tasks)),
    "class_names": names_of_classes,
    "accelerators": accelerators_of,
    "differences": differences_of_recipes,
    "sources": sources_shown,
}


def notebook_values(study: Study, figure: Figure) -> dict[str, Any]:
    """The values that a notebook gets besides metric files."""
    kind = KINDS[figure.notebook]
    taken = {name: TAKEN[name](study, figure) for name in kind.takes}
    if kind.category == FIGURES:
        taken["width"] = study.config.get("figure_width")
    return {
        "hardware": list(figure.hardware),
        "tasks": [list(task) for task in figure.tasks],
        "emulated": list(study.emulated()),
        **synthetic_datasets(study, (dataset for _, dataset in figure.tasks)),
        **{name: value for name, value in taken.items() if value is not None},
    }
