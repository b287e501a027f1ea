"""Python text: its syntax tree, and of a module of this package what counts for a result, wherever the modules lie.

The tree counts, without comments and docstrings. Of an import from this package counts which name it binds to what. So
a module that moves to another room, and the imports that follow it, change nothing.
"""

import ast
import hashlib
import itertools
import json
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

from toolnoise.base import program

# What parsing raises for a text that this Python does not read. The last two are for nesting that is too deep.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Text(NamedTuple):
    """The SHA-256 of what counts, and the modules of this package that it imports, in their order."""

    digest: str
    modules: tuple[str, ...]
    # Whether the module has statements besides its docstring.
    does_something: bool


class Notebook(NamedTuple):
    """The tree of a notebook's code, as one text, and all else."""

    code: ast.Module
    rest: str


def parse_python(code: str | bytes) -> ast.Module:
    """The tree of a text that others wrote; what Python would warn of in it is its author's business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


def counted_text(tree: ast.Module, is_module: Callable[[str], bool]) -> Text:
    """What counts of a text; `is_module` says whether a dotted name is a module of this package.

    The words that are hashed are equal on Python 3.11 to 3.13. Those of `ast.dump` are not: newer Pythons have further
    fields, which are empty, and 3.12 has empty texts in f-strings; what `repr` escapes follows the edition of Unicode.
    """
    words: list[str] = []
    modules: list[str] = []

    def write(value: object) -> None:
        if isinstance(value, list):
            for is_own, nodes in itertools.groupby(value, _imports_own):
                if is_own:
                    # Their order follows from where the modules lie.
                    bound = sorted(itertools.chain.from_iterable(_bound(node, is_module) for node in nodes))
                    words.extend(f"{alias}={name}" for alias, name, _ in bound)
                    modules.extend(module for *_, module in bound)
                else:
                    for node in nodes:
                        write(node)
        elif isinstance(value, ast.Constant):
            words.append(ascii(value.value))
        elif isinstance(value, ast.AST):
            words.append(f"({type(value).__name__}")
            for field, part in _counted(value):
                words.append(field)
                write(part)
            words.append(")")
        else:
            words.append("absent" if value is None else ascii(value))

    write(tree)
    digest = hashlib.sha256(" ".join(words).encode()).hexdigest()
    return Text(digest, tuple(modules), words != ["(Module", ")"])


def notebook(source: bytes) -> Notebook:
    """The parts of a notebook."""
    whole = json.loads(source)
    cells = [cell for cell in whole["cells"] if cell["cell_type"] == "code"]
    code = parse_python("\n".join("".join(cell.pop("source")) for cell in cells))
    return Notebook(code, json.dumps(whole, sort_keys=True))


def _counted(node: ast.AST) -> Iterator[tuple[str, object]]:
    """The parts of a node that count, without what is empty."""
    for field, part in ast.iter_fields(node):
        if field == "body" and isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            part = part[1:]
        elif isinstance(node, ast.JoinedStr):
            part = [text for text in part if not (isinstance(text, ast.Constant) and text.value == "")]
        if part is not None and part != [] and field != "ctx":
            yield field, part


def _imports_own(node: object) -> bool:
    """Whether a statement imports from this package, and nothing else."""
    if isinstance(node, ast.ImportFrom):
        names = [node.module or ""]
    elif isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        return False
    return all(name.partition(".")[0] == program.PACKAGE.name for name in names)


def _bound(node: ast.Import | ast.ImportFrom, is_module: Callable[[str], bool]) -> Iterator[tuple[str, str, str]]:
    """What an import binds to a name: something in a module or, without its name, a module."""
    for alias in node.names:
        bound = alias.asname or alias.name
        if isinstance(node, ast.Import):
            yield bound, "", alias.name
        elif is_module(module := f"{node.module}.{alias.name}"):
            yield bound, "", module
        else:
            yield bound, alias.name, str(node.module)
