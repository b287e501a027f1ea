"""Modules that lie elsewhere than in the commit that made a result, but say the same.

Such a module says the same lines, and what it imports from this package is what it imported then, wherever that lies
now. A notebook may import what has moved, too.
"""

import functools
from collections.abc import Container
from pathlib import Path, PurePosixPath

from toolnoise.base import code_digest, code_text, program
from toolnoise.verify import history


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
    return then.rest == now.rest and _alike(_read(then.code, commit), code_digest.text_of(now.code), commit)


def _alike(then: code_text.Text, now: code_text.Text, commit: str) -> bool:
    return then.digest == now.digest and _binds_alike(then, now, commit)


def _binds_alike(then: code_text.Text, now: code_text.Text, commit: str) -> bool:
    """Whether two texts bind the same names to the same things."""
    old, new = ({(line.place, line.alias, line.name): line.module for line in text.imports} for text in (then, now))
    return old.keys() == new.keys() and all(_is_same(old[bound], new[bound], commit) for bound in old)


def _is_same(then: str, now: str, commit: str) -> bool:
    """Whether a module of the commit and one that is here are the same, as their names or else their lines say."""
    if then == now:
        return True
    path, name = code_digest.source_of(now), _named(then, _tracked(commit))
    text = _then(commit, name) if name else None
    return path is not None and text is not None and text.digest == _text_here(path).digest


@functools.cache
def _here() -> dict[str, list[Path]]:
    """The modules that are here, by the digest of their lines."""
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
        return _read(code_text.notebook(content).code if name.endswith(code_digest.NOTEBOOK) else content, commit)
    except code_text.UNREADABLE:
        return None


def _read(source: bytes, commit: str) -> code_text.Text:
    return code_text.read(source, lambda module: _named(module, _tracked(commit)) is not None)


def _named(module: str, names: Container[str]) -> str | None:
    """The file of a module of this package among those of a commit."""
    path = f"{PurePosixPath(program.NAME).parent}/{module.replace('.', '/')}"
    return next((name for name in (f"{path}/{code_digest.PACKAGE_FILE}", f"{path}.py") if name in names), None)


@functools.cache
def _tracked(commit: str) -> frozenset[str]:
    return frozenset(history.tracked(commit))
