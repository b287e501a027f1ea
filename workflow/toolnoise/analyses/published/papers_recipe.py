"""How a recipe differs from the paper's, which has two: the text of Zhuang et al. and their code do not agree.

resources/recipes.yaml has both, as the families `paper` and `authors`. The published numbers come from the code, so the
text's recipe is a difference, too, wherever the code has another.
"""

from typing import Any

from toolnoise.study import config

TEXT, CODE = "paper", "authors"


def differences(model: str, dataset: str, recipe: dict[str, Any]) -> list[str]:
    """In words, how a task's recipe differs; nothing if it is that of the code, or if the paper has no such task."""
    known = config.registered("recipes")
    text, code = (known.get(config.recipe_for(family, model, dataset, known)) for family in (TEXT, CODE))
    if text is None or code is None:
        return []
    changed = [] if recipe["epochs"] in (text["epochs"], code["epochs"]) else [f"epochs ({recipe['epochs']})"]
    rest, of_text, of_code = ({**entry, "epochs": None} for entry in (recipe, text, code))
    if rest != of_code:
        changed.append("recipe of the text" if rest == of_text else "recipe")
    return changed
