"""Builds a study from a resolved configuration: checks and expands the blocks of its grid, and lists its figures."""

import contextlib
import functools
import itertools
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import DRAW
from toolnoise.datasets.sources import keeps_originals
from toolnoise.formulas.outcomes import OUTCOMES
from toolnoise.study import config, entries, programs
from toolnoise.study.cells import Cell
from toolnoise.study.figure_kinds import KINDS, Grid, Subject
from toolnoise.study.remedies import largest_shift
from toolnoise.study.study import Figure, Study, is_deterministic
from toolnoise.study.variants import ALLOWED, Variant, has_draws, variant_named

# The allowed slowdown of a deterministic run. Zhuang et al. measured up to 2.11 (figure 9a: networks, P100).
DETERMINISM = 2


def load_study(path: str | Path) -> Study:
    """Read a study: from the configuration that a user wrote, or from the study.json among its results.

    Studies are cached per process. A file is read again if its size, times or inode, or the working folder, changes.
    """
    version = ()
    # `config.read_configuration` reports a file that cannot be read.
    with contextlib.suppress(OSError):
        stat = Path(path).stat()
        version = (str(Path.cwd()), stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
    return _loaded(str(path), version)


@functools.lru_cache(maxsize=8)
def _loaded(path: str, _version: tuple[object, ...]) -> Study:
    return build_study(config.read_configuration(path), path)


def build_study(resolved: config.Config, file: str | Path) -> Study:
    """The study of a resolved configuration; an impossible grid is a one-line error that names `file`."""
    whole = _build(resolved, file)
    # At this point the part that `only` excludes has been checked, too, with its keys in the file.
    return _build(config.narrow_to_toolings(resolved, file), file) if "only" in resolved else whole


def _build(resolved: config.Config, file: str | Path) -> Study:
    seeds: dict[Cell, tuple[int, ...]] = {}
    draws: dict[Cell, int] = {}
    minutes: dict[Cell, int] = {}
    sets: dict[Cell, tuple[str, ...]] = {}
    recipe_of: dict[tuple[str, str], str] = {}
    layers: dict[Cell, int] = {}
    tensors: dict[Cell, str] = {}
    excluded: dict[str, list[Cell]] = {}
    for number, block in enumerate(resolved["grid"]):
        where = f"grid[{number}]"
        block_seeds = block["seeds"]
        if isinstance(block_seeds, int):
            block_seeds = range(1, block_seeds + 1)
        # The variant varies fastest: rows to compare are adjacent in a metric file.
        parts = (block[key] for key in ("models", "datasets", "hardware", "variants"))
        for cell in itertools.starmap(Cell, itertools.product(*parts)):
            cell_variant = _variant(cell, resolved, f"{where}.variants", file)
            if cell in seeds:
                raise BadInput(file, where, f"{'/'.join(cell)} is already in an earlier block", "each cell once")
            seeds[cell] = tuple(block_seeds[: block["control_seeds"]] if cell.variant == "control" else block_seeds)
            if block["draws"] > 1 and has_draws(cell_variant):
                _require_small(block, where, file)
                draws[cell] = block["draws"]
                seeds[cell] = tuple(draw * DRAW + seed for draw in range(1, block["draws"] + 1) for seed in block_seeds)
            minutes[cell] = block["minutes"] * (DETERMINISM if is_deterministic(cell) else 1)
            if "remedies" in block:
                sets[cell] = tuple(block["remedies"])
            if "layers" in block:
                layers[cell] = block["layers"]
            if "bit_tensor" in block and "bit" in cell_variant.varying:
                tensors[cell] = block["bit_tensor"]
            for kind in block["excluded_from"]:
                excluded.setdefault(kind, []).append(cell)
            if programs.is_program(resolved["models"][cell.model]):
                continue
            recipe = config.recipe_for(block["recipe"], cell.model, cell.dataset, resolved["recipes"])
            if cell_variant.bit_after >= (epochs := resolved["recipes"][recipe]["epochs"]):
                allowed = f"fewer than the {epochs} epochs of recipe {recipe!r}"
                raise BadInput(file, f"{where}.variants", f"found {cell.variant!r}", allowed)
            _require_movable(block, cell, recipe, resolved, where, file)
            before = recipe_of.setdefault(cell.task, recipe)
            if recipe != before:
                clash = f"{'/'.join(cell.task)} has recipe {recipe!r} here and {before!r} before"
                raise BadInput(file, f"{where}.recipe", clash, "one recipe per model and data set in a study")
    seeds = {cell: seeds[cell] for cell in _together(seeds)}
    parts = (seeds, draws, minutes, sets, recipe_of, layers, tensors)
    study = Study(resolved["study"], resolved, *parts, figures=())
    _require_gpus(study, file)
    _require_networks(study, file)
    _require_bases(study, file)
    return replace(study, figures=_figures_of(Grid(study, study.classifying), excluded, file))


def _variant(cell: Cell, resolved: config.Config, key: str, file: str | Path) -> Variant:
    """The variant of a cell; refused if it is unknown, or if the model or tooling cannot have it."""
    cell_variant, model = variant_named(cell.variant), resolved["models"][cell.model]
    if cell_variant is None:
        raise BadInput(file, key, f"unknown variant {cell.variant!r}", ALLOWED)
    if programs.is_program(model):
        programs.require_separable(model, cell.model, cell_variant.varying, key, file)
    if "impl" in cell_variant.varying and resolved["hardware"][cell.hardware]["impl_noise"] == "none":
        noiseless = f"{cell.variant!r} on {cell.hardware!r}, whose impl_noise is 'none'"
        raise BadInput(file, key, noiseless, "variants without impl, or a tooling with impl_noise")
    return cell_variant


def _require_movable(
    block: config.Config, cell: Cell, recipe: str, resolved: config.Config, where: str, file: str | Path
) -> None:
    """Refuse augmentation and remedies that the data set does not allow, before anything is trained."""
    dataset = resolved["datasets"][cell.dataset]
    if "resized_crop" in resolved["recipes"][recipe] and not keeps_originals(dataset):
        problem = f"recipe {recipe!r} has resized_crop, and data set {cell.dataset!r} keeps no originals"
        raise BadInput(file, f"{where}.recipe", problem, "stored_size: original")
    views = block.get("remedies", ())
    # The crop of an original is 7/8 of its shorter side, so it can shift by 1/14 of its own size.
    most = dataset["image_size"] // 14 if keeps_originals(dataset) else math.inf
    if far := [name for name in views if largest_shift(name) > most]:
        problem = f"found {', '.join(far)}, and data set {cell.dataset!r} keeps originals"
        raise BadInput(file, f"{where}.remedies", problem, f"shifts of at most {most} pixels")
    kind = entries.outcome_of_dataset(dataset)
    if OUTCOMES[kind].augmentable:
        return
    for key in ("crop", "flip"):
        if found := resolved["recipes"][recipe].get(key):
            problem = f"recipe {recipe!r} has {key}: {str(found).lower()}, and data set {cell.dataset!r} has {kind}"
            raise BadInput(file, f"{where}.recipe", problem, f"recipes without {key}")
    if views:
        problem = f"found {', '.join(views)}, and data set {cell.dataset!r} has {kind}"
        raise BadInput(file, f"{where}.remedies", problem, "[], which measures snapshots alone")


def _require_bases(study: Study, file: str | Path) -> None:
    """Refuse a base that is not a run of the grid, or that itself starts from a base."""
    known = {cell for cell in study.cells if not study.is_program(cell) and study.base(cell.model) is None}
    for model in dict.fromkeys(cell.model for cell in study.cells):
        base = study.base(model)
        if base and (base.cell not in known or base.seed not in study.seeds[base.cell]):
            allowed = "a run of a cell of the grid, of a network that is built here and has no base"
            raise BadInput(file, f"models.{model}.base", f"found {'/'.join(map(str, base))}", allowed)


def _together(cells: Collection[Cell]) -> list[Cell]:
    """The cells in their order, except that those of one task, and of one task on one tooling, are adjacent."""
    first: dict[tuple[str, ...], int] = {}
    for place, cell in enumerate(cells):
        for part in (cell[:2], cell[:3]):
            first.setdefault(part, place)
    return sorted(cells, key=lambda cell: (first[cell[:2]], first[cell[:3]]))


def _require_small(block: config.Config, where: str, file: str | Path) -> None:
    seeds = block["seeds"]
    largest = seeds if isinstance(seeds, int) else max(seeds)
    if largest >= DRAW:
        raise BadInput(file, f"{where}.seeds", f"found seed {largest} with draws", f"seeds below {DRAW}")
    for key in ("remedies", "layers"):
        if key in block:
            raise BadInput(file, f"{where}.{key}", "found it with draws", "a block of its own, without draws")


def _require_gpus(study: Study, file: str | Path) -> None:
    for number, hardware in enumerate(study.config.get("overhead", {}).get("hardware", [])):
        if study.tooling(hardware)["accelerator"] == "tpu":
            problem = f"{hardware!r} is a TPU, which is deterministic either way"
            raise BadInput(file, f"overhead.hardware[{number}]", problem, "toolings whose accelerator is cpu or gpu")


def _require_networks(study: Study, file: str | Path) -> None:
    """Refuse an `overhead.except` that names an unknown model or leaves no network."""
    block = study.config.get("overhead", {})
    for hardware, models in block.get("except", {}).items():
        for model in models:
            if model not in block["models"]:
                allowed = f"among {', '.join(block['models'])}"
                raise BadInput(file, f"overhead.except.{hardware}", f"found {model!r}", allowed)
    if block and not study.networks:
        raise BadInput(file, "overhead.except", "it leaves no network to measure", "at least one on one tooling")


def possible_figures(
    grid: Grid, excluded: Mapping[str, Collection[Cell]] = MappingProxyType({})
) -> dict[str, tuple[Figure, ...]]:
    """The figures of each kind that a study's cells and networks have data for; `excluded` maps kinds to cells."""
    of_kind = {}
    for name in KINDS:
        hidden = excluded.get(name, ())
        of_kind[name] = tuple(
            figure._replace(excluded=tuple(cell for cell in hidden if figure.shows(cell)))
            for figure in _figures(name, grid.without(hidden))
        )
    return of_kind


def _figures_of(grid: Grid, excluded: Mapping[str, Collection[Cell]], file: str | Path) -> tuple[Figure, ...]:
    """The figures of the kinds that a study requests, or of every kind; a requested kind without data is refused."""
    figures, requested = possible_figures(grid, excluded), grid.config.get("figures")
    for number, kind in enumerate(requested or ()):
        if kind not in figures:
            raise BadInput(file, f"figures[{number}]", f"found {kind!r}", f"allowed: {', '.join(sorted(figures))}")
        # A grid that `only` narrows may lack the data for a requested figure.
        if not figures[kind] and "only" not in grid.config:
            raise BadInput(file, "figures", f"the grid has no data for {kind!r}", f"it needs {KINDS[kind].needs}")
    return tuple(itertools.chain.from_iterable(figures[kind] for kind in (figures if requested is None else requested)))


def _figures(name: str, grid: Grid) -> Iterator[Figure]:
    """The figures of a kind: one for all cells that it shows, or one for each part if the kind has a `split`."""
    kind = KINDS[name]
    parts: dict[str, list[Subject]] = {}
    for cell in kind.shows(grid):
        parts.setdefault(f"{name}-{kind.split(grid, cell)}" if kind.split else name, []).append(cell)
    for figure, members in parts.items():
        hardware = dict.fromkeys(cell.hardware for cell in members)
        tasks = dict.fromkeys(cell.task for cell in members)
        yield Figure(figure, name, tuple(hardware), tuple(tasks))
