"""Existing training programs in a study: models with a command, on toolings and data sets that belong to them.

A program has no recipe, and its tooling runs nothing but programs. Its data set comes from its outputs.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toolnoise.base import command_words
from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.formulas.outcomes import LOGITS

# The engine of toolings for programs, and the reader of data sets that come from their outputs.
ENGINE, READER = "command", "outcome"
BELONGING = {"hardware": ("engine", ENGINE), "datasets": ("reader", READER)}
# The recipe in the spec of a run: the program has its own.
RECIPE = {"name": "program"}
# On a CPU the number of threads influences bits, and without a limit libraries use all cores.
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
# The kinds of models, each with its optional keys.
KEYS = {
    "builder": ("options", "base"),
    "command": ("sources", "deterministic", "outcome", "limit"),
    "adopted": ("outcome",),
}

Models = dict[str, dict[str, Any]]


def is_program(model: Mapping[str, Any]) -> bool:
    """Whether a model is not built here: it is the command of a training program, or runs that already existed."""
    return "command" in model or "adopted" in model


def outcome_of_model(config: Mapping[str, Any], model: str) -> str:
    """The kind of outcome of a model's runs; networks that are built here output logits."""
    return config["models"][model].get("outcome", LOGITS)


def require_possible(models: Models, file: str | Path) -> None:
    """Refuse models that mix a builder and a command, or have a command that cannot be run; complete the others."""
    for name, model in models.items():
        at, kind = f"models.{name}", next((key for key in ("command", "adopted", "builder") if key in model), None)
        if kind is None:
            raise BadInput(file, at, "lacks the key 'builder'", "required: builder, or command, or adopted")
        allowed = (kind, *KEYS[kind])
        for key, value in model.items():
            if value and key not in allowed:
                raise BadInput(file, f"{at}.{key}", f"found it beside {kind}", f"allowed: {', '.join(allowed)}")
        if is_program(model):
            model.pop("options", None)
            model.setdefault("outcome", LOGITS)
        if kind == "command":
            _complete(model, at, file)


def _complete(model: dict[str, Any], at: str, file: str | Path) -> None:
    words = command_words.split_command(model["command"], f"{file}: {at}.command")
    if "deterministic" in model:
        command_words.split_command(model["deterministic"], f"{file}: {at}.deterministic")
    named = [source for source in ALGORITHMIC if source in command_words.placeholders_of(words)]
    sources = model.setdefault("sources", named or list(ALGORITHMIC))
    for source in named:
        if source not in sources:
            problem = f"{{{source}}} stands in the command, and sources are {', '.join(sources)}"
            raise BadInput(file, f"{at}.sources", problem, "every source that the command names")
    model["sources"] = [source for source in ALGORITHMIC if source in sources]


def of_block(block: Mapping[str, Any], models: Models, where: str, file: str | Path) -> list[str]:
    """The training programs of a block; refuse a block that also has other models."""
    programs = [name for name in block["models"] if is_program(models[name])]
    if programs and len(programs) < len(block["models"]):
        problem = f"{', '.join(programs)} beside networks that are built here"
        raise BadInput(file, f"{where}.models", problem, "training programs in blocks of their own")
    return programs


def require_fitting(config: Mapping[str, Any], file: str | Path) -> None:
    """Refuse programs with toolings, data sets or keys of built networks, the reverse, and programs in `overhead`."""
    for number, block in enumerate(config["grid"]):
        where = f"grid[{number}]"
        programs = of_block(block, config["models"], where, file)
        for key, (setting, value) in BELONGING.items():
            for name in block[key]:
                if (config[key][name][setting] == value) != bool(programs):
                    wanted = f"with {setting} {value} for training programs"
                    unwanted = f"without {setting} {value} for networks that are built here"
                    allowed = f"{key} {wanted if programs else unwanted}"
                    raise BadInput(file, f"{where}.{key}", f"found {name!r}", allowed)
        if not programs:
            continue
        for key in ("recipe", "remedies", "layers"):
            if key in block:
                problem = "found it in a block of training programs"
                raise BadInput(file, f"{where}.{key}", problem, "models with a builder")
    for name in config.get("overhead", {}).get("models", []):
        if is_program(config["models"][name]):
            raise BadInput(file, "overhead.models", f"found the training program {name!r}", "models with a builder")
    for name in config.get("overhead", {}).get("hardware", []):
        if config["hardware"][name]["engine"] == ENGINE:
            raise BadInput(file, "overhead.hardware", f"found {name!r}, for training programs", "toolings of engines")


def require_variables(models: Models, names: Iterable[str], file: str | Path) -> None:
    """Refuse a command of these models that uses an environment variable which is not set."""
    for name in dict.fromkeys(names):
        texts = [models[name].get(key, "") for key in ("command", "deterministic")]
        command_words.variables_of(texts, f"{file}: models.{name}.command")


def require_separable(
    model: Mapping[str, Any], name: str, varying: tuple[str, ...], key: str, file: str | Path
) -> None:
    """Refuse a variant whose sources a program cannot vary separately from others."""
    if "bit" in varying:
        raise BadInput(file, key, f"found a moved bit for the training program {name!r}", "variants without bit")
    if "data" in varying and "adopted" not in model:
        problem = f"found other training data for the training program {name!r}"
        raise BadInput(file, key, problem, "variants without data")
    if set(varying) >= set(ALGORITHMIC) or "adopted" in model:
        return
    for source in varying:
        if source != "impl" and source not in model["sources"]:
            allowed = f"its sources are {', '.join(model['sources'])}; the others are not separable"
            raise BadInput(file, key, f"found {source} for {name!r}", allowed)


# How a tooling runs a program


def thread_variables(tooling: Mapping[str, Any]) -> dict[str, str]:
    """The environment variables that limit the threads of a program on a CPU; a statement records them."""
    return dict.fromkeys(THREADS, str(tooling["threads"])) if tooling["accelerator"] == "cpu" else {}


def interpreter_variables(tooling: Mapping[str, Any]) -> dict[str, str]:
    """The environment variables by which a program finds its interpreter; none if the tooling has no `python`."""
    if "python" not in tooling:
        return {}
    python = Path(tooling["python"]).absolute()
    binaries = python / "bin" if python.is_dir() else python.parent
    if not binaries.is_dir():
        wanted = "a virtual environment or an interpreter"
        raise BadInput(f"hardware {tooling['name']}", "python", f"{tooling['python']} is not there", wanted)
    variables = {"PATH": f"{binaries}{os.pathsep}{os.environ.get('PATH', '')}"}
    return variables | ({"VIRTUAL_ENV": str(python)} if python.is_dir() else {})
