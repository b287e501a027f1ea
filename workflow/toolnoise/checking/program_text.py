"""The source text of a program, as far as its command line names it: scripts, modules, `-c`, and what they import here.

Nothing is imported or run. Modules of installed packages are left out. Signs are patterns for what no observer sees:
each makes a place possible, and proves nothing.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import code_digest
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.checking import causes
from toolnoise.checking.causes import Place
from toolnoise.checking.launch import SEED

MOST_FILES, MOST_BYTES = 200, 1 << 20
# How programs use toolnoise's own helpers, by the source whose seed these read.
HELPED = re.compile(r"^\s*(from|import) toolnoise\b", re.MULTILINE)
HELPERS = {
    "init": r"\bseeds\.init\b",
    "shuffle": r"\bseeds\.(shuffle|loader)\b|\barguments\(",
    "augment": r"\bseeds\.augment\b",
    "dropout": r"\bseeds\.dropout\b|\bSources\(",
}


# Of Python's own text.
SIGNS = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("memory", r"\b(np|numpy|torch|cp|cupy)\.(empty|empty_like|empty_strided)\(|\.new_empty\("),
        ("database", r"(?i)order\s+by\s+(random|rand|newid)\s*\("),
        ("shell", r"\bshuf\b[\"' ]|\bsort\s+(-R|--random-sort)\b|\"sort\", *\"(-R|--random-sort)\"|/dev/u?random"),
        ("clock", r"\bsignal\.(alarm|setitimer)\(|\bthreading\.Timer\("),
        ("ready", r"\b(as_completed|imap_unordered)\(|\bFIRST_COMPLETED\b"),
    )
)
SHELL = re.compile(r"\b(RANDOM|SRANDOM|EPOCHREALTIME|EPOCHSECONDS)\b|\bshuf\b|\bsort\s+(-R|--random-sort)\b|\$\$|"
                   r"/dev/u?random|\bmktemp\b|\bdate\b|\buuidgen\b|\bwait\s+-n\b")  # fmt: skip
SCRIPTS = (".sh", ".bash", ".zsh")


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
        return SourceFile(file, text.splitlines(), code_digest.parse_python(text))
    except code_digest.UNREADABLE:
        return None


def _imported(tree: ast.Module, home: Path, bases: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    """Each module that may be imported, with each folder in which it may lie."""
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


def imported(program: Sequence[SourceFile]) -> set[str]:
    """The first names of all modules that a program's text imports."""
    nodes = [node for source in program for node in ast.walk(source.tree)]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.partition(".")[0] for name in names}


def options_of(program: Sequence[SourceFile]) -> dict[str, str]:
    """The options in a program's text: all texts like one, with the default in the call that declares them."""
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


def canonical(option: str) -> str:
    """An option with hyphens."""
    return "--" + option[2:].replace("_", "-")


def signs(program: Sequence[SourceFile], words: Sequence[str]) -> list[Place]:
    """Places of a program that may make runs differ, in the order of their files."""
    return [*_of_python(program), *_of_shell(words)]


def _of_python(program: Sequence[SourceFile]) -> Iterator[Place]:
    for source in program:
        for number, line in enumerate(_without_comments(source.lines), 1):
            for kind, pattern in SIGNS:
                if pattern.search(line):
                    yield causes.place(kind, source.file, number, source.lines[number - 1].strip())


def _without_comments(lines: Sequence[str]) -> list[str]:
    """The lines of a text, without comments and texts that stand alone."""
    kept = list(lines)
    try:
        before = tokenize.NEWLINE
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            first, last = token.start[0] - 1, token.end[0] - 1
            if token.type == tokenize.COMMENT:
                kept[first] = kept[first][: token.start[1]]
            elif token.type == tokenize.STRING and before in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                kept[first : last + 1] = [""] * (last + 1 - first)
            if token.type not in (tokenize.NL, tokenize.COMMENT):
                before = token.type
    except (tokenize.TokenError, SyntaxError, IndexError):
        return list(lines)
    return kept


def _of_shell(words: Sequence[str]) -> Iterator[Place]:
    for number, word in enumerate(words):
        is_text = number and words[number - 1] == "-c" and Path(words[number - 2]).name in ("sh", "bash", "zsh", "dash")
        path = Path(word)
        if is_text:
            lines, name = word.splitlines(), "-c"
        elif word.endswith(SCRIPTS) and path.is_file() and path.stat().st_size <= MOST_BYTES:
            lines, name = path.read_text("utf-8", errors="replace").splitlines(), word
        else:
            continue
        for at, line in enumerate(lines, 1):
            if SHELL.search(line.partition(" #")[0]) and not line.lstrip().startswith("#"):
                yield causes.place("shell", name, at, line.strip())
