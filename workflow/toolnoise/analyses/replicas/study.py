"""Toolings whose runs share a process: which they are, their blocks of runs, and what they refuse.

A tooling with `replicas: N` trains up to N runs of a cell in one process. With `at_once: true` one compiled step trains
all of them; otherwise they take turns, each with the program and the bits of a process of its own.
"""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.study import config, programs
from toolnoise.study.cells import Cell, Training
from toolnoise.study.entries import shares_process
from toolnoise.study.study import Study
from toolnoise.study.variants import variant

# What a recipe may not ask for: a run of a block keeps nothing but its last weights.
UNKEPT = {"cycles": 1, "record_steps": False}


def sharing(study: Study) -> list[Cell]:
    """The cells whose runs share processes."""
    return [cell for cell in study.cells if shares_process(study.tooling(cell.hardware))]


def blocks(study: Study) -> Iterator[tuple[Training, ...]]:
    """The runs of each process, in the order of their places."""
    for cell in sharing(study):
        runs = tuple(Training(*cell, seed) for seed in study.seeds[cell])
        if cell.variant == "control":
            # The control gate is to compare runs of different processes, too.
            yield runs[:1]
            runs = runs[1:]
        most = study.tooling(cell.hardware)["replicas"]
        yield from (runs[start : start + most] for start in range(0, len(runs), most))


def check_registry(name: str, entries: config.Config, file: str | Path) -> None:
    """Refuse an entry of a tooling that no process could share."""
    for tooling, entry in entries.items() if name == "hardware" else ():
        _require_possible(tooling, entry, "", file)


def check(given: config.Config, _claims: config.Config, file: str | Path) -> None:
    """Refuse what runs that share a process do not offer: noise of the implementation, moved bits, kept steps."""
    for name, entry in given["hardware"].items():
        _require_possible(name, entry, "hardware.", file)
    toolings, models, recipes, datasets = (
        config.registered(registry) | given[registry] for registry in ("hardware", "models", "recipes", "datasets")
    )
    for number, block in enumerate(given["grid"]):
        at = f"grid[{number}]"
        for tooling in (name for name in block["hardware"] if shares_process(toolings.get(name, {}))):
            for name in block["variants"]:
                known = variant(name)
                if known and not set(known.varying) <= set(ALGORITHMIC):
                    problem = f"found {name!r} on {tooling!r}, whose runs share a process"
                    allowed = f"control, algo and those of {', '.join(ALGORITHMIC)}"
                    raise BadInput(file, f"{at}.variants", problem, allowed)
            for model, dataset in itertools.product(block["models"], block["datasets"]):
                if programs.is_program(models.get(model, {})):
                    raise BadInput(file, f"{at}.hardware", f"found {tooling!r} for a program", "engine: command")
                if datasets.get(dataset, {}).get("streamed"):
                    problem = f"found {dataset!r}, which is streamed, on {tooling!r}, whose runs share a process"
                    raise BadInput(file, f"{at}.datasets", problem, "data that fits into memory")
                recipe = config.recipe_for(block.get("recipe", ""), model, dataset, recipes)
                _require_unkept(recipes.get(recipe, {}), f"recipe {recipe!r}", tooling, f"{at}.recipe", file)
    for name in given.get("overhead", {}).get("hardware", ()):
        if shares_process(toolings.get(name, {})):
            problem = f"found {name!r}, whose runs share a process"
            raise BadInput(file, "overhead.hardware", problem, "toolings without replicas")


def _require_unkept(recipe: Mapping[str, Any], named: str, tooling: str, key: str, file: str | Path) -> None:
    for asked, usual in UNKEPT.items():
        if recipe.get(asked, usual) != usual:
            problem = f"{named} has {asked}, and the runs of {tooling!r} share a process"
            raise BadInput(file, key, problem, f"recipes without {asked}")


def _require_possible(name: str, entry: Mapping[str, Any], at: str, file: str | Path) -> None:
    key = f"{at}{name}.replicas"
    if "at_once" in entry and "replicas" not in entry:
        raise BadInput(file, f"{at}{name}.at_once", "found it without replicas", "replicas beside it")
    if not shares_process(entry):
        return
    if entry["engine"] != "jax":
        raise BadInput(file, key, f"found it with engine {entry['engine']!r}", "engine: jax")
    if entry["precision"] == "mixed_float16":
        raise BadInput(file, key, "found it with precision 'mixed_float16'", "float32 or mixed_bfloat16")
