"""A study: from a resolved configuration to its cells, runs, specs, figures and targets.

Pure: nothing here reads or writes, and nothing heavy is imported, because the Snakefile is read again in every
cluster job. A spec is everything that may influence a run, so that its digest tells whether to train again.
"""

import itertools
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.datasets import sources
from toolnoise.study import catalogue, config, layout, remedy_sets
from toolnoise.study.catalogue import Figure
from toolnoise.study.variants import ALLOWED, variant

# Without implementation noise two toolings can be compared run by run: every algorithmic draw is equal.
PAIRABLE = ("control", "algo")

# How many times as long a deterministic run may take. Zhuang et al. measured up to 2.11 (figure 9a: networks, P100).
DETERMINISM = 2

# What the cost of determinism is measured between; as a variant, a mode is what may vary.
MODES = {"default": ("impl",), "deterministic": ()}

Spec = dict[str, Any]


class Cell(NamedTuple):
    """One training task on one tooling under one variant."""

    model: str
    dataset: str
    hardware: str
    variant: str


class Pair(NamedTuple):
    """Two toolings that train the same task from the same draws."""

    model: str
    dataset: str
    hardware: str
    other_hardware: str
    variant: str

    @property
    def reversed(self) -> "Pair":
        """The same two, the other first."""
        return self._replace(hardware=self.other_hardware, other_hardware=self.hardware)

    @property
    def cells(self) -> tuple[Cell, Cell]:
        """The cells on the two."""
        one, other = ((*self[:2], hardware, self.variant) for hardware in self[2:4])
        return Cell(*one), Cell(*other)


class Profile(NamedTuple):
    """One measurement of what a training step takes: a network on a tooling in a mode, in a process of its own."""

    model: str
    hardware: str
    mode: str
    repeat: int


@dataclass(frozen=True)
class Study:
    """A named grid: `seeds` maps each cell to its seeds and `recipe_of` each (model, dataset) to its recipe.

    `minutes` says how long a run of each cell may take on a cluster, `views` maps the cells that remedies are asked for
    to the sets of views that their block names, `layers` those whose layers are compared to the number of
    test examples.
    """

    name: str
    config: config.Config
    seeds: dict[Cell, tuple[int, ...]]
    minutes: dict[Cell, int]
    views: dict[Cell, tuple[str, ...]]
    recipe_of: dict[tuple[str, str], str]
    layers: dict[Cell, int]
    figures: tuple[Figure, ...]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Every cell, in the order of the grid."""
        return tuple(self.seeds)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every two toolings under a variant that leaves only the implementation to differ."""
        return _pairs(self.seeds)

    @property
    def frameworks(self) -> tuple[Pair, ...]:
        """Those of the pairs that compute with two frameworks."""
        return tuple(pair for pair in self.pairs if is_of_frameworks(pair, self.config))

    @property
    def exchanged(self) -> tuple[Pair, ...]:
        """What is trained on the first of two toolings and predicted on the other, of each of these both ways."""
        return tuple(way for pair in self.frameworks for way in (pair, pair.reversed))

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """Every measurement of the cost of determinism."""
        return tuple(
            Profile(network.model, network.hardware, mode, repeat)
            for network in self.networks
            for mode in MODES
            for repeat in range(1, self.config["overhead"]["repeats"] + 1)
        )

    @property
    def networks(self) -> tuple[Cell, ...]:
        """What these are measurements of: networks on toolings, with no data set and in both modes."""
        return _networks(self.config)

    @property
    def controls(self) -> tuple[Cell, ...]:
        """The cells whose replicates must be bit-equal."""
        return tuple(cell for cell in self.seeds if cell.variant == "control")

    def remedies(self, cell: Cell) -> tuple[str, ...]:
        """The remedies that are applied to the runs of a cell, by name."""
        if cell not in self.views:
            return ()
        return remedy_sets.remedies(self.views[cell], self.config["recipes"][self.recipe_of[cell[:2]]]["cycles"])

    def single(self, cell: Cell) -> Cell:
        """The cell whose runs, without a remedy, those of a cell under remedies are held against.

        Of a model M-snapshots it is that of M, if remedies are asked for it too.
        """
        return _single(cell, self.views)

    @property
    def alike(self) -> tuple[tuple[Cell, ...], ...]:
        """The cells in groups whose runs take the same time: of one task on one tooling, deterministic or not."""
        groups: dict[tuple[str, str, str, bool], tuple[Cell, ...]] = {}
        for cell in self.seeds:
            key = (*cell[:3], is_deterministic(cell))
            groups[key] = (*groups.get(key, ()), cell)
        return tuple(groups.values())

    @property
    def figure_kinds(self) -> tuple[str, ...]:
        """The notebooks that the study's figures come from."""
        return tuple(dict.fromkeys(figure.notebook for figure in self.figures))

    def tooling(self, hardware: str) -> Spec:
        """The registry entry of a tooling."""
        return self.config["hardware"][hardware]

    def emulated(self) -> tuple[str, ...]:
        """The toolings whose implementation noise is emulated."""
        return tuple(name for name, entry in self.config["hardware"].items() if _emulates(entry))

    def spec(self, cell: Cell, seed: int) -> Spec:
        """Everything that may influence a run, but for the data and the code, which have digests of their own."""
        recipe = self.recipe_of[cell[:2]]
        return {
            "study_seed": self.config["seed"],
            "model": {"name": cell.model, **self.config["models"][cell.model]},
            "dataset": {"name": cell.dataset, **self.config["datasets"][cell.dataset]},
            "recipe": {"name": recipe, **self.config["recipes"][recipe]},
            "hardware": self._computing(cell.hardware),
            "variant": _varying(cell.variant),
            "seed": seed,
        }

    def _computing(self, hardware: str) -> Spec:
        """A tooling as far as it may influence a run: what a site's scheduler calls its GPU may not."""
        return {"name": hardware} | {key: value for key, value in self.tooling(hardware).items() if key != "gpu_model"}

    def profile_spec(self, profile: Profile) -> Spec:
        """Everything that may influence a measurement: what a run's spec has, with images instead of a data set."""
        block = self.config["overhead"]
        # Adam at Keras's own rate, as in the authors' overhead_test.py.
        recipe = {"epochs": 1, "batch_size": block["batch_size"], "optimizer": "adam", "learning_rate": 0.001}
        return {
            "study_seed": self.config["seed"],
            "model": {"name": profile.model, **self.config["models"][profile.model]},
            "images": {key: block[key] for key in ("image_size", "channels", "classes")},
            "steps": {key: block[key] for key in ("warmup", "steps")},
            "recipe": {"name": "overhead", **config.complete(recipe, config.schema()["$defs"]["recipe"], "overhead")},
            "hardware": self._computing(profile.hardware),
            "variant": {"name": profile.mode, "varying": list(MODES[profile.mode])},
            "seed": profile.repeat,
        }

    def modules(self, cell: Cell | Profile) -> tuple[str, str]:
        """The modules that a run of a cell names in its spec: its engine and its model's builder."""
        return modules({"hardware": self.tooling(cell.hardware), "model": self.config["models"][cell.model]})

    @property
    def collected(self) -> dict[str, str]:
        """The metric files of the study as a whole, by kind."""
        return {kind: self.path(layout.COLLECTED[kind]) for kind, files in self.metric_files().items() if files}

    def figure_files(self, figure: Figure) -> list[str]:
        """Every file of a figure: its executed notebook and what that writes, in the order of the formats."""
        stem = self.path(layout.FIGURE, figure=figure.name)
        suffixes = catalogue.KINDS[figure.notebook].formats
        return [self.path(layout.NOTEBOOK, figure=figure.name), *(f"{stem}.{suffix}" for suffix in suffixes)]

    @property
    def datasets(self) -> tuple[str, ...]:
        """Every data set, in the order of the grid."""
        return tuple(dict.fromkeys(cell.dataset for cell in self.seeds))

    def sources(self, dataset: str) -> list[sources.Source]:
        """The files from outside that a data set is prepared from."""
        return sources.sources(self.config["datasets"][dataset])

    def raw_data(self, dataset: str) -> list[str]:
        """The files among these that must be there from the start, because they are the user's own."""
        return [source["path"] for source in self.sources(dataset) if sources.is_own(source)]

    def runs(self, pattern: str, cell: Cell) -> list[str]:
        """A path of every run of a cell, in the order of its seeds."""
        return [pattern.format(study=self.name, seed=seed, **cell._asdict()) for seed in self.seeds[cell]]

    def path(self, pattern: str, place: Cell | Pair | Profile | None = None, **names: str) -> str:
        """A path of the study, or of a part of it."""
        return pattern.format(study=self.name, **(place._asdict() if place else {}), **names)

    def batch_size(self, model: str, dataset: str) -> int:
        """The batch size that a task is trained with."""
        return self.config["recipes"][self.recipe_of[model, dataset]]["batch_size"]

    def metric_files(self, figure: Figure | None = None) -> dict[str, list[str]]:
        """The metric files of every part of the study, or of what a figure shows, by kind."""

        def shown(places: tuple[Any, ...]) -> list[Any]:
            return [place for place in places if figure is None or figure.shows(place)]

        cells, pairs, networks = shown(self.cells), shown(self.pairs), shown(self.networks)
        frameworks = shown(self.frameworks)
        datasets = self.datasets if figure is None else dict.fromkeys(dataset for _, dataset in figure.tasks if dataset)
        return {
            "stability": [self.path(layout.CELL_METRICS, cell) for cell in cells],
            "counts": [self.path(layout.COUNTS, dataset=dataset) for dataset in datasets],
            "identical": [self.path(layout.CELL_IDENTICAL, cell) for cell in cells],
            "ensembles": [self.path(layout.CELL_ENSEMBLES, cell) for cell in cells],
            "cross_tooling": [self.path(layout.PAIR_METRICS, pair) for pair in pairs],
            "frameworks": [self.path(layout.FRAMEWORK_METRICS, pair) for pair in frameworks],
            "partings": [self.path(layout.FRAMEWORK_PARTINGS, pair) for pair in frameworks],
            "remedies": [self.path(layout.CELL_REMEDIES, cell) for cell in cells if cell in self.views],
            "layers": [self.path(layout.LAYER_METRICS, cell) for cell in cells if cell in self.layers],
            "overhead": [self.path(layout.NETWORK_OVERHEAD, network) for network in networks],
            "kernels": [self.path(layout.NETWORK_KERNELS, network) for network in networks],
        }

    def gates(self, figure: Figure | None = None) -> list[str]:
        """The verdicts on the control cells of the study, or on those that a figure shows."""
        return [self.path(layout.GATE, cell) for cell in self.controls if figure is None or figure.shows(cell)]


def modules(spec: Spec) -> tuple[str, str]:
    """The modules that a spec names: its engine and its model's builder."""
    return f"toolnoise.engines.{spec['hardware']['engine']}", spec["model"]["builder"].partition(":")[0]


def is_of_frameworks(pair: Pair, resolved: config.Config) -> bool:
    """Whether two toolings compute with two frameworks."""
    one, other = (resolved["hardware"][hardware]["engine"] for hardware in (pair.hardware, pair.other_hardware))
    return one != other


def is_deterministic(cell: Cell) -> bool:
    """Whether the runs of a cell switch determinism on."""
    return "impl" not in variant(cell.variant).varying


def load(path: str | Path) -> Study:
    """The study in a configuration file, as written or as resolved."""
    return build(config.read(path), path)


def build(resolved: config.Config, file: str | Path) -> Study:
    """The study of a resolved configuration; an impossible grid is told in one line that names `file`."""
    whole = _build(resolved, file)
    # What `only` leaves out has been checked by then, under the places at which it stands in the file.
    return _build(config.narrowed(resolved, file), file) if "only" in resolved else whole


def _build(resolved: config.Config, file: str | Path) -> Study:
    seeds: dict[Cell, tuple[int, ...]] = {}
    minutes: dict[Cell, int] = {}
    sets: dict[Cell, tuple[str, ...]] = {}
    recipe_of: dict[tuple[str, str], str] = {}
    layers: dict[Cell, int] = {}
    for number, block in enumerate(resolved["grid"]):
        where = f"grid[{number}]"
        block_seeds = block["seeds"]
        if isinstance(block_seeds, int):
            block_seeds = range(1, block_seeds + 1)
        for cell in _product(block):
            found = variant(cell.variant)
            if found is None:
                raise BadInput(file, f"{where}.variants", f"unknown variant {cell.variant!r}", ALLOWED)
            if "impl" in found.varying:
                _require_noise(cell, resolved["hardware"][cell.hardware], f"{where}.variants", file)
            if cell in seeds:
                raise BadInput(file, where, f"{'/'.join(cell)} stands in an earlier block", "each cell stands once")
            seeds[cell] = tuple(block_seeds)
            minutes[cell] = block["minutes"] * (DETERMINISM if is_deterministic(cell) else 1)
            if "remedies" in block:
                sets[cell] = tuple(block["remedies"])
            if "layers" in block:
                layers[cell] = block["layers"]
            recipe = config.recipe_for(block["recipe"], cell.model, cell.dataset, resolved["recipes"])
            if found.bit_after >= (epochs := resolved["recipes"][recipe]["epochs"]):
                allowed = f"fewer than the {epochs} epochs of recipe {recipe!r}"
                raise BadInput(file, f"{where}.variants", f"found {cell.variant!r}", allowed)
            before = recipe_of.setdefault(cell[:2], recipe)
            if recipe != before:
                task = "/".join(cell[:2])
                found = f"{task} has recipe {recipe!r} here and {before!r} before"
                raise BadInput(file, f"{where}.recipe", found, "one recipe for a model on a data set in a study")
    for number, hardware in enumerate(resolved.get("overhead", {}).get("hardware", [])):
        if resolved["hardware"][hardware]["accelerator"] == "tpu":
            found = f"{hardware!r} is a TPU, which is deterministic either way"
            raise BadInput(file, f"overhead.hardware[{number}]", found, "toolings whose accelerator is cpu or gpu")
    remedied = {cell: _single(cell, sets) for cell in sets}
    pairs = _pairs(seeds)
    frameworks = tuple(pair for pair in pairs if is_of_frameworks(pair, resolved))
    networks = _networks(resolved)
    possible = catalogue.possible(resolved, seeds, pairs, recipe_of, networks, remedied, layers, frameworks)
    kinds = resolved.get("figures")
    if kinds and "only" in resolved:
        # What is left need not feed every figure that was asked for.
        kinds = [kind for kind in kinds if possible[kind]]
    shown = catalogue.chosen(possible, kinds, file)
    return Study(resolved["study"], resolved, seeds, minutes, sets, recipe_of, layers, tuple(shown))


def _product(block: config.Config) -> Iterator[Cell]:
    # The variant turns fastest: a reader of a metric file finds what to compare side by side.
    return itertools.starmap(
        Cell, itertools.product(block["models"], block["datasets"], block["hardware"], block["variants"])
    )


def _networks(resolved: config.Config) -> tuple[Cell, ...]:
    block = resolved.get("overhead", {"models": [], "hardware": []})
    return tuple(
        Cell(model, "", hardware, "") for model, hardware in itertools.product(block["models"], block["hardware"])
    )


def _single(cell: Cell, remedied: Container[Cell]) -> Cell:
    other = cell._replace(model=cell.model.removesuffix(f"-{remedy_sets.SNAPSHOTS}"))
    return other if other in remedied else cell


def _pairs(seeds: dict[Cell, tuple[int, ...]]) -> tuple[Pair, ...]:
    return tuple(
        Pair(one.model, one.dataset, one.hardware, other.hardware, one.variant)
        for one, other in itertools.combinations(seeds, 2)
        if one.variant == other.variant
        and one.variant in PAIRABLE
        and one[:2] == other[:2]
        and not set(seeds[one]).isdisjoint(seeds[other])
    )


def _varying(name: str) -> Spec:
    varying, bit_after = variant(name)
    moved = {"bit_after": bit_after} if "bit" in varying else {}
    return {"name": name, "varying": list(varying), **moved}


def _require_noise(cell: Cell, tooling: Spec, key: str, file: str | Path) -> None:
    if tooling["impl_noise"] == "none":
        found = f"{cell.variant!r} on {cell.hardware!r}, whose impl_noise is 'none'"
        raise BadInput(file, key, found, "variants without impl, or a tooling with impl_noise")


def _emulates(tooling: Spec) -> bool:
    return tooling["impl_noise"] == "reduction-order"
