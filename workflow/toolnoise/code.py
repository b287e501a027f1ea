"""Digests of code: what a result was made by, so that a change to it makes the result anew and nothing else does.

A digest covers the source of the given modules and of every module of this package that they import, at whatever
depth and wherever in their text. Nothing is imported to find out.
"""

import ast
import functools
import hashlib
import importlib.util
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent
ROOT = PACKAGE.parents[1]


@functools.cache
def digest(*modules: str, files: tuple[str, ...] = ()) -> str:
    """SHA-256 over modules (dotted names), what they import of this package, and other files of the repository."""
    found = {file: hashlib.sha256((ROOT / file).read_bytes()).hexdigest() for file in files}
    for module in modules:
        _follow(module, found)
    lines = "".join(f"{name} {source}\n" for name, source in sorted(found.items()))
    return hashlib.sha256(lines.encode()).hexdigest()


def find_own_modules() -> None:
    """Let a study name modules that lie in the folder it runs in, whatever program was started, after all others."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)


def _follow(module: str, found: dict[str, str]) -> None:
    if module in found:
        return
    path = _source(module)
    if path is None:
        return
    found[module], imported = _read(path)
    if module.split(".")[0] == PACKAGE.name:
        for name in imported:
            _follow(name, found)


@functools.cache
def _read(path: Path) -> tuple[str, tuple[str, ...]]:
    """The digest of a source file and the modules of this package that it names."""
    source = path.read_bytes()
    names = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    ours = sorted({name for name in names if name.split(".")[0] == PACKAGE.name})
    return hashlib.sha256(source).hexdigest(), tuple(ours)


def _source(module: str) -> Path | None:
    """Where a module's source is; None for what is no module (a name imported from one) or has no source."""
    top, *rest = module.split(".")
    if top == PACKAGE.name:
        path = PACKAGE.joinpath(*rest)
        candidates = [path.with_suffix(".py"), path / "__init__.py"] if rest else [path / "__init__.py"]
        return next((candidate for candidate in candidates if candidate.is_file()), None)
    find_own_modules()
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return Path(spec.origin) if spec and spec.origin and Path(spec.origin).is_file() else None
