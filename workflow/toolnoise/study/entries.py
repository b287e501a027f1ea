"""What entries of the registries say of themselves."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from toolnoise.datasets.sources import keeps_originals
from toolnoise.formulas.outcomes import LABEL, LABELS, TOKENS


def records_steps(recipe: Mapping[str, Any]) -> bool:
    """Whether runs keep their weights and test logits after steps 1, 2, 4, 8, ..."""
    return recipe.get("record_steps", False)


def emulates(tooling: Mapping[str, Any]) -> bool:
    """Whether a tooling's implementation noise is emulated, by its entry."""
    return tooling["impl_noise"] == "reduction-order"


def has_groups(dataset: Mapping[str, Any]) -> bool:
    """Whether a data set has sub-groups, by its entry."""
    return dataset["reader"] == "faces" or any(dataset.get(key) for key in ("groups", "frequency"))


def is_synthetic(dataset: Mapping[str, Any]) -> bool:
    """Whether a data set's pictures are drawn by its reader, by its entry."""
    return dataset["reader"] == "faces"


def dataset_name(dataset: str, synthetic: Collection[str]) -> str:
    """A data set's name for people, who must not take drawn pictures for photographs; it may end in `: label`."""
    return f"synthetic {dataset}" if dataset.partition(":")[0] in synthetic else dataset


def outcome(dataset: Mapping[str, Any]) -> str:
    """What is asked about the examples of a data set, by its entry."""
    if dataset["reader"] == "text":
        return TOKENS
    return LABELS if label_shown(dataset) else dataset.get("outcome", LABEL)


def of_text(dataset: Mapping[str, Any]) -> bool:
    """Whether a data set is text, by its entry."""
    return outcome(dataset) == TOKENS


def label_shown(dataset: Mapping[str, Any]) -> str:
    """Which of many labels of people is shown by sub-group, by their data set's entry; nothing if they have one."""
    return dataset.get("target", "Blond_Hair") if "targets" in dataset or "attributes" in dataset else ""


def labels_shown(datasets: Mapping[str, Mapping[str, Any]], names: Iterable[str]) -> dict[str, str] | None:
    """`label_shown` of those of these data sets that have many labels, by name; None if none has.

    A network whose steps are timed has no data set: its name is empty.
    """
    return {name: label for name in names if name in datasets and (label := label_shown(datasets[name]))} or None


def defining(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """A data set's entry without what its jobs need of a machine, on which no bit of a run depends."""
    return {key: value for key, value in dataset.items() if key not in ("memory_mb", "cores")}


def memory(dataset: Mapping[str, Any]) -> int:
    """The megabytes of memory that a job which reads a data set asks for at its first attempt."""
    return dataset.get("memory_mb", 16_000)


def cores(tooling: Mapping[str, Any], dataset: Mapping[str, Any]) -> int:
    """The CPU cores that a run on a tooling keeps busy: its own, or those that decode a large data set's originals."""
    return max(tooling["threads"], dataset.get("cores", 8 if keeps_originals(dataset) else 1))


def preparing_cores(dataset: Mapping[str, Any]) -> int:
    """The CPU cores that bring a data set to its prepared form; most of it is reading, but for many images."""
    return dataset.get("cores", 8 if dataset["streamed"] else 1)


def needs(tooling: Mapping[str, Any]) -> dict[str, Any]:
    """What a scheduler is asked for, by the entry of a tooling: GPUs, their model in its words, features of a node.

    A tooling that names a scheduler's GPU model goes to that model's nodes, whatever it computes on there.
    """
    gpus = int(tooling["accelerator"] == "gpu" or bool(tooling["gpu_model"]))
    return {"gpu": gpus, "gpu_model": tooling["gpu_model"], "constraint": tooling.get("constraint")}
