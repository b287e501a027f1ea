"""Properties that follow from the entries of registries."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from toolnoise.datasets.sources import keeps_originals
from toolnoise.formulas.outcomes import LABEL, LABELS, TOKENS


def records_steps(recipe: Mapping[str, Any]) -> bool:
    """Whether runs keep their weights and test logits after steps 1, 2, 4, 8, ..."""
    return recipe.get("record_steps", False)


def emulates_noise(tooling: Mapping[str, Any]) -> bool:
    """Whether the implementation noise of a tooling is emulated."""
    return tooling["impl_noise"] == "reduction-order"


def has_groups(dataset: Mapping[str, Any]) -> bool:
    """Whether a data set has sub-groups."""
    return dataset["reader"] == "faces" or any(dataset.get(key) for key in ("groups", "frequency"))


def is_synthetic(dataset: Mapping[str, Any]) -> bool:
    """Whether the reader of a data set generates its images."""
    return dataset["reader"] == "faces"


def dataset_name(dataset: str, synthetic: Collection[str]) -> str:
    """A data set's display name, which marks generated images as synthetic; `dataset` may end in `: label`."""
    return f"synthetic {dataset}" if dataset.partition(":")[0] in synthetic else dataset


def outcome_of_dataset(dataset: Mapping[str, Any]) -> str:
    """The kind of outcome of runs on a data set: tokens, several labels, or the `outcome` of the entry."""
    if dataset["reader"] == "text":
        return TOKENS
    return LABELS if label_shown(dataset) else dataset.get("outcome", LABEL)


def of_text(dataset: Mapping[str, Any]) -> bool:
    """Whether a data set is text."""
    return outcome_of_dataset(dataset) == TOKENS


def label_shown(dataset: Mapping[str, Any]) -> str:
    """The label to show by sub-group, for a data set with several labels of people; empty for other data sets."""
    return dataset.get("target", "Blond_Hair") if "targets" in dataset or "attributes" in dataset else ""


def labels_shown(datasets: Mapping[str, Mapping[str, Any]], names: Iterable[str]) -> dict[str, str] | None:
    """Maps each named data set that has several labels to its `label_shown`; None if there is no such data set.

    A network whose steps are timed has no data set: the name of its data set is empty.
    """
    return {name: label for name in names if name in datasets and (label := label_shown(datasets[name]))} or None


def entry_without_machine(dataset: Mapping[str, Any]) -> dict[str, Any]:
    """A data set's entry without the memory and cores of its jobs, which influence no bit of a run."""
    return {key: value for key, value in dataset.items() if key not in ("memory_mb", "cores")}


def memory_of_dataset(dataset: Mapping[str, Any]) -> int:
    """The memory in MB that a job requests on its first attempt if it reads a data set."""
    return dataset.get("memory_mb", 16_000)


def cores_of_tooling(tooling: Mapping[str, Any], dataset: Mapping[str, Any]) -> int:
    """The CPU cores that a run keeps busy: the tooling's threads, or the decoders of originals if they are more."""
    return max(tooling["threads"], dataset.get("cores", 8 if keeps_originals(dataset) else 1))


def preparing_cores(dataset: Mapping[str, Any]) -> int:
    """The CPU cores for preparing a data set: 8 by default if it is streamed, else 1, since most work is reading."""
    return dataset.get("cores", 8 if dataset["streamed"] else 1)


def scheduler_needs(tooling: Mapping[str, Any]) -> dict[str, Any]:
    """The scheduler request of a tooling: number of GPUs, the scheduler's name for their model, features of the node.

    A tooling with a `gpu_model` runs on nodes with that model, even if it does not compute on the GPU.
    """
    gpus = int(tooling["accelerator"] == "gpu" or bool(tooling["gpu_model"]))
    return {"gpu": gpus, "gpu_model": tooling["gpu_model"], "constraint": tooling.get("constraint")}
