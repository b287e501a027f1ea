"""A study: its cells and runs, their specs, its figures, its measurements and comparisons.

Pure: nothing here reads or writes, and nothing heavy is imported, because every cluster job reads the Snakefile again.
A spec has everything that may influence a run, so its digest decides whether to train again.
"""

import itertools
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.noise_sources import ALGORITHMIC, DRAW
from toolnoise.base.spec import Spec
from toolnoise.formulas.outcomes import CLASSIFYING, SCORED
from toolnoise.study import config, programs, remedies
from toolnoise.study.cells import MODES, Cell, Dataset, Network, Pair, Place, Profile, Training, Variants
from toolnoise.study.entries import emulates_noise, entry_without_machine, is_synthetic, records_steps
from toolnoise.study.published import comparisons_of_cells
from toolnoise.study.variants import variant_named

# Without implementation noise two toolings can be compared run by run: all algorithmic draws are equal.
PAIRABLE = ("control", "algo")

OWN_ENVIRONMENT = ("environment", "")


class Figure(NamedTuple):
    """One notebook executed for some toolings and tasks; `excluded` are cells of these that it does not show."""

    name: str
    notebook: str
    hardware: tuple[str, ...]
    tasks: tuple[tuple[str, str], ...]
    excluded: tuple[Cell, ...] = ()

    def shows(self, place: Cell | Network | Pair | Dataset) -> bool:
        """Whether the figure shows a cell, a network, a pair of toolings or a data set."""
        if isinstance(place, Dataset):
            return any(place.dataset == dataset for _, dataset in self.tasks)
        toolings = {place.hardware, getattr(place, "other_hardware", place.hardware)}
        cells = place.cells if isinstance(place, Pair) else (place,)
        return place.task in self.tasks and toolings <= set(self.hardware) and set(cells).isdisjoint(self.excluded)


@dataclass(frozen=True)
class Study:
    """A named grid: `seeds` maps each cell to its seeds and `recipe_of` each (model, dataset) to its recipe.

    `draws` maps cells with several draws of their fixed sources to the number of draws; the seed of such a run is
    draw x DRAW + seed. `minutes` is the time limit of a run of each cell on a cluster. `views` maps cells with remedies
    to the sets of views that their block names, `layers` maps cells whose layers are compared to the number of test
    examples. `tensors` maps cells that move a bit of one tensor to that tensor's path. `folder` is the folder of the
    results, if it is not results/<name>.
    """

    name: str
    config: config.Config
    seeds: dict[Cell, tuple[int, ...]]
    draws: dict[Cell, int]
    minutes: dict[Cell, int]
    views: dict[Cell, tuple[str, ...]]
    recipe_of: dict[tuple[str, str], str]
    layers: dict[Cell, int]
    tensors: dict[Cell, str]
    figures: tuple[Figure, ...]
    folder: str = ""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Every cell, in the order of the grid."""
        return tuple(self.seeds)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every pair of toolings that train a task with common seeds under a variant without implementation noise."""
        seeds = self._leaving(SCORED)
        return tuple(
            Pair(first.model, first.dataset, first.hardware, second.hardware, first.variant)
            for first, second in itertools.combinations(seeds, 2)
            if first.variant == second.variant
            and first.variant in PAIRABLE
            and first[:2] == second[:2]
            and not set(seeds[first]).isdisjoint(seeds[second])
        )

    @property
    def compared(self) -> tuple[Variants, ...]:
        """Every task on a tooling that has variants to compare, or whose model is the M-bn of another model M."""
        places = dict.fromkeys(Variants(*cell[:3]) for cell in self.classifying)
        return tuple(place for place in places if self.comparisons(place))

    def comparisons(self, place: Variants) -> tuple[tuple[Cell, Cell], ...]:
        """The ratios of a task on a tooling: each numerator's cell with its denominator's cell."""
        return tuple(comparisons_of_cells(place, self.seeds))

    @property
    def frameworks(self) -> tuple[Pair, ...]:
        """The pairs whose toolings use two frameworks."""
        engine_of = {name: tooling["engine"] for name, tooling in self.config["hardware"].items()}
        return tuple(pair for pair in self.pairs if engine_of[pair.hardware] != engine_of[pair.other_hardware])

    @property
    def exchanged(self) -> tuple[Pair, ...]:
        """Each of these pairs in both orders: runs are trained on the first tooling, and predict on the other."""
        return tuple(way for pair in self.frameworks for way in (pair, pair.reversed))

    def growing(self) -> dict[Variants, list[tuple[Cell, Cell]]]:
        """Maps each task on its reference tooling to the cells that are compared step by step, each with its reference.

        Run by run, a cell and its reference have the same algorithmic draws. The reference of a tooling is the same
        variant on the reference tooling, which is the first of the task. The reference of emulated noise, of a
        tooling's own noise and of a moved bit is the cell on the same tooling in which they are absent.
        """
        places: dict[tuple[str, str], Variants] = {}
        for cell in self.seeds:
            recipe = self.config["recipes"].get(self.recipe_of.get(cell.task), {})
            if cell.variant in PAIRABLE and records_steps(recipe):
                places.setdefault(cell.task, Variants(*cell[:3]))
        pairs: dict[Variants, list[tuple[Cell, Cell]]] = {}
        for cell in self.seeds:
            place = places.get(cell.task)
            reference = self._reference(cell, place.hardware) if place else None
            if place and reference in self.seeds and reference != cell:
                pairs.setdefault(place, []).append((cell, reference))
        return pairs

    def _reference(self, cell: Cell, hardware: str) -> Cell | None:
        if cell.variant in PAIRABLE:
            return cell._replace(hardware=hardware)
        varying = set(variant_named(cell.variant).varying)
        drawn = varying.intersection(("data", *ALGORITHMIC))
        if drawn == set(ALGORITHMIC) or (cell in self.draws and not drawn):
            # The draw of a run's fixed sources is the seed of a run of ALGO.
            return cell._replace(variant="algo")
        return cell._replace(variant="control") if not drawn else None

    def remedies_of(self, cell: Cell) -> tuple[str, ...]:
        """The names of the remedies that are applied to the runs of a cell."""
        if cell not in self.views:
            return ()
        return remedies.remedies_of_runs(self.views[cell], self.config["recipes"][self.recipe_of[cell.task]]["cycles"])

    def without_remedy(self, cell: Cell) -> Cell:
        """The cell whose runs, without a remedy, are the reference for a cell under remedies.

        For a model M-snapshots it is the cell of M, if remedies are requested for that too.
        """
        other = cell._replace(model=cell.model.removesuffix(f"-{remedies.SNAPSHOTS}"))
        return other if other in self.views else cell

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """Every measurement of the cost of determinism."""
        return tuple(
            Profile(network.model, network.hardware, mode, repeat)
            for network in self.networks
            for mode in MODES
            for repeat in range(1, self.config["overhead"]["repeats"] + 1)
        )

    def base(self, model: str) -> Training | None:
        """The run whose trained weights the runs of a model start from, if there is one."""
        base = self.config["models"][model].get("base")
        return Training(**base) if base else None

    def of_base(self, pattern: str, model: str) -> list[str]:
        """The path of a file of a model's base, in a list; empty without a base."""
        base = self.base(model)
        return [self.path(pattern, base)] if base else []

    @property
    def networks(self) -> tuple[Network, ...]:
        """The networks on toolings whose cost of determinism is measured."""
        block = self.config.get("overhead", {"models": [], "hardware": []})
        networks = itertools.starmap(Network, itertools.product(block["models"], block["hardware"]))
        left_out = block.get("except", {})
        return tuple(network for network in networks if network.model not in left_out.get(network.hardware, ()))

    @property
    def controls(self) -> tuple[Cell, ...]:
        """The cells whose replicates must be bit-equal."""
        return tuple(cell for cell in self.seeds if cell.variant == "control")

    @property
    def classifying(self) -> dict[Cell, tuple[int, ...]]:
        """The cells whose runs classify, with their seeds."""
        return self._leaving(CLASSIFYING)

    def is_program(self, cell: Cell | Training) -> bool:
        """Whether the runs of a cell are those of an existing training program."""
        return programs.is_program(self.config["models"][cell.model])

    @property
    def alike(self) -> tuple[tuple[Cell, ...], ...]:
        """Groups of cells whose runs take the same time: one task on one tooling, deterministic or not."""
        groups: dict[tuple[str, str, str, bool], tuple[Cell, ...]] = {}
        for cell in self.seeds:
            key = (*cell[:3], is_deterministic(cell))
            groups[key] = (*groups.get(key, ()), cell)
        return tuple(groups.values())

    @property
    def figure_kinds(self) -> tuple[str, ...]:
        """The notebooks that the study's figures come from."""
        return tuple(dict.fromkeys(figure.notebook for figure in self.figures))

    def figure(self, name: str) -> Figure:
        """A figure by its name."""
        return next(figure for figure in self.figures if figure.name == name)

    def tooling(self, hardware: str) -> dict[str, Any]:
        """The registry entry of a tooling."""
        return self.config["hardware"][hardware]

    def emulated(self) -> tuple[str, ...]:
        """The toolings whose implementation noise is emulated."""
        return tuple(name for name, entry in self.config["hardware"].items() if emulates_noise(entry))

    def synthetic(self) -> tuple[str, ...]:
        """The data sets with generated images."""
        return tuple(name for name in self.datasets if is_synthetic(self.config["datasets"][name]))

    def spec(self, cell: Cell, seed: int) -> Spec:
        """Everything that may influence a run, except data and code, which have their own digests."""
        recipe = self.recipe_of.get(cell[:2])
        asked = {
            "model": {"name": cell.model, **self.config["models"][cell.model]},
            "dataset": {"name": cell.dataset, **entry_without_machine(self.config["datasets"][cell.dataset])},
            "recipe": {"name": recipe, **self.config["recipes"][recipe]} if recipe else programs.RECIPE,
            "hardware": self._computing(cell.hardware),
            "variant": _varying(cell.variant) | ({"bit_tensor": self.tensors[cell]} if cell in self.tensors else {}),
            **self.seeds_stated(cell, seed),
        }
        return Spec.read(asked)

    def seeds_stated(self, cell: Cell, seed: int) -> dict[str, int]:
        """The seeds in the spec of a run: the study's and its own, and its draw in a cell that has several."""
        draw = {"draw": seed // DRAW} if cell in self.draws else {}
        return {"study_seed": self.config["seed"], "seed": seed, **draw}

    def _leaving(self, outcomes: Collection[str]) -> dict[Cell, tuple[int, ...]]:
        """The cells whose runs have one of these kinds of outcome, with their seeds."""
        return {
            cell: seeds
            for cell, seeds in self.seeds.items()
            if programs.outcome_of_model(self.config, cell.model) in outcomes
        }

    def _computing(self, hardware: str) -> dict[str, Any]:
        """The entries of a tooling that may influence a run: all but the GPU model and constraint of a scheduler.

        The workflow's own environment has no name, so the key is kept only if a tooling names another environment.
        """
        tooling = {"name": hardware, **self.tooling(hardware)}
        of_the_site = ("gpu_model", "constraint")
        rest = {key: value for key, value in tooling.items() if key not in of_the_site}
        return {key: value for key, value in rest.items() if (key, value) != OWN_ENVIRONMENT}

    def profile_spec(self, profile: Profile) -> Spec:
        """Everything that may influence a measurement: the spec of a run, with images instead of a data set."""
        block = self.config["overhead"]
        # Adam at Keras's own rate, as in the authors' overhead_test.py.
        recipe = {"epochs": 1, "batch_size": block["batch_size"], "optimizer": "adam", "learning_rate": 0.001}
        asked = {
            "study_seed": self.config["seed"],
            "model": {"name": profile.model, **self.config["models"][profile.model]},
            "images": {key: block[key] for key in ("image_size", "channels", "classes")},
            "steps": {key: block[key] for key in ("warmup", "steps")},
            "recipe": {
                "name": "overhead",
                **config.complete_and_check(recipe, config.study_schema()["$defs"]["recipe"], "overhead"),
            },
            "hardware": self._computing(profile.hardware),
            "variant": {"name": profile.mode, "varying": list(MODES[profile.mode])},
            "seed": profile.repeat,
        }
        return Spec.read(asked)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Every data set, in the order of the grid."""
        return tuple(dict.fromkeys(cell.dataset for cell in self.seeds))

    def runs(self, pattern: str, cell: Cell) -> list[str]:
        """The path of a file of every run of a cell, in the order of the seeds."""
        return [self.path(pattern, cell, seed=str(seed)) for seed in self.seeds[cell]]

    def path(self, pattern: str, place: Place | None = None, **names: str) -> str:
        """The path of a file of the study, or of one of its places."""
        path = pattern.format(study=self.name, **(place._asdict() if place else {}), **names)
        return path.replace(f"results/{self.name}", self.folder, 1) if self.folder else path

    def lying_at(self, folder: Path) -> "Study":
        """The same study, with its results in another folder."""
        return replace(self, folder=str(folder))

    def batch_size(self, model: str, dataset: str) -> int:
        """The batch size that a task is trained with."""
        return self.config["recipes"][self.recipe_of[model, dataset]]["batch_size"]


def is_deterministic(cell: Cell) -> bool:
    """Whether the runs of a cell are deterministic."""
    return "impl" not in variant_named(cell.variant).varying


def _varying(name: str) -> dict[str, Any]:
    varying, bit_after = variant_named(name)
    moved = {"bit_after": bit_after} if "bit" in varying else {}
    return {"name": name, "varying": list(varying), **moved}
