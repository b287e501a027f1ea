"""The parts of a study that figures show: its cells and networks, and the groups that kinds of figures need."""

import functools
import json
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence

from toolnoise.base.noise_sources import DRAW
from toolnoise.formulas.outcomes import SCORED
from toolnoise.study import programs, published
from toolnoise.study.cells import Cell, Network, Variants
from toolnoise.study.comparisons import comparisons, with_batch_norm
from toolnoise.study.entries import emulates, has_groups, of_text
from toolnoise.study.study import Study
from toolnoise.study.variants import variant

# Of one draw: three sizes of ensembles, and three ensembles of the largest. Two have no SD to speak of.
RUNS_FOR_ENSEMBLES = 9
# The variants whose churns show what determinism removes.
REMOVED = ("algo_impl", "algo", "impl")


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
        with_groups = {name for name, entry in datasets.items() if has_groups(entry) and not of_text(entry)}
        return [cell for cell in self.usual if cell.dataset in with_groups]

    @property
    def of_text(self) -> list[Cell]:
        """Cells of language models that are built here."""
        return [cell for cell in self.built if of_text(self.config["datasets"][cell.dataset])]

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

    @property
    def paired(self) -> list[Cell]:
        """Cells of tasks that two toolings train from equal draws."""
        tasks = {pair.task for pair in self.study.pairs if self.seeds.keys() >= set(pair.cells)}
        return [cell for cell in self.usual if cell.task in tasks]

    @property
    def framed(self) -> list[Cell]:
        """Cells of tasks on toolings that use two frameworks."""
        pairs = [pair for pair in self.study.frameworks if self.seeds.keys() >= set(pair.cells)]
        framed = {(*pair.task, name) for pair in pairs for name in (pair.hardware, pair.other_hardware)}
        return [cell for cell in self.usual if cell[:3] in framed]

    @property
    def growing(self) -> list[Cell]:
        """Cells that are compared step by step with a reference, and these references."""
        pairs = (both for of_task in self.study.growing().values() for both in of_task)
        return [cell for cell in dict.fromkeys(cell for both in pairs for cell in both) if cell in self.cells]

    @property
    def identical(self) -> list[Cell]:
        """Cells whose runs Pham et al. would compare: with fixed seeds, or with nothing fixed."""
        return [cell for cell in self.built if cell.variant in ("impl", "algo_impl") and len(self.seeds[cell]) > 1]

    @functools.cached_property
    def remedied(self) -> dict[Cell, Cell]:
        """The cells under remedies, each with the cell that it is compared with."""
        return {cell: self.study.without_remedy(cell) for cell in self.study.views if cell in self.cells}

    @property
    def isolating(self) -> list[Cell]:
        """Cells of data sets on toolings that have two or more variants with a single source."""
        places = self._several(self.scored, lambda cell: cell[1:3], lambda varying: len(varying) == 1)
        return [cell for cell in self.scored if cell[1:3] in places]

    @property
    def moving(self) -> list[Cell]:
        """Cells of tasks on toolings in which a bit is moved after different epochs."""
        places = self._several(self.usual, lambda cell: cell[:3], lambda varying: varying == ("bit",))
        return [cell for cell in self.usual if cell[:3] in places]

    @staticmethod
    def _several(
        cells: Sequence[Cell], part: Callable[[Cell], tuple[str, ...]], wanted: Callable[[tuple[str, ...]], bool]
    ) -> set[tuple[str, ...]]:
        """The parts of a study with at least two of the wanted variants."""
        parts = {(part(cell), cell.variant) for cell in cells if wanted(variant(cell.variant).varying)}
        counts = Counter(place for place, _ in parts)
        return {place for place, count in counts.items() if count > 1}

    @property
    def with_and_without_bn(self) -> list[Cell]:
        """The cells of models M that have an M-bn, and the cells of those M-bn, of tasks in which something varies."""
        cells = self.varied
        without = {cell for cell in cells if with_batch_norm(cell) in cells}
        with_bn = set(map(with_batch_norm, without))
        return [cell for cell in cells if cell in without | with_bn]

    @property
    def with_ensembles(self) -> list[Cell]:
        """Cells of tasks that have enough runs of one draw for ensembles of them under some variant."""
        enough = {cell.task for cell in self.scored if self._runs_of_a_draw(cell) >= RUNS_FOR_ENSEMBLES}
        return [cell for cell in self.scored if cell.task in enough and self._runs_of_a_draw(cell) > 1]

    def _runs_of_a_draw(self, cell: Cell) -> int:
        return max(Counter(seed // DRAW for seed in self.seeds[cell]).values())

    @property
    def with_numbers(self) -> list[Cell | Network]:
        """Cells and networks with a number of Zhuang et al., on any accelerator of the same kind."""
        trained, timed = published.trained(), published.timed()
        cells = [cell for cell in self.usual if (*cell.task, cell.variant) in trained]
        sizes = {key: self.config.get("overhead", {}).get(key) for key in published.OVERHEAD_AT}
        # The smallest of all networks is one of the numbers, so that all of them count.
        are_timed = any(network.model in timed for network in self.networks)
        networks = self.networks if sizes == published.OVERHEAD_AT and are_timed else ()
        return [
            place
            for place in (*cells, *networks)
            if self.config["hardware"][place.hardware]["accelerator"] == published.ACCELERATOR
        ]

    @property
    def costed(self) -> list[Cell | Network]:
        """Networks whose cost of determinism is measured, with the cells that show what it removes.

        The cost is that of a real switch, so the noise must be real, too: toolings that emulate it are left out.
        """
        networks = {
            (network.model, network.hardware): network
            for network in self.networks
            if not emulates(self.config["hardware"][network.hardware])
        }
        places = [
            place
            for place in dict.fromkeys(Variants(*cell[:3]) for cell in self.usual)
            if (place.model, place.hardware) in networks
            and {Cell(*place, "algo_impl"), Cell(*place, "impl")} <= set(self.usual)
        ]
        cells = [cell for cell in self.usual if Variants(*cell[:3]) in places and cell.variant in REMOVED]
        return [*cells, *dict.fromkeys(networks[place.model, place.hardware] for place in places)]
