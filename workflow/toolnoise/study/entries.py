"""What entries of the registries say of themselves."""

from collections.abc import Mapping
from typing import Any

from toolnoise.datasets.outcomes import LABEL, TOKENS


def records_steps(recipe: Mapping[str, Any]) -> bool:
    """Whether runs keep their weights and test logits after steps 1, 2, 4, 8, ..."""
    return recipe.get("record_steps", False)


def emulates(tooling: Mapping[str, Any]) -> bool:
    """Whether a tooling's implementation noise is emulated, by its entry."""
    return tooling["impl_noise"] == "reduction-order"


def has_groups(dataset: Mapping[str, Any]) -> bool:
    """Whether a data set has sub-groups, by its entry."""
    return dataset["reader"] == "faces" or any(dataset.get(key) for key in ("groups", "group", "frequency"))


def outcome(dataset: Mapping[str, Any]) -> str:
    """What is asked about the examples of a data set, by its entry."""
    return TOKENS if dataset["reader"] == "text" else dataset.get("outcome", LABEL)


def cores(tooling: Mapping[str, Any]) -> int:
    """The CPU cores that a run on a tooling keeps busy."""
    return tooling["threads"] * tooling.get("world", 1)
