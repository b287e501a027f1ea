"""What classes add to a study: the figures by class and by sub-group, and the names of classes, which these take.

Figures are drawn without the data, so the names are those that the entry of a data set has.
"""

from typing import Any

from toolnoise.datasets.sources import checksums
from toolnoise.study import config
from toolnoise.study.kind import SUB_GROUPS, Kind, by_place, by_tooling
from toolnoise.study.study import Figure, Study

# In the order of the labels: batches.meta.txt of CIFAR-10's archive, the README of Fashion-MNIST.
NAMES = {
    "cifar10": ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
    "fashion-mnist": ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot"),
}

KINDS = {
    "subgroups": Kind(
        ("stability",),
        lambda grid: (grid.grouped, by_tooling),
        needs=SUB_GROUPS,
        takes=("label_of", "width"),
        rank=3,
        caption="""SD of accuracy, false-positive rate and false-negative rate by sub-group, divided by the SD over all
            examples, in study *{study}* (figure 4 of Zhuang et al., arXiv:2106.11872). A small group is noisy because
            it is small: the grey line below each group is the range of the ratio expected from the number of examples
            alone, in 95 % of studies with as many runs. In the paper the false-negative rate of men varies 4.6 times as
            much as that of all examples. The number of examples alone gives 3.8: CelebA's test set has 2,660 blond
            people, of whom 180 are men. Where examples have several labels, the figure shows one of them, as the
            paper's does by its counts, and all together, as the authors' code counts errors.""",
    ),
    "per_class": Kind(
        ("stability", "runs"),
        lambda grid: (grid.varied, by_place),
        also=("labels",),
        takes=("class_names", "width"),
        rank=4,
        caption="""SD of each class's accuracy compared with the SD over all classes in study *{study}* (figure 5 of
            Zhuang et al., arXiv:2106.11872, which reports largest ratios of 4 for CIFAR-10 and 23 for CIFAR-100). A
            class has fewer test examples than the whole test set, so ratios well above 1 are expected even if no class
            is special. Each largest ratio is shown with the ratio expected from class size alone: the median and 95 %
            range of simulated studies with as many runs and as many test examples per class. It is 4.4 (2.9 to 7.8) for
            10 equal classes and 10 runs, and 16.8 (10.8 to 29) for 100 classes: small classes alone explain the paper's
            4 and 23. A ratio above its range is red, and its class has a ring; small dots are the runs.""",
    ),
}


def class_names(entry: dict[str, Any], registry: dict[str, Any]) -> list[str]:
    """The names by label; none if only the data have them, or if they are numbers."""
    return list(next((names for name, names in NAMES.items() if checksums(registry[name]) == checksums(entry)), ()))


def _of_figure(study: Study, figure: Figure) -> dict[str, list[str]]:
    registry, entries = config.registered("datasets"), study.config["datasets"]
    return {dataset: class_names(entries[dataset], registry) for _, dataset in figure.tasks}


TAKEN = {"class_names": _of_figure}
