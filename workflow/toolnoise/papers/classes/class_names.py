"""The names of classes, which figures by class take of a study.

Figures are drawn without the data, so the names are those that the entry of a data set has.
"""

from typing import Any

from toolnoise.datasets.sources import checksums
from toolnoise.study import config
from toolnoise.study.study import Figure, Study

# In the order of the labels: batches.meta.txt of CIFAR-10's archive, the README of Fashion-MNIST.
NAMES = {
    "cifar10": ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    "fashion-mnist": ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"),
}


def class_names(entry: dict[str, Any], registry: dict[str, Any]) -> list[str]:
    """The names by label; none if only the data have them, or if they are numbers."""
    return list(next((names for name, names in NAMES.items() if checksums(registry[name]) == checksums(entry)), ()))


def of_figure(study: Study, figure: Figure) -> dict[str, list[str]]:
    """The names of the classes of each data set that a figure shows."""
    registry, entries = config.registered("datasets"), study.config["datasets"]
    return {dataset: class_names(entries[dataset], registry) for _, dataset in figure.tasks}
