"""Python text: its syntax tree, and of a module of this package what counts for a result, wherever the modules lie.

The lines count, but not those that import modules of this package: of these counts which name they bind to what. So a
module that moves to another room, and the imports that follow it, change nothing.
"""

import ast
import hashlib
import json
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

from toolnoise.base import program

Imports = ast.Import | ast.ImportFrom
# What parsing raises for a text that this Python does not read. The last two are for nesting that is too deep.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


class Import(NamedTuple):
    """What an import binds to a name: something in a module of this package, or without `name` the module itself.

    `place` is 0 at the top of the text, else the number of the nested imports in their order. There is no `alias` where
    the whole dotted name is used.
    """

    place: int
    alias: str
    module: str
    name: str


class Text(NamedTuple):
    """The SHA-256 of the lines that count, and what is imported from this package."""

    digest: str
    imports: tuple[Import, ...]
    # Whether the module has statements besides its docstring.
    does_something: bool


class Notebook(NamedTuple):
    """The code of a notebook, as one text, and all else."""

    code: bytes
    rest: str


def parsed(code: str | bytes) -> ast.Module:
    """The tree of a text that others wrote; what Python would warn of in it is its author's business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


def read(source: bytes, is_module: Callable[[str], bool]) -> Text:
    """The text of a module; `is_module` says whether a dotted name is a module of this package."""
    tree = parsed(source)
    lines: list[str | None] = list(source.decode().splitlines())
    imports: set[Import] = set()
    place, end = 0, 0
    for node in sorted(_own(tree), key=lambda node: node.lineno):
        nested = node not in tree.body
        if nested and node.lineno != end + 1:
            place += 1
        end = node.end_lineno or node.lineno
        imports |= set(_bound(node, place if nested else 0, is_module))
        if isinstance(node, ast.ImportFrom) or all(alias.asname for alias in node.names):
            lines[node.lineno - 1 : end] = [None] * (end - node.lineno + 1)
            if nested:
                lines[node.lineno - 1] = f"{' ' * node.col_offset}import {place}"
    counted = "\n".join(line for line in lines if line and line.strip())
    docstring = ast.get_docstring(tree, clean=False) is not None
    return Text(hashlib.sha256(counted.encode()).hexdigest(), tuple(sorted(imports)), len(tree.body) > docstring)


def notebook(source: bytes) -> Notebook:
    """The parts of a notebook."""
    whole = json.loads(source)
    cells = [cell for cell in whole["cells"] if cell["cell_type"] == "code"]
    code = "\n".join("".join(cell.pop("source")) for cell in cells)
    return Notebook(code.encode(), json.dumps(whole, sort_keys=True))


def _own(tree: ast.Module) -> Iterator[Imports]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            named = [node.module or ""]
        elif isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        else:
            continue
        if any(name.partition(".")[0] == program.PACKAGE.name for name in named):
            yield node


def _bound(node: Imports, place: int, is_module: Callable[[str], bool]) -> Iterator[Import]:
    for alias in node.names:
        if isinstance(node, ast.Import):
            yield Import(place, alias.asname or "", alias.name, "")
            continue
        package, bound = str(node.module), alias.asname or alias.name
        module = f"{package}.{alias.name}"
        yield Import(place, bound, module, "") if is_module(module) else Import(place, bound, package, alias.name)
