"""Digests of code: a result is remade if the code that made it changes, and only then.

A digest covers the given modules and every module that they import, at any depth and anywhere in their text, from this
package and from the folder that the study runs in, where users' own models lie. Modules of this package count by what
they do, not by where they lie: the digest is over the syntax tree without comments and docstrings, and over the names
and objects that imports from this package bind. So moving a module to another folder, and adapting the imports, changes
nothing. Every byte of users' own modules counts: a result whose exact code is lost could not be explained. Installed
packages are covered by the lock file. Nothing is imported to compute a digest.
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
# Modules for messages and progress, which change no result. They do not count, nor do modules that only they import.
UNCOUNTED = ("workflow/toolnoise/base/errors.py", "workflow/toolnoise/base/progress.py")
# Errors of parsing a text that this Python cannot read. The last two are for nesting that is too deep.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Text(NamedTuple):
    """The SHA-256 of the code that counts, and the modules of this package that it imports, in their order."""

    digest: str
    modules: tuple[str, ...]
    # Whether the module has statements besides its docstring.
    does_something: bool


class SourceText(NamedTuple):
    """The SHA-256 of a source file, the names that it imports, and the `Text` of a module of this package."""

    sha256: str
    imported: tuple[str, ...]
    text: Text | None


def digest_of_code(*modules: str, files: tuple[str, ...] = ()) -> str:
    """SHA-256 over the counted code of modules (dotted names), over their imports and other files of the repository."""
    paths = _paths(*modules, through=False).items()
    counted = {key_of_module(path) if _is_own(path) else f"{name_of(path)} {sha256}" for path, sha256 in paths}
    counted |= {_key_of_file(file) for file in files}
    return _hashed(sorted(counted))


@functools.cache
def key_of_module(path: Path) -> str:
    """A digest of the counted code of a module of this package, and of the keys of the modules that it imports from it.

    So modules may not import one another in a circle. The key of an uncounted or an empty module is empty.
    """
    text = source_text(path).text
    assert text
    return "" if name_of(path) in UNCOUNTED or not text.does_something else _key_of_text(text)


def _key_of_text(text: Text) -> str:
    return _hashed(
        [text.digest, *(key_of_module(path) if (path := _followed(module)) else "" for module in text.modules)]
    )


def _key_of_file(file: str) -> str:
    content = program.path_of(file).read_bytes()
    if not file.endswith(NOTEBOOK):
        return f"{file} {hashlib.sha256(content).hexdigest()}"
    code, rest = parts_of_notebook(content)
    return _hashed([rest, _key_of_text(counted_text(code))])


def _hashed(lines: list[str]) -> str:
    return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()


def named_by(spec: Spec) -> tuple[str, ...]:
    """The modules that a spec names: engine, model's builder and reader of originals, or the scripts of a command."""
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
def digests_of_files(*modules: str, files: tuple[str, ...] = ()) -> dict[str, str]:
    """The SHA-256 of these files, modules and their imports, by path in the repository or in the study's folder."""
    named = {file: hashlib.sha256(program.path_of(file).read_bytes()).hexdigest() for file in files}
    return named | {name_of(path): source for path, source in _paths(*modules).items()}


@functools.cache
def _paths(*modules: str, through: bool = True) -> dict[Path, str]:
    """The SHA-256 of the source of these modules and of all their imports, also `through` uncounted modules."""
    digests: dict[Path, str] = {}
    # A script also finds the modules in its own folder.
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
    # The package's own names are for users' programs: no job uses them.
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
    """The source of a module whose imports are followed: in this package or in the study's folder."""
    if module == program.PACKAGE.name:
        return None
    # Installed, this package lies beside others, which are not followed.
    internal = module.partition(".")[0] == program.PACKAGE.name
    return _source(module, (program.PACKAGE.parent if internal else Path.cwd(),))


@functools.cache
def source_text(path: Path) -> SourceText:
    """A source file, with its digests and imports.

    A training program may be for another Python: a text that this one cannot read counts as one without imports.
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
    """The file of a module; None if the name is an object in a module, or if the module lies elsewhere."""
    for folder in folders:
        path = folder.joinpath(*module.split("."))
        for candidate in (path / PACKAGE_FILE, path.with_name(f"{path.name}.py")):
            if candidate.is_file():
                return candidate
    return None


def parse_python(code: str | bytes) -> ast.Module:
    """The tree of a text that others wrote; Python's warnings about it are hidden, as they concern its author."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(code)


def counted_text(tree: ast.Module) -> Text:
    """The counted code of a tree; its imports are looked up in this package and in the study's folder.

    The hashed words are equal on Python 3.11 to 3.13. The output of `ast.dump` is not: newer Pythons have further
    fields, which are empty, 3.12 has empty texts in f-strings, and `repr` escapes by the version of Unicode.
    """
    words: list[str] = []
    modules: list[str] = []

    def write(value: object) -> None:
        if isinstance(value, list):
            for is_own, nodes in itertools.groupby(value, _imports_own):
                if is_own:
                    # Sorted, since their order in the source follows from where the modules lie.
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
    """The tree of a notebook's code, all cells together, and the rest of the notebook as JSON."""
    whole = json.loads(source)
    cells = [cell for cell in whole["cells"] if cell["cell_type"] == "code"]
    code = parse_python("\n".join("".join(cell.pop("source")) for cell in cells))
    return code, json.dumps(whole, sort_keys=True)


def _counted(node: ast.AST) -> Iterator[tuple[str, object]]:
    """The parts of a node that count, without empty ones."""
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
    """Each name that an import binds, with an object's name and its module, or with an empty name and a module."""
    for alias in node.names:
        bound = alias.asname or alias.name
        if isinstance(node, ast.Import):
            yield bound, "", alias.name
        elif _followed(module := f"{node.module}.{alias.name}"):
            yield bound, "", module
        else:
            yield bound, alias.name, str(node.module)
