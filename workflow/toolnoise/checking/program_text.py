"""The source text of a program: scripts, modules and `-c` in its command line, and the local modules they import.

Nothing is imported or run. Installed packages are left out.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import code_digest
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.checking.launch import SEED

MOST_FILES, MOST_BYTES = 200, 1 << 20
# Patterns for the use of toolnoise's own helpers, by the source whose seed the helper reads.
HELPED = re.compile(r"^\s*(from|import) toolnoise\b", re.MULTILINE)
HELPERS = {
    "init": r"\bseeds\.init\b",
    "shuffle": r"\bseeds\.(shuffle|loader)\b|\barguments\(",
    "augment": r"\bseeds\.augment\b",
    "dropout": r"\bseeds\.dropout\b|\bSources\(",
}


class SourceFile(NamedTuple):
    """One file of a program: its short name, its lines and its syntax tree."""

    file: str
    lines: list[str]
    tree: ast.Module


def program_files(words: Sequence[str], folder: Path) -> list[SourceFile]:
    """The files of the program that a command starts in a folder, in the order in which they are found."""
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
        return SourceFile(file, text.splitlines(), code_digest.parse_python(text))
    except code_digest.UNREADABLE:
        return None


def _imported(tree: ast.Module, home: Path, bases: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Each module that may be imported, with each folder that may contain it."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        names, level = [alias.name for alias in node.names], getattr(node, "level", 0)
        if isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [module, *(f"{module}.{name}".lstrip(".") for name in names)]
        where = [home, *home.parents][level - 1 : level] if level else bases
        yield from ((base, name) for name in names if name for base in where)


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


def imported_modules(program: Sequence[SourceFile]) -> set[str]:
    """The top-level names of all modules that a program's text imports."""
    nodes = [node for source in program for node in ast.walk(source.tree)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in names}


def options_of(program: Sequence[SourceFile]) -> dict[str, str]:
    """The strings in a program's text that look like options, with the default in the call that declares them."""
    nodes = [node for source in program for node in ast.walk(source.tree)]
    found = {
        str(node.value): ""
        for node in nodes
        if isinstance(node, ast.Constant) and re.fullmatch(r"--[a-z][a-z0-9_-]+", str(node.value))
    }
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        for name in (word.value for word in call.args if isinstance(word, ast.Constant) and word.value in found):
            default = next((keyword.value for keyword in call.keywords if keyword.arg == "default"), None)
            found[name] = str(getattr(default, "value", ""))
    return found


def canonical_option(option: str) -> str:
    """An option, spelled with hyphens."""
    return "--" + option[2:].replace("_", "-")


def code_of(file: str, line: int, text: Sequence[SourceFile] = ()) -> str:
    """The text of a line, from the files of the program or else from the disk; empty if there is none."""
    lines = next((source.lines for source in text if source.file == file), None)
    if lines is None:
        try:
            lines = Path(file).read_text("utf-8", errors="replace").splitlines()
        except OSError:
            return ""
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""
