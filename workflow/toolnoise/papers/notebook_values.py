"""What a notebook is given of a study besides metric files: the toolings and tasks that it shows, and what it takes."""

from typing import Any

from toolnoise.datasets.sources import checksums
from toolnoise.papers.published import source_table
from toolnoise.study import config
from toolnoise.study.entries import labels_shown
from toolnoise.study.figure_files import synthetic
from toolnoise.study.figure_kinds import FIGURES, KINDS
from toolnoise.study.study import Figure, Study

# In the order of the labels: batches.meta.txt of CIFAR-10's archive, the README of Fashion-MNIST.
NAMES = {
    "cifar10": ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    "fashion-mnist": ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"),
}


def recipe_differences(model: str, dataset: str, recipe: dict[str, Any]) -> list[str]:
    """In words, how a task's recipe differs from the paper's; nothing if it does not, or if the paper has no such task.

    The paper has two, as the families `paper` and `authors` of resources/recipes.yaml: its text and its code do not
    agree. The published numbers come from the code, so the text's recipe is a difference, too, where the code has
    another.
    """
    known = config.registered("recipes")
    text, code = (known.get(config.recipe_for(family, model, dataset, known)) for family in ("paper", "authors"))
    if text is None or code is None:
        return []
    changed = [] if recipe["epochs"] in (text["epochs"], code["epochs"]) else [f"epochs ({recipe['epochs']})"]
    rest, of_text, of_code = ({**entry, "epochs": None} for entry in (recipe, text, code))
    if rest != of_code:
        changed.append("recipe of the text" if rest == of_text else "recipe")
    return changed


def accelerators(study: Study, figure: Figure) -> dict[str, str]:
    """The kind of accelerator of each tooling that a figure shows."""
    return {name: study.tooling(name)["accelerator"] for name in figure.hardware}


def differences(study: Study, figure: Figure) -> dict[str, list[str]]:
    """How the recipe of each task differs from the paper's, in words."""
    recipes = {task: study.config["recipes"][study.recipe_of[task]] for task in figure.tasks if task in study.recipe_of}
    return {"/".join(task): recipe_differences(*task, recipe) for task, recipe in recipes.items()}


def sources(study: Study, figure: Figure) -> list[list[Any]]:
    """The sources of noise of the cells that a figure shows, with their uses and the variants that let them vary."""
    shown = [cell for cell in study.cells if figure.shows(cell)]
    return [
        [name, [list(use) for use in uses], variants]
        for name, uses, variants in source_table.sources(study.config, study.recipe_of, shown)
    ]


def class_names(entry: dict[str, Any], registry: dict[str, Any]) -> list[str]:
    """The names by label; none if only the data have them, or if they are numbers."""
    return list(next((names for name, names in NAMES.items() if checksums(registry[name]) == checksums(entry)), ()))


def names_of_classes(study: Study, figure: Figure) -> dict[str, list[str]]:
    """The names of the classes of each data set that a figure shows."""
    registry, entries = config.registered("datasets"), study.config["datasets"]
    return {dataset: class_names(entries[dataset], registry) for _, dataset in figure.tasks}


# By the names in `takes` of a kind.
TAKEN = {
    "batch_sizes": lambda study, figure: dict(
        sorted((model, study.batch_size(model, dataset)) for model, dataset in figure.tasks)
    ),
    "label_of": lambda study, figure: labels_shown(study.config["datasets"], (name for _, name in figure.tasks)),
    "class_names": names_of_classes,
    "accelerators": accelerators,
    "differences": differences,
    "sources": sources,
}


def values(study: Study, figure: Figure) -> dict[str, Any]:
    """What a notebook is given besides metric files."""
    kind = KINDS[figure.notebook]
    taken = {name: TAKEN[name](study, figure) for name in kind.takes}
    if kind.category == FIGURES:
        taken["width"] = study.config.get("figure_width")
    return {
        "hardware": list(figure.hardware),
        "tasks": [list(task) for task in figure.tasks],
        "emulated": list(study.emulated()),
        **synthetic(study, (dataset for _, dataset in figure.tasks)),
        **{name: value for name, value in taken.items() if value is not None},
    }
