"""The figures of a study that stand for the tables and figures of Zhuang et al., by the paper's names."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput, warn_once
from toolnoise.study import config, grid
from toolnoise.study.figure_kinds import KINDS
from toolnoise.study.study import Figure

# The paper's items, each with the names of its figures in a study with the paper's grid; and its numbers beside ours.
TARGETS = {
    "table1": ("table1",),
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
    "fig9": ("overhead-networks", "overhead-kernel-size"),
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
    by_item = {}
    for target, names in TARGETS.items():
        of_kind = tuple(figure for figure in figures if figure.notebook == _kind(target))
        named = tuple(figure for figure in of_kind if figure.name in names)
        by_item[target] = named if any(figure.name in papers for figure in of_kind) else of_kind
    return by_item


def of_target(
    target: str, figures: Iterable[Figure], file: str | Path, written: Mapping[str, Any]
) -> tuple[Figure, ...]:
    """The figures of a study for an item of the paper; without any, the error is one line.

    `written` is the study's configuration. If its `only` leaves out toolings that the item has, a line names them: an
    error if nothing is left of the item, else a warning.
    """
    chosen = by_target(figures)[target]
    if "only" in written:
        rest = {key: value for key, value in written.items() if key != "only"}
        whole = by_target(grid.build_study(config.resolve(rest, file), file).figures)[target]
        toolings = list(dict.fromkeys(name for figure in whole for name in figure.hardware))
        missing = [name for name in toolings if not any(name in figure.hardware for figure in chosen)]
        if missing and not chosen:
            what = f"cannot be made on {', '.join(written['only'])} alone"
            raise BadInput(file, target, what, f"a profile or `only` with {', '.join(toolings)}")
        if missing:
            warn_once(f"{file}: {target}: without {', '.join(missing)}, which `only` leaves out")
    if not chosen:
        others = [figure.name for figure in figures if figure.notebook == _kind(target)]
        if others:
            missing = " or ".join(TARGETS[target])
            raise BadInput(file, target, f"the study has no {missing}", f"it has {', '.join(others)}")
        raise BadInput(file, target, f"the study has no {_kind(target)}", f"it needs {KINDS[_kind(target)].needs}")
    return chosen


def _kind(target: str) -> str:
    return TARGETS[target][0].partition("-")[0]
