"""The parts of a study that figures show: its cells and networks, and the groups that kinds of figures need."""

import functools
import json
from collections.abc import Container, Mapping, Sequence

from toolnoise.base.noise_sources import DRAW
from toolnoise.datasets.outcomes import SCORED, TOKENS
from toolnoise.study import programs
from toolnoise.study.cells import Cell, Variants
from toolnoise.study.comparisons import comparisons
from toolnoise.study.entries import has_groups, outcome
from toolnoise.study.study import Study
from toolnoise.study.variants import variant


class Grid:
    """The parts of a study that figures show."""

    def __init__(self, study: Study, seeds: Mapping[Cell, Sequence[int]]) -> None:
        """Take a study, and those of its cells that are shown with their seeds."""
        self.study, self.cells, self.seeds = study, tuple(seeds), seeds
        self.config, self.recipe_of, self.networks = study.config, study.recipe_of, study.networks

    def without(self, excluded: Container[Cell]) -> "Grid":
        """The same parts, without these cells."""
        return Grid(self.study, {cell: seeds for cell, seeds in self.seeds.items() if cell not in excluded})

    @functools.cached_property
    def order(self) -> dict[Cell, Cell]:
        """Cells that differ only in batch size and whose runs differ only in the order of the data.

        Maps each cell to its family's first cell.
        """
        families: dict[str, dict[int, Cell]] = {}
        for cell in self.cells:
            if cell.variant == "shuffle" and cell.task in self.recipe_of:
                recipe = dict(self.config["recipes"][self.recipe_of[cell.task]])
                size = recipe.pop("batch_size")
                about = [self.config["models"][cell.model], recipe, cell.dataset, cell.hardware]
                families.setdefault(json.dumps(about, sort_keys=True), {}).setdefault(size, cell)
        several = [tuple(family.values()) for family in families.values() if len(family) > 1]
        return {cell: family[0] for family in several for cell in family}

    @functools.cached_property
    def usual(self) -> tuple[Cell, ...]:
        """Cells without those that serve only the figure of the order."""
        ordered = {cell.task for cell in self.order} - {cell.task for cell in self.cells if cell.variant != "shuffle"}
        return tuple(cell for cell in self.cells if cell.task not in ordered) or self.cells

    @property
    def varied(self) -> list[Cell]:
        """Cells of tasks and toolings that are not trained under Control alone, of which every number is 0."""
        places = {cell[:3] for cell in self.usual if variant(cell.variant).varying}
        return [cell for cell in self.usual if cell[:3] in places]

    @property
    def built(self) -> list[Cell]:
        """Cells of networks that are built here: their data and their epochs are known."""
        return [cell for cell in self.usual if cell.task in self.recipe_of]

    @property
    def scored(self) -> list[Cell]:
        """Cells whose runs leave scores, not classes alone."""
        return [cell for cell in self.usual if programs.outcome(self.config, cell.model) in SCORED]

    @property
    def grouped(self) -> list[Cell]:
        """Cells whose data have sub-groups, and errors of two kinds: a text has a class for each token."""
        datasets = self.config["datasets"]
        with_groups = {name for name, entry in datasets.items() if has_groups(entry) and outcome(entry) != TOKENS}
        return [cell for cell in self.usual if cell.dataset in with_groups]

    @property
    def with_draws(self) -> list[Cell]:
        """Cells with several draws of what is fixed in them."""
        return [cell for cell in self.usual if len({seed // DRAW for seed in self.seeds[cell]}) > 1]

    @property
    def compared(self) -> list[Cell]:
        """Cells that are put into a ratio."""
        cells = self.usual
        places = dict.fromkeys(Variants(*cell[:3]) for cell in cells)
        pairs = (both for place in places for both in comparisons(place, cells))
        cells_of = {cell for both in pairs for cell in both}
        return [cell for cell in cells if cell in cells_of]
