"""Digests of code: a result is remade if the code that made it changes, and only then.

A digest covers the given modules and every module that they import, at any depth and anywhere in their text, of this
package and of the folder that the study runs in, where users' own models lie. Modules of this package count by what
they do and not by where they lie: the syntax tree counts, without comments and docstrings, and of an import from this
package counts which name it binds to what. So a module that moves to another room, and the imports that follow it,
change nothing. Of users' own modules every byte counts: a result whose exact code is lost could not be explained.
Installed packages are covered by the lock file. Nothing is imported to compute a digest.
"""

import ast
import functools
import hashlib
import itertools
import json
import shlex
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import program
from toolnoise.base.spec import ORIGINAL, ORIGINALS, Spec

SCRIPT = ".py"
NOTEBOOK = ".ipynb"
PACKAGE_FILE = "__init__.py"
# Modules that word messages or show progress, and cannot change a result: neither they nor what only they import count.
UNCOUNTED = ("workflow/toolnoise/base/errors.py", "workflow/toolnoise/base/progress.py")
# What parsing raises for a text that this Python does not read. The last two are for nesting that is too deep.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Text(NamedTuple):
    """The SHA-256 of what counts, and the modules of this package that it imports, in their order."""

    digest: str
    modules: tuple[str, ...]
    # Whether the module has statements besides its docstring.
    does_something: bool


class SourceText(NamedTuple):
    """The SHA-256 of a source file, the names that it imports, and of a module of this package what counts of it."""

    sha256: str
    imported: tuple[str, ...]
    text: Text | None


def digest(*modules: str, files: tuple[str, ...] = ()) -> str:
    """SHA-256 over what counts of modules (dotted names), of what they import, and of other files of the repository."""
    paths = _paths(*modules, through=False).items()
    counted = {key(path) if _is_own(path) else f"{name_of(path)} {sha256}" for path, sha256 in paths}
    counted |= {_key_of_file(file) for file in files}
    return _hashed(sorted(counted))


@functools.cache
def key(path: Path) -> str:
    """A digest of what counts of a module of this package, and of the keys of what it imports from this package.

    So no circle of modules has a key, and neither has what does not count or is only a docstring, as of most packages.
    """
    text = source_text(path).text
    assert text
    return "" if name_of(path) in UNCOUNTED or not text.does_something else _key_of_text(text)


def _key_of_text(text: Text) -> str:
    return _hashed([text.digest, *(key(path) if (path := _followed(module)) else "" for module in text.modules)])


def _key_of_file(file: str) -> str:
    content = program.path_of(file).read_bytes()
    if not file.endswith(NOTEBOOK):
        return f"{file} {hashlib.sha256(content).hexdigest()}"
    code, rest = parts_of_notebook(content)
    return _hashed([rest, _key_of_text(counted_text(code))])


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
    code = parts_of_notebook(program.path_of(notebook).read_bytes())[0]
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
        tree = parse_python(source)
    except UNREADABLE:
        if _is_own(path):
            raise
        tree = ast.Module([], [])
    text = counted_text(tree) if _is_own(path) else None
    return SourceText(hashlib.sha256(source).hexdigest(), _imported(tree), text)


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


def parse_python(code: str | bytes) -> ast.Module:
    """The tree of a text that others wrote; what Python would warn of in it is its author's business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


def counted_text(tree: ast.Module) -> Text:
    """What counts of code that imports modules as they lie here.

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
                    bound = sorted(itertools.chain.from_iterable(_bound(node) for node in nodes))
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


def parts_of_notebook(source: bytes) -> tuple[ast.Module, str]:
    """The tree of a notebook's code, as one text, and all else."""
    whole = json.loads(source)
    cells = [cell for cell in whole["cells"] if cell["cell_type"] == "code"]
    code = parse_python("\n".join("".join(cell.pop("source")) for cell in cells))
    return code, json.dumps(whole, sort_keys=True)


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


def _bound(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str, str]]:
    """What an import binds to a name: something in a module or, without its name, a module."""
    for alias in node.names:
        bound = alias.asname or alias.name
        if isinstance(node, ast.Import):
            yield bound, "", alias.name
        elif _followed(module := f"{node.module}.{alias.name}"):
            yield bound, "", module
        else:
            yield bound, alias.name, str(node.module)
