"""Lines of a program's text: the variables that one reads, and the branch that separates two of them."""

import ast
import functools
from pathlib import Path

from toolnoise.base import code_text

BRANCHES = (ast.If, ast.While, ast.For)


@functools.lru_cache(maxsize=64)
def _read(file: Path) -> tuple[list[str], ast.Module | None]:
    try:
        text = file.read_text("utf-8")
        return text.splitlines(), code_text.parsed(text)
    except (OSError, UnicodeDecodeError, *code_text.UNREADABLE):
        return [], None


def text(file: str, line: int) -> str:
    """A line of a program."""
    lines, _ = _read(Path(file).resolve())
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def names(file: str, line: int) -> set[str]:
    """The variables that the statement of a line reads; those in the body of a loop do not count for its first line."""
    _, tree = _read(Path(file).resolve())
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)] if tree else []
    around = [node for node in statements if node.lineno <= line <= (node.end_lineno or node.lineno)]
    if not around:
        return set()
    inner = min(around, key=lambda node: (node.end_lineno or node.lineno) - node.lineno)
    parts: list[ast.AST] = [inner]
    if isinstance(inner, BRANCHES):
        parts = [inner.iter] if isinstance(inner, ast.For) else [inner.test]
    elif isinstance(inner, (ast.With, ast.AsyncWith)):
        parts = list(inner.items)
    elif isinstance(inner, (ast.FunctionDef, ast.ClassDef)):
        return set()
    read = (node for part in parts for node in ast.walk(part) if isinstance(node, ast.Name))
    # x += 1 reads x.
    target = {inner.target.id} if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name) else set()
    return target | {node.id for node in read if isinstance(node.ctx, ast.Load)}


def branch(file: str, line: int, other: int) -> int | None:
    """The line of the innermost branch or loop that has one of two lines in a part of it, and not the other."""
    _, tree = _read(Path(file).resolve())
    found = []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, BRANCHES):
            sides = [[_within(part, at) for part in (node.body, node.orelse)] for at in (line, other)]
            if sides[0] != sides[1]:
                # Both within it, in different parts: that is sure.
                found.append((not (any(sides[0]) and any(sides[1])), (node.end_lineno or 0) - node.lineno, node.lineno))
    return min(found)[2] if found else None


def _within(part: list[ast.stmt], line: int) -> bool:
    return any(each.lineno <= line <= (each.end_lineno or each.lineno) for each in part)
