"""Reads a configuration strictly, completes it from registries and defaults, and checks it; errors are one line.

`resolve` turns a user's configuration into a complete study: every name is replaced by its registry entry and every
default is written out. The result is itself a valid configuration and resolves to itself, so the copy kept with the
results is complete.
"""

import difflib
import functools
import itertools
import json
import re
import sys
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema

from toolnoise.base import files
from toolnoise.base.errors import BadInput, fault_name
from toolnoise.base.program import ROOT
from toolnoise.datasets.readers import READERS
from toolnoise.study import environments, layout, programs, remedies, strict_yaml

REGISTRIES = ("models", "datasets", "recipes", "hardware")

Config = dict[str, Any]


def read_yaml(path: str | Path) -> Any:
    """Read a YAML or JSON file strictly; errors in YAML are reported with their line.

    Files that end in .json are read as JSON: YAML 1.1 reads JSON's 5e-05 as text.
    """
    try:
        text = files.read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        why = fault_name(error) if isinstance(error, OSError) else error
        raise BadInput(path, "", f"cannot be read ({why})") from None
    is_json = Path(path).suffix == ".json"
    try:
        return files.parse_json(text) if is_json else strict_yaml.load_yaml(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(path, "", str(error), "expected JSON" if is_json else "") from None


def read_configuration(path: str | Path) -> Config:
    """Read a configuration file and resolve it."""
    return resolve(read_yaml(path), path)


def resolve(config: object, file: str | Path) -> Config:
    """Complete and check a configuration; errors name it as `file`."""
    config = complete_and_check(_over_registries(_without_parked(config, file)), study_schema(), file)
    if not config["grid"] and "overhead" not in config:
        raise BadInput(file, "grid", "found []", "allowed: a list of blocks; empty if there is `overhead` to measure")
    _require_possible_recipes(config["recipes"], "recipes.", file)
    _settle_control_seeds(config["grid"], file)
    for name, entry in config["datasets"].items():
        if isinstance(targets := entry.get("targets"), list) and entry["target"] not in targets:
            allowed = f"one of targets: {', '.join(targets)}"
            raise BadInput(file, f"datasets.{name}.target", f"found {entry['target']!r}", allowed)
    programs.require_possible(config["models"], file)
    for name in config["claims"].keys() & registry_entries("claims"):
        raise BadInput(file, f"claims.{name}", "a claim of resources/claims.yaml has this name", "a name of its own")
    for name in config.get("judged", ()):
        _require_known("claim", name, {**registry_entries("claims"), **config["claims"]}, "judged", file)
    known = {registry: {**registry_entries(registry), **config[registry]} for registry in REGISTRIES}
    named: dict[str, list[str]] = {registry: [] for registry in REGISTRIES}
    for key, registry, names in _mentions(config):
        for name in names:
            _require_known("name", name, known[registry], key, file)
            named[registry].append(name)
    recipes = known["recipes"]
    for number, block in enumerate(config["grid"]):
        if programs.of_block(block, known["models"], f"grid[{number}]", file):
            continue
        if "recipe" not in block:
            raise BadInput(file, f"grid[{number}]", "lacks the key 'recipe'", _one_of(recipes))
        for model, dataset in itertools.product(block["models"], block["datasets"]):
            name = recipe_for(block["recipe"], model, dataset, recipes)
            if name is None:
                problem = f"no recipe {block['recipe']!r} for {model} on {dataset}{_nearest(block['recipe'], recipes)}"
                raise BadInput(file, f"grid[{number}].recipe", problem, _one_of(recipes))
            named["recipes"].append(name)
    for name in config["prices"]:
        _require_known("name", name, known["hardware"], "prices", file)
    for registry in REGISTRIES:
        config[registry] = {name: known[registry][name] for name in named[registry]}
    programs.require_fitting(config, file)
    return config


# Obsolete keys in the blocks of study.json files of earlier versions, with the value that means "not used".
PARKED = {"atlas": False}


def _without_parked(config: object, file: str | Path) -> object:
    """The study.json of an earlier version without obsolete keys of blocks; other configurations are unchanged."""
    blocks = config.get("grid") if isinstance(config, dict) and _is_kept(file) else None
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        return config
    kept = [{key: block[key] for key in block if (key, block[key]) not in PARKED.items()} for block in blocks]
    return {**config, "grid": kept}


def _is_kept(file: str | Path) -> bool:
    """Whether a configuration file is the study.json that is kept with results."""
    return Path(file).name == Path(layout.STUDY).name


# Two runs of Control are enough to show that nothing varies.
CONTROL_SEEDS = 2


def _settle_control_seeds(blocks: list[Config], file: str | Path) -> None:
    """Write out `control_seeds` in each block with Control: how many of the block's seeds Control uses."""
    for number, block in enumerate(blocks):
        if "control" not in block["variants"]:
            continue
        given = block["seeds"]
        seeds = given if isinstance(given, int) else len(given)
        # In versions that wrote a study.json without this key, Control used all seeds of its block.
        every = block["variants"] == ["control"] or _is_kept(file)
        asked = block.setdefault("control_seeds", seeds if every else min(CONTROL_SEEDS, seeds))
        if asked > seeds:
            key = f"grid[{number}].control_seeds"
            raise BadInput(file, key, f"found {asked} with {seeds} seeds", "at most the seeds of the block")


def _mentions(config: Config) -> Iterator[tuple[str, str, list[str]]]:
    """The places where a configuration names registry entries (except recipes): key, registry and names."""
    for number, block in enumerate(config["grid"]):
        for registry in ("models", "datasets", "hardware"):
            yield f"grid[{number}].{registry}", registry, block[registry]
    if "overhead" in config:
        for registry in ("models", "hardware"):
            yield f"overhead.{registry}", registry, config["overhead"][registry]
        yield "overhead.except", "hardware", list(config["overhead"].get("except", {}))


def recipe_for(recipe: str, model: str, dataset: str, known: Container[str]) -> str | None:
    """The recipe that a block's `recipe` selects for a model and a data set: the most specific known name, or None."""
    names = (f"{recipe}-{model}-{dataset}", f"{recipe}-{dataset}", recipe)
    return next((name for name in names if name in known), None)


def narrow_to_toolings(config: Config, file: str | Path) -> Config:
    """A resolved configuration restricted to the toolings named in its `only`."""
    only, blocks = config["only"], [*config["grid"], *([config["overhead"]] if "overhead" in config else [])]
    known = list(dict.fromkeys(name for block in blocks for name in block["hardware"]))
    for name in only:
        if name not in known:
            raise BadInput(file, "only", f"no tooling {name!r} in the study", f"allowed: {', '.join(known)}")
    rest = config | {"grid": _on(only, config["grid"])}
    for overhead in _on(only, [rest.pop("overhead")] if "overhead" in rest else []):
        rest["overhead"] = overhead
    return resolve(rest, file)


def _on(toolings: list[str], blocks: list[Config]) -> list[Config]:
    """Blocks restricted to these toolings; a block that has none of them is dropped."""
    kept = (block | {"hardware": [name for name in block["hardware"] if name in toolings]} for block in blocks)
    return [block for block in kept if block["hardware"]]


def complete_and_check(value: object, rules: Mapping[str, Any], file: str | Path) -> Any:
    """Check a value against a schema and return it with the defaults filled in."""
    validator = _Validator({**rules, "$defs": study_schema()["$defs"]})
    try:
        value = json.loads(json.dumps(value))
    except (TypeError, ValueError) as error:
        problem = f"has a value that JSON cannot hold ({error})"
        raise BadInput(file, "", problem, "allowed: plain numbers, text, lists") from None
    errors = sorted(validator.iter_errors(value), key=lambda error: [str(part) for part in error.absolute_path])
    if errors:
        raise _complaint(errors[0], file)
    return value


@functools.cache
def study_schema() -> Config:
    """The schema of a configuration, with the available readers, kinds of figures and sets of views."""
    rules = read_yaml(ROOT / "workflow/schemas/config.schema.yaml")
    rules["$defs"]["dataset"]["properties"]["reader"]["enum"] = [*READERS, programs.READER]
    rules["$defs"]["tooling"]["properties"]["environment"]["enum"] = ["", *environments.known_environments()]
    # Each notebook is a kind of figure.
    kinds = [path.stem for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    rules["$defs"]["block"]["properties"]["excluded_from"]["items"]["enum"] = kinds
    rules["$defs"]["block"]["properties"]["remedies"]["items"]["enum"] = list(remedies.SETS)
    return rules


def _over_registries(config: object) -> object:
    """Merge each entry of a configuration into the registry's entry of that name, key by key."""
    if not isinstance(config, dict):
        return config
    laid = {}
    for registry in REGISTRIES:
        entries = config.get(registry)
        if isinstance(entries, dict):
            laid[registry] = {
                name: {**registry_entries(registry).get(name, {}), **entry} if isinstance(entry, dict) else entry
                for name, entry in entries.items()
            }
    return {**config, **laid}


@functools.cache
def registry_entries(name: str) -> Config:
    """All entries of a registry in resources/, complete."""
    path = ROOT / "resources" / f"{name}.yaml"
    entries = complete_and_check(read_yaml(path), study_schema()["properties"][name], path)
    if name == "recipes":
        _require_possible_recipes(entries, "", path)
    return entries


def _require_possible_recipes(recipes: Config, at: str, file: str | Path) -> None:
    for name, recipe in recipes.items():
        for bounds, values in recipe.get("resized_crop", {}).items():
            if isinstance(values, list) and values[0] > values[1]:
                raise BadInput(file, f"{at}{name}.resized_crop.{bounds}", f"found {values}", "the lower first")
        if recipe["epochs"] % recipe["cycles"]:
            allowed = f"a divisor of its {recipe['epochs']} epochs"
            raise BadInput(file, f"{at}{name}.cycles", f"found {recipe['cycles']}", allowed)


_VALIDATORS = jsonschema.Draft202012Validator.VALIDATORS


def _check_keys(validator, properties, instance, rules):  # noqa: ANN001, ANN202 (jsonschema's own signature)
    """Fill in defaults, and refuse a key if another key lacks the value that its schema requires (`with`)."""
    if isinstance(instance, dict):
        for name, rule in properties.items():
            if "default" in rule:
                instance.setdefault(name, json.loads(json.dumps(rule["default"])))
        for name in instance.keys() & properties:
            for other, values in properties[name].get("with", {}).items():
                if instance.get(other) not in values:
                    found = f"found it{_beside(instance, other)}"
                    yield jsonschema.ValidationError(found, "with", [name], validator_value={other: values})
    yield from _VALIDATORS["properties"](validator, properties, instance, rules)


def _check_condition(validator, condition, instance, rules):  # noqa: ANN001, ANN202 (jsonschema's own signature)
    """Add the values that met a condition to the errors that follow from the condition."""
    for error in _VALIDATORS["if"](validator, condition, instance, rules):
        error.beside = _beside(instance, *condition.get("properties", ()))
        yield error


def _beside(instance: Config, *names: str) -> str:
    values = {name: instance.get(name, "missing") for name in names}
    shown = (
        f"{name} {value!r}" if isinstance(value, str) else f"{name}: {json.dumps(value)}"
        for name, value in values.items()
    )
    return f" with {', '.join(shown)}" if names else ""


def _is_integer(_checker: object, value: object) -> bool:
    # JSON Schema accepts 5.0 as an integer; here a number of seeds or epochs must be written as an integer.
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(_checker: object, value: object) -> bool:
    # Refuse YAML's .nan and .inf, and integers that are too large for a float.
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


# Control characters of terminals, the null character (invalid in paths) and surrogates (invalid in files).
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def _is_text(_checker: object, value: object) -> bool:
    return isinstance(value, str) and not _HIDDEN.search(value)


_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    {"properties": _check_keys, "if": _check_condition},
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"integer": _is_integer, "number": _is_number, "string": _is_text}
    ),
)


_KINDS = {"object": "a mapping", "array": "a list"}


def _complaint(error: jsonschema.ValidationError, file: str | Path) -> BadInput:
    beside = getattr(error, "beside", "")
    key = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path).lstrip(".")
    if error.validator == "additionalProperties":
        known = list(error.schema["properties"])
        unknown = next(name for name in error.instance if name not in known)
        return BadInput(file, key, f"unknown key {unknown!r}{_nearest(unknown, known)}", _one_of(known))
    if error.validator == "with":
        ((other, values),) = error.validator_value.items()
        return BadInput(file, key, error.message, f"{other}: {' or '.join(map(str, values))}")
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return BadInput(
            file, key, f"lacks the key {missing!r}{beside}", f"required: {', '.join(error.validator_value)}"
        )
    shown = json.dumps(error.instance)
    problem = f"found {shown if len(shown) <= 60 else shown[:57] + '...'}{beside}"
    if error.validator == "enum":
        return BadInput(file, key, problem, _one_of([value for value in error.validator_value if value != ""]))
    kinds = error.schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    allowed = error.schema.get("description") or " or ".join(_KINDS.get(kind, kind) for kind in kinds)
    return BadInput(file, key, problem, f"allowed: {allowed}")


def _require_known(what: str, name: str, known: Collection[str], key: str, file: str | Path) -> None:
    if name not in known:
        raise BadInput(file, key, f"unknown {what} {name!r}{_nearest(name, known)}", _one_of(known))


def _nearest(name: str, known: Collection[str]) -> str:
    near = difflib.get_close_matches(str(name), list(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _one_of(values: Iterable[object]) -> str:
    shown = (value if isinstance(value, str) else json.dumps(value) for value in values)
    return "allowed: " + ", ".join(sorted(shown))
