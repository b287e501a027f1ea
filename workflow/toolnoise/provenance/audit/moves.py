"""Files that are not as in the commit that made a result, but of which the same counts, wherever they lie now.

In such a module the same counts as then, and what it imports from this package is what it imported then, wherever that
lies now. The code of a notebook may differ in the same way.
"""

import ast
import functools
from collections.abc import Container
from pathlib import Path, PurePosixPath

from toolnoise.base import code_digest, code_text, program
from toolnoise.provenance import history


@functools.cache
def present(commit: str, name: str) -> tuple[str, ...] | None:
    """The names under which a file of a commit is here, none for a package of a docstring; None if it has changed."""
    then = _then(commit, name)
    if then is None:
        return None
    if name.endswith(code_digest.NOTEBOOK):
        return (name,) if _notebook(name, commit) else None
    if PurePosixPath(name).name == code_digest.PACKAGE_FILE and not then.does_something:
        return ()
    paths = [path for path in _here().get(then.digest, ()) if _binds_alike(then, _text_here(path), commit)]
    return tuple(code_digest.name_of(path) for path in paths) or None


def _notebook(name: str, commit: str) -> bool:
    path, content = program.path_of(name), history.show(commit, name)
    if content is None or not path.is_file():
        return False
    then, now = code_text.notebook(content), code_text.notebook(path.read_bytes())
    texts = _text_then(then.code, commit), code_digest.text_of(now.code)
    return then.rest == now.rest and texts[0].digest == texts[1].digest and _binds_alike(*texts, commit)


def _binds_alike(then: code_text.Text, now: code_text.Text, commit: str) -> bool:
    """Whether two texts of one digest import the same modules."""
    return all(_is_same(*modules, commit) for modules in zip(then.modules, now.modules, strict=True))


def _is_same(then: str, now: str, commit: str) -> bool:
    """Whether a module of the commit and one that is here are the same, as their names say or else what counts."""
    if then == now:
        return True
    path, name = code_digest.source_of(now), _named(then, _tracked(commit))
    if path is None or name is None:
        return False
    if {name, code_digest.name_of(path)} <= {*code_digest.UNCOUNTED}:
        return True
    text = _then(commit, name)
    return text is not None and text.digest == _text_here(path).digest


@functools.cache
def _here() -> dict[str, list[Path]]:
    """The modules that are here, by the digest of what counts."""
    by_digest: dict[str, list[Path]] = {}
    for path in sorted(program.PACKAGE.rglob("*.py")):
        by_digest.setdefault(_text_here(path).digest, []).append(path)
    return by_digest


def _text_here(path: Path) -> code_text.Text:
    text = code_digest.read(path).text
    assert text
    return text


@functools.cache
def _then(commit: str, name: str) -> code_text.Text | None:
    content = history.show(commit, name)
    if content is None or not name.startswith((f"{program.NAME}/", "notebooks/")):
        return None
    try:
        is_notebook = name.endswith(code_digest.NOTEBOOK)
        return _text_then(code_text.notebook(content).code if is_notebook else code_text.parsed(content), commit)
    except code_text.UNREADABLE:
        return None


def _text_then(tree: ast.Module, commit: str) -> code_text.Text:
    return code_text.counted_text(tree, lambda module: _named(module, _tracked(commit)) is not None)


def _named(module: str, names: Container[str]) -> str | None:
    """The file of a module of this package among those of a commit."""
    path = f"{PurePosixPath(program.NAME).parent}/{module.replace('.', '/')}"
    return next((name for name in (f"{path}/{code_digest.PACKAGE_FILE}", f"{path}.py") if name in names), None)


@functools.cache
def _tracked(commit: str) -> frozenset[str]:
    return frozenset(history.tracked(commit))
