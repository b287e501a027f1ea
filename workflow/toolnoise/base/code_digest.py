"""Digests of code: a result is remade if the code that made it changes, and only then.

A digest covers the source of the given modules and of every module that they import, at any depth and anywhere in their
text, of this package and of the folder that the study runs in, where users' own models lie. Installed packages are
covered by the lock file. Nothing is imported to compute a digest.
"""

import ast
import functools
import hashlib
import itertools
import json
import shlex
import sys
from pathlib import Path
from typing import Any

from toolnoise.base import program, syntax

SCRIPT = ".py"


def digest(*modules: str, files: tuple[str, ...] = ()) -> str:
    """SHA-256 over modules (dotted names), what they import, and other files of the repository."""
    lines = "".join(f"{name} {source}\n" for name, source in sorted(sources(*modules, files=files).items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def named_by(spec: dict[str, Any]) -> tuple[str, ...]:
    """The modules that a spec names: its engine and its model's builder, or what the command of a program starts."""
    if "adopted" in spec["model"]:
        return ()
    if "command" in spec["model"]:
        return _started(spec["model"]["command"])
    return f"toolnoise.engines.{spec['hardware']['engine']}", spec["model"]["builder"].partition(":")[0]


def _started(command: str) -> tuple[str, ...]:
    """The scripts and the modules in a command line."""
    words = shlex.split(command)
    modules = {after for word, after in itertools.pairwise(words) if word == "-m"}
    return tuple(word for word in words if word in modules or word.endswith(SCRIPT))


@functools.cache
def imports_of(notebook: str) -> tuple[str, ...]:
    """The modules of this package that a notebook of the repository imports."""
    cells = json.loads(program.path_of(notebook).read_text("utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    package = f"{program.PACKAGE.name}."
    return tuple(name for name in _imported(ast.parse(code)) if name.startswith(package) and _followed(name))


@functools.cache
def sources(*modules: str, files: tuple[str, ...] = ()) -> dict[str, str]:
    """The SHA-256 of each of these files, by its path in the repository or in the folder that the study runs in."""
    found: dict[Path, str] = {}
    for module in modules:
        if path := source_of(module):
            # A script finds the modules of its own folder, too.
            _follow(path, found, path.parent if module.endswith(SCRIPT) else None)
    named = {file: hashlib.sha256(program.path_of(file).read_bytes()).hexdigest() for file in files}
    return named | {_name(path): source for path, source in found.items()}


def source_of(module: str) -> Path | None:
    """The file of a module of this package, of the folder that the study runs in, or of an installed package.

    A module may be a script, by its path.
    """
    if module.endswith(SCRIPT):
        return script if (script := Path.cwd() / module).is_file() else None
    return _followed(module) or _source(module, tuple(map(Path, sys.path)))


def _name(path: Path) -> str:
    if path.is_relative_to(program.PACKAGE):
        return f"{program.NAME}/{path.relative_to(program.PACKAGE).as_posix()}"
    for folder in (program.ROOT, Path.cwd(), *map(Path, sys.path)):
        if path.is_relative_to(folder):
            return path.relative_to(folder).as_posix()
    return path.as_posix()


def _followed(module: str) -> Path | None:
    """The source of a module whose imports are followed: of this package or of the study's folder."""
    # An installed package lies among others, which are not followed.
    own = module.partition(".")[0] == program.PACKAGE.name
    return _source(module, (program.PACKAGE.parent if own else Path.cwd(),))


def _follow(path: Path, found: dict[Path, str], beside: Path | None) -> None:
    if path in found:
        return
    found[path], imported = read(path)
    for name in imported:
        source = _followed(name) or (_source(name, (beside,)) if beside else None)
        if source:
            _follow(source, found, beside)


@functools.cache
def read(path: Path) -> tuple[str, tuple[str, ...]]:
    """The digest of a source file and the names that it imports.

    A training program may be for another Python: of a text that this one cannot read, no import is known.
    """
    source = path.read_bytes()
    try:
        imported = _imported(syntax.tree(source))
    except syntax.UNREADABLE:
        imported = ()
    return hashlib.sha256(source).hexdigest(), imported


def _imported(tree: ast.Module) -> tuple[str, ...]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return tuple(sorted(names))


@functools.cache
def _source(module: str, folders: tuple[Path, ...]) -> Path | None:
    """Where a module's source is; None if the name is not a module (imported from one) or lies elsewhere."""
    for folder in folders:
        path = folder.joinpath(*module.split("."))
        for candidate in (path / "__init__.py", path.with_name(f"{path.name}.py")):
            if candidate.is_file():
                return candidate
    return None
