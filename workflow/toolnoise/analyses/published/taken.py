"""What the papers' tables take of a study: accelerators, differences from the papers' recipes, sources of noise."""

from typing import Any

from toolnoise.analyses.published import papers_recipe, source_table
from toolnoise.study.figure import Figure
from toolnoise.study.study import Study


def _accelerators(study: Study, figure: Figure) -> dict[str, str]:
    return {name: study.tooling(name)["accelerator"] for name in figure.hardware}


def _differences(study: Study, figure: Figure) -> dict[str, list[str]]:
    recipes = {task: study.config["recipes"][study.recipe_of[task]] for task in figure.tasks if task in study.recipe_of}
    return {"/".join(task): papers_recipe.differences(*task, recipe) for task, recipe in recipes.items()}


def _sources(study: Study, figure: Figure) -> list[list[Any]]:
    shown = [cell for cell in study.cells if figure.shows(cell)]
    return [
        [name, [list(use) for use in uses], variants]
        for name, uses, variants in source_table.sources(study.config, study.recipe_of, shown)
    ]


TAKEN = {"accelerators": _accelerators, "differences": _differences, "sources": _sources}
