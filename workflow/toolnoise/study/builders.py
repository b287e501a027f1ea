"""Checks the user's model builders while the study is planned, by reading their source: nothing is imported.

The result of a builder is known only when it is called: by a dry run (`commands.trial`), and by the job `check-model`
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
    """Whether the user's own code builds a network: neither this package nor a training program does."""
    return not is_program(model) and not model["builder"].startswith("toolnoise.")


def require_builders(models: dict[str, dict[str, Any]], file: str | Path) -> None:
    """Refuse a model whose builder is missing, lies in a module that is not valid Python, or lacks an option."""
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
        # The module may import the function, or make it in another way.
        may_be_there = re.search(rf"\b{re.escape(function)}\b|import \*", path.read_text("utf-8", "replace"))
        return ("", "") if may_be_there else (f"{path.name} has no function {function}", _one_of(functions))
    builder = functions[function]
    known = [argument.arg for argument in (*builder.args.args, *builder.args.kwonlyargs)][2:]
    unknown = [option for option in options if option not in known]
    # A decorated function may accept other arguments than its source shows.
    if not unknown or builder.args.kwarg or builder.decorator_list:
        return "", ""
    return f"no option {unknown[0]}", _one_of(known)


def _one_of(names: Iterable[str]) -> str:
    return f"allowed: {', '.join(names) or 'none'}"
