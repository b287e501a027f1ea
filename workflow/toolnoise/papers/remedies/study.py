"""What remedies add to a study: their table, the sets of views that a block may name, and a dump, for estimates."""

from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.datasets.sources import keeps_originals
from toolnoise.papers.remedies import plan
from toolnoise.study import layout
from toolnoise.study.analyses import Dump
from toolnoise.study.cells import Cell
from toolnoise.study.figure_grid import Grid
from toolnoise.study.kind import TABLES, Feed, Kind, by_place
from toolnoise.study.study import Study


def _remedied(grid: Grid) -> Feed:
    """The cells under remedies, by the place that they are compared with."""
    single = {cell: plan.single(grid.study, cell) for cell in grid.study.views if cell in grid.cells}
    return single, lambda cell: by_place(single[cell])


KINDS = {
    "remedies": Kind(
        ("remedies",),
        _remedied,
        needs="the key remedies in a block",
        category=TABLES,
        files=("resources/published-remedies.csv",),
        caption="""Runs of study *{study}* with predictions averaged over views of each test image, over snapshots of
            the run, or both. The table shows their spread in the measures of the mitigation table of Summers & Dinneen
            (arXiv:2103.04514), each with its 95 % confidence interval; the published and replicated rows are below
            ours. "Reduction" is the share of the spread of single runs that is removed.""",
    ),
}


def complete(schema: dict[str, Any]) -> None:
    """Let a block name the sets of views that there are."""
    schema["$defs"]["block"]["properties"]["remedies"]["items"]["enum"] = list(plan.SETS)


def check(config: dict[str, Any], _claims: dict[str, Any], file: str | Path) -> None:
    """Refuse shifted views of originals: beyond a box that is resized there are no pixels of that size."""
    # This module is what that one asks.
    from toolnoise.study.config import registered

    datasets = registered("datasets") | config["datasets"]
    for number, block in enumerate(config["grid"]):
        shifted = [name for name in block.get("remedies", ()) if any(view.down for view in plan.SETS[name])]
        kept = [name for name in block["datasets"] if keeps_originals(datasets.get(name, {}))]
        if shifted and kept:
            problem = f"found {', '.join(shifted)}, and data set {kept[0]!r} keeps originals"
            raise BadInput(file, f"grid[{number}].remedies", problem, "[flip], or []")


def dumps_of(study: Study, cell: Cell) -> list[Dump]:
    """The dump of all remedies of a cell, if it has any."""
    # Every start of Snakemake imports this module, and this one imports NumPy.
    from toolnoise.epoch_plan import cycles

    remedies = plan.applied(study, cell)
    if not remedies:
        return []
    recipe = study.config["recipes"][study.recipe_of[cell.task]]
    return [Dump(layout.REMEDIED, plan.passes(remedies, cycles(recipe)), len(remedies))]
