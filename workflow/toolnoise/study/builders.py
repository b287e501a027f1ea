"""Builders of one's own are checked while the study is planned, by reading their source: nothing is imported.

What a builder returns shows only when it is called: by a dry run (`commands.trial`), and by the job `check_model`
before the model's first run.
"""

import ast
import importlib.util
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toolnoise.base import code_digest
from toolnoise.base.errors import BadInput
from toolnoise.study.programs import is_program


def is_own(model: Mapping[str, Any]) -> bool:
    """Whether a network is built by code of the user: not by this package, and not by a training program."""
    return not is_program(model) and not model["builder"].startswith("toolnoise.")


def require_builders(models: dict[str, dict[str, Any]], file: str | Path) -> None:
    """Refuse a model whose builder is in no module, in one that is no Python, or takes other options."""
    for name, model in models.items():
        if is_program(model):
            continue
        module, _, function = model["builder"].partition(":")
        problem, allowed = _fault(module, function, model["options"])
        if problem:
            raise BadInput(file, f"models.{name}", f"{model['builder']}: {problem}", allowed)


def _fault(module: str, function: str, options: Iterable[str]) -> tuple[str, str]:
    path, top = code_digest.source_of(module), module.partition(".")[0]
    if path is None:
        # A package may have parts without a source, such as compiled ones.
        is_there = code_digest.source_of(top) or importlib.util.find_spec(top)
        allowed = f"allowed: {top}.py in the folder that Snakemake runs in, or an installed package"
        return ("", "") if is_there else (f"no module {top}", allowed)
    try:
        tree = code_digest.parse_python(path.read_bytes())
    except SyntaxError as error:
        return f"{path.name}, line {error.lineno}: {error.msg}", "Python"
    except code_digest.UNREADABLE as error:
        return f"{path.name}: {str(error) or 'nested too deeply'}", "Python"
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    if function not in functions:
        # It may be imported, or made by another function.
        may_be_there = re.search(rf"\b{re.escape(function)}\b|import \*", path.read_text("utf-8", "replace"))
        return ("", "") if may_be_there else (f"{path.name} has no function {function}", _one_of(functions))
    builder = functions[function]
    known = [argument.arg for argument in (*builder.args.args, *builder.args.kwonlyargs)][2:]
    unknown = [option for option in options if option not in known]
    # A decorator may take other arguments than its function.
    if not unknown or builder.args.kwarg or builder.decorator_list:
        return "", ""
    return f"no option {unknown[0]}", _one_of(known)


def _one_of(names: Iterable[str]) -> str:
    return f"allowed: {', '.join(names) or 'none'}"
