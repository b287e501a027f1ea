"""Digests of code: a result is remade if the code that made it changes, and only then.

A digest covers the given modules and every module that they import, at any depth and anywhere in their text, of this
package and of the folder that the study runs in, where users' own models lie. Modules of this package count by what
they do and not by where they lie (`code_text`). Of users' own modules every byte counts: a result whose exact code is
lost could not be explained. Installed packages are covered by the lock file. Nothing is imported to compute a digest.
"""

import ast
import functools
import hashlib
import itertools
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import code_text, program
from toolnoise.base.spec import ORIGINAL, ORIGINALS, Spec

SCRIPT = ".py"
NOTEBOOK = ".ipynb"
PACKAGE_FILE = "__init__.py"
# Modules that word messages or show progress, and cannot change a result: neither they nor what only they import count.
# The name of a module that has gone stays here, as earlier results were made with it.
UNCOUNTED = (
    "workflow/toolnoise/base/errors.py",
    "workflow/toolnoise/base/faults.py",
    "workflow/toolnoise/base/progress.py",
)


class SourceText(NamedTuple):
    """The SHA-256 of a source file, the names that it imports, and of a module of this package what counts of it."""

    sha256: str
    imported: tuple[str, ...]
    text: code_text.Text | None


def digest(*modules: str, files: tuple[str, ...] = ()) -> str:
    """SHA-256 over what counts of modules (dotted names), of what they import, and of other files of the repository."""
    paths = _paths(*modules, through=False).items()
    counted = {key(path) if _is_own(path) else f"{name_of(path)} {sha256}" for path, sha256 in paths}
    counted |= {_key_of_file(file) for file in files}
    return _hashed(sorted(counted))


@functools.cache
def key(path: Path) -> str:
    """A digest of what counts of a module of this package, and of the keys of what it imports from this package.

    So no circle of modules has a key, and neither has what does not count or is only the docstring of a package.
    """
    text = source_text(path).text
    assert text
    return "" if name_of(path) in UNCOUNTED or is_docstring(path) else _key_of_text(text)


def is_docstring(path: Path) -> bool:
    """Whether a file is that of a package of this one, and has nothing but a docstring."""
    text = source_text(path).text if path.name == PACKAGE_FILE else None
    return text is not None and not text.does_something


def _key_of_text(text: code_text.Text) -> str:
    return _hashed([text.digest, *(key(path) if (path := _followed(module)) else "" for module in text.modules)])


def _key_of_file(file: str) -> str:
    content = program.path_of(file).read_bytes()
    if not file.endswith(NOTEBOOK):
        return f"{file} {hashlib.sha256(content).hexdigest()}"
    code, rest = code_text.notebook(content)
    return _hashed([rest, _key_of_text(text_of(code))])


def _hashed(lines: list[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def named_by(spec: Spec) -> tuple[str, ...]:
    """The modules that a spec names: engine, model's builder and reader of originals, or what a command starts."""
    if spec.model.adopted is not None:
        return ()
    if spec.model.command is not None:
        return _started(spec.model.command)
    data = (ORIGINALS,) if spec.dataset and spec.dataset.stored_size == ORIGINAL else ()
    return f"toolnoise.engines.{spec.hardware.engine}", spec.model.builder.partition(":")[0], *data


def _started(command: str) -> tuple[str, ...]:
    """The scripts and the modules in a command line."""
    words = shlex.split(command)
    modules = {after for word, after in itertools.pairwise(words) if word == "-m"}
    return tuple(word for word in words if word in modules or word.endswith(SCRIPT))


@functools.cache
def imports_of(notebook: str) -> tuple[str, ...]:
    """The modules of this package that a notebook of the repository imports."""
    code = code_text.notebook(program.path_of(notebook).read_bytes()).code
    package = f"{program.PACKAGE.name}."
    return tuple(name for name in _imported(code) if name.startswith(package) and _followed(name))


@functools.cache
def sources(*modules: str, files: tuple[str, ...] = ()) -> dict[str, str]:
    """The SHA-256 of each of these files, by its path in the repository or in the folder that the study runs in."""
    named = {file: hashlib.sha256(program.path_of(file).read_bytes()).hexdigest() for file in files}
    return named | {name_of(path): source for path, source in _paths(*modules).items()}


@functools.cache
def _paths(*modules: str, through: bool = True) -> dict[Path, str]:
    """The SHA-256 of the source of these modules and of all that they import, also `through` what does not count."""
    digests: dict[Path, str] = {}
    # A script finds the modules of its own folder, too.
    named = [(source_of(module), module.endswith(SCRIPT)) for module in modules]
    waiting = [(path, path.parent if is_script else None) for path, is_script in named if path]
    while waiting:
        path, beside = waiting.pop()
        if path in digests or (not through and name_of(path) in UNCOUNTED):
            continue
        digests[path] = source_text(path).sha256
        for name in source_text(path).imported:
            if source := _followed(name) or (_source(name, (beside,)) if beside else None):
                waiting.append((source, beside))
    return digests


def source_of(module: str) -> Path | None:
    """The file of a module of this package, of the folder that the study runs in, or of an installed package.

    A module may be a script, by its path.
    """
    # What programs call: no job asks the package itself for anything.
    if module == program.PACKAGE.name:
        return None
    if module.endswith(SCRIPT):
        return script if (script := Path.cwd() / module).is_file() else None
    return _followed(module) or _source(module, tuple(map(Path, sys.path)))


def name_of(path: Path) -> str:
    """The name of a source file in statements."""
    if path.is_relative_to(program.PACKAGE):
        return f"{program.NAME}/{path.relative_to(program.PACKAGE).as_posix()}"
    for folder in (program.ROOT, Path.cwd(), *map(Path, sys.path)):
        if path.is_relative_to(folder):
            return path.relative_to(folder).as_posix()
    return path.as_posix()


def _followed(module: str) -> Path | None:
    """The source of a module whose imports are followed: of this package or of the study's folder."""
    if module == program.PACKAGE.name:
        return None
    # An installed package lies among others, which are not followed.
    internal = module.partition(".")[0] == program.PACKAGE.name
    return _source(module, (program.PACKAGE.parent if internal else Path.cwd(),))


@functools.cache
def source_text(path: Path) -> SourceText:
    """A source file as it counts.

    A training program may be for another Python: of a text that this one cannot read, no import is known.
    """
    source = path.read_bytes()
    try:
        tree = code_text.parse_python(source)
    except code_text.UNREADABLE:
        if _is_own(path):
            raise
        tree = ast.Module([], [])
    text = text_of(tree) if _is_own(path) else None
    return SourceText(hashlib.sha256(source).hexdigest(), _imported(tree), text)


def text_of(tree: ast.Module) -> code_text.Text:
    """What counts of code that imports modules as they lie here."""
    return code_text.counted_text(tree, lambda module: _followed(module) is not None)


def _is_own(path: Path) -> bool:
    return path.is_relative_to(program.PACKAGE)


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
        for candidate in (path / PACKAGE_FILE, path.with_name(f"{path.name}.py")):
            if candidate.is_file():
                return candidate
    return None
