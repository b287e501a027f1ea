"""The figures of a study that stand for the tables and figures of Zhuang et al., by the paper's names."""

from collections.abc import Iterable
from pathlib import Path

from toolnoise.base.errors import BadInput
from toolnoise.study.catalogue import KINDS
from toolnoise.study.figure_choice import Figure

# The paper's items, each with the names of its figures in a study with the paper's grid; and its numbers beside ours.
TARGETS = {
    "table2": ("table2",),
    "table3": ("table3",),
    "table4": ("table4",),
    "table5": ("table5",),
    "fig2": ("noise_by_source-v100",),
    "fig3": ("batch_norm-v100",),
    "fig4": ("subgroups-v100",),
    "fig5": ("per_class-v100-resnet18-cifar10", "per_class-v100-resnet18-cifar100"),
    "fig6": ("across_toolings-resnet18-cifar100",),
    "fig7": ("order-tpu-v2-8-smallcnn-b125-cifar10",),
    "fig8": ("kernels-v100",),
    "fig9a": ("overhead-networks",),
    "fig9b": ("overhead-kernel-size",),
    "fig11": ("noise_by_source-p100",),
    "fig13": ("noise_by_source-rtx5000",),
    "paper_vs_ours": ("paper_vs_ours",),
    "claims": ("claims",),
}


def by_target(figures: Iterable[Figure]) -> dict[str, tuple[Figure, ...]]:
    """The figures for each item of the paper: the item's own or, off the paper's grid, all of its kind."""
    papers = {name for names in TARGETS.values() for name in names}
    found = {}
    for target, names in TARGETS.items():
        mine = tuple(figure for figure in figures if figure.notebook == _kind(target))
        own = tuple(figure for figure in mine if figure.name in names)
        found[target] = own if any(figure.name in papers for figure in mine) else mine
    return found


def of_target(target: str, figures: Iterable[Figure], file: str | Path) -> tuple[Figure, ...]:
    """The figures of a study for an item of the paper; without any, the error is one line."""
    found = by_target(figures)[target]
    if not found:
        others = [figure.name for figure in figures if figure.notebook == _kind(target)]
        if others:
            missing = " or ".join(TARGETS[target])
            raise BadInput(file, target, f"the study has no {missing}", f"it has {', '.join(others)}")
        raise BadInput(file, target, f"the study has no {_kind(target)}", f"it needs {KINDS[_kind(target)].needs}")
    return found


def _kind(target: str) -> str:
    return TARGETS[target][0].partition("-")[0]
