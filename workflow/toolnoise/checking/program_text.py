"""The source text of a program, as far as its command line names it: scripts, modules, `-c`, and what they import here.

Nothing is imported or run. Modules of installed packages are left out.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import code_text
from toolnoise.base.noise_sources import ALGORITHMIC

MOST_FILES, MOST_BYTES = 200, 1 << 20
# The variables in which a program finds its seeds begin with it.
SEED = "TOOLNOISE_SEED_"
# How programs use toolnoise's own helpers, by the source whose seed these read.
HELPED = re.compile(r"^\s*(from|import) toolnoise\b", re.MULTILINE)
HELPERS = {
    "init": r"\bseeds\.init\b",
    "shuffle": r"\bseeds\.(shuffle|loader)\b|\barguments\(",
    "augment": r"\bseeds\.augment\b",
    "dropout": r"\bseeds\.dropout\b|\bSources\(",
}


class SourceFile(NamedTuple):
    """One file of a program: its name as a person would write it, its lines and its syntax tree."""

    file: str
    lines: list[str]
    tree: ast.Module


def sources(words: Sequence[str], folder: Path) -> list[SourceFile]:
    """The files of the program that a command starts in a folder, the first one first."""
    parsed: dict[Path, SourceFile] = {}
    for number, word in enumerate(words):
        before = words[number - 1] if number else ""
        if before == "-c" and (code := _parsed("-c", word)):
            parsed[Path("-c")] = code
        elif before == "-m":
            _follow(folder, word, folder, parsed)
        elif word.endswith(".py"):
            _read(folder / word, folder, parsed)
    return list(parsed.values())


def _read(path: Path, folder: Path, parsed: dict[Path, SourceFile]) -> None:
    path = path.resolve()
    if path in parsed or len(parsed) == MOST_FILES or not path.is_file() or path.stat().st_size > MOST_BYTES:
        return
    name = path.relative_to(folder.resolve()).as_posix() if path.is_relative_to(folder.resolve()) else str(path)
    try:
        source = _parsed(name, path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError):
        return
    if source is None:
        return
    parsed[path] = source
    for base, module in _imported(source.tree, path.parent, (path.parent, folder)):
        _follow(base, module, folder, parsed)


def _parsed(file: str, text: str) -> SourceFile | None:
    try:
        return SourceFile(file, text.splitlines(), code_text.parse_python(text))
    except code_text.UNREADABLE:
        return None


def _imported(tree: ast.Module, home: Path, bases: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Each imported module, with each folder in which it may lie."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            level = getattr(node, "level", 0)
            where = [home, *home.parents][level - 1 : level] if level else bases
            yield from ((base, name) for name in modules(node) if name for base in where)


def modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    """The modules that a statement may import, by names that may begin in its own folder; '' is that folder."""
    names = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        names = [module, *(f"{module}.{name}".lstrip(".") for name in names)]
    return names


def _follow(base: Path, module: str, folder: Path, parsed: dict[Path, SourceFile]) -> None:
    path = base.joinpath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py", path / "__main__.py"):
        if "site-packages" not in candidate.parts:
            _read(candidate, folder, parsed)


def seeds_read(program: Sequence[SourceFile]) -> tuple[str, ...]:
    """The sources of noise whose seeds a program's text reads, from their variables or by toolnoise's helpers."""
    texts = ["\n".join(source.lines) for source in program]
    return tuple(
        source
        for source in ALGORITHMIC
        if any(
            f"{SEED}{source.upper()}" in text or (HELPED.search(text) and re.search(HELPERS[source], text))
            for text in texts
        )
    )


def imported(program: Sequence[SourceFile]) -> set[str]:
    """The first names of all modules that a program's text imports."""
    nodes = [node for source in program for node in ast.walk(source.tree)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in names}


def reads(program: Sequence[SourceFile], name: str) -> bool:
    """Whether a program uses an attribute, a variable or a key of this name, such as `args.seed`; of a.b, b counts."""
    name = name.rpartition(".")[2]
    return any(
        name in (getattr(node, key, None) for key in ("attr", "id", "arg", "value"))
        for source in program
        for node in ast.walk(source.tree)
    )
