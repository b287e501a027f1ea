"""Builders of one's own are checked while the study is planned, by reading their source: nothing is imported.

What a builder returns shows only when it is called: by a dry run (`commands.trial`), and by the job `check_model`
before the model's first run.
"""

import ast
import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from toolnoise.base import code_digest
from toolnoise.base.errors import BadInput
from toolnoise.study.programs import is_program

# The environment of a tooling may have frameworks that the one of the plan lacks.
FRAMEWORKS = ("jax", "keras", "tensorflow", "torch")


def is_own(model: Mapping[str, Any]) -> bool:
    """Whether a network is built by code of the user: not by this package, and not by a training program."""
    return not is_program(model) and not model["builder"].startswith("toolnoise.")


def require_builders(models: dict[str, dict[str, Any]], file: str | Path) -> None:
    """Refuse a model whose builder is in no module, in one that cannot be imported, or takes other options."""
    for name, model in models.items():
        if is_program(model):
            continue
        module, _, function = model["builder"].partition(":")
        problem, allowed = _fault(module, function, model["options"])
        if problem:
            raise BadInput(file, f"models.{name}", f"{model['builder']}: {problem}", allowed)


def _fault(module: str, function: str, options: Iterable[str]) -> tuple[str, str]:
    path = code_digest.source_of(module)
    if path is None:
        top = module.partition(".")[0]
        # A package may have parts without a source, such as compiled ones.
        return ("", "") if _is_there(top) else (f"no module {top}", _modules_named(top))
    try:
        tree = code_digest.parse_python(path.read_bytes())
    except SyntaxError as error:
        return f"{path.name}, line {error.lineno}: {error.msg}", "Python"
    except code_digest.UNREADABLE as error:
        return f"{path.name}: {str(error) or 'nested too deeply'}", "Python"
    for line, top in _imported(tree):
        if not _is_there(top):
            return f"{path.name}, line {line}: no module {top}", _modules_named(top)
    if function not in (names := set(_names(tree))) and "*" not in names:
        return f"{path.name} has no function {function}", _one_of(_functions(tree))
    builder = _functions(tree).get(function)
    # A decorator may take other arguments than its function.
    if builder is None or builder.args.kwarg or builder.decorator_list:
        return "", ""
    known = [argument.arg for argument in (*builder.args.args, *builder.args.kwonlyargs)][2:]
    unknown = [option for option in options if option not in known]
    return (f"no option {unknown[0]}", _one_of(known)) if unknown else ("", "")


def _imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """The packages that a module imports in any case, each with the line; others may be optional."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module.partition(".")[0]


def _is_there(top: str) -> bool:
    return top in FRAMEWORKS or bool(code_digest.source_of(top) or importlib.util.find_spec(top))


def _modules_named(top: str) -> str:
    return f"allowed: {top}.py in the folder that Snakemake runs in, or an installed package"


def _names(tree: ast.Module) -> Iterable[str]:
    """Every name that the module may have, those inside its functions among them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _one_of(names: Iterable[str]) -> str:
    return f"allowed: {', '.join(names) or 'none'}"
