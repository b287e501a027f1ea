"""Choices that fall on what was fastest: the least of durations, or one less than the best so far."""

import ast
import re
from collections.abc import Iterator

from toolnoise.checking.clocks import TIMES
from toolnoise.checking.reader import Reader, targets

CHOOSES = re.compile(r"(^|\.)(min|max|sorted|nsmallest|nlargest)$")
LEAST = re.compile(r"\.(idxmin|arg(min|max|sort))$")


def choices(reader: Reader) -> Iterator[ast.AST]:
    """Where a choice among several falls by their durations."""
    held = _held(reader)
    for node in reader.nodes:
        if isinstance(node, ast.Call):
            name = reader.name(node.func)
            # The least of durations is itself a duration; with a key, or in pairs, it is a choice.
            pairs = any(isinstance(part, ast.Call) and reader.name(part.func) == "zip" for part in node.args)
            chooses = LEAST.search(name) or (CHOOSES.search(name) and ("key" in reader.keywords(node) or pairs))
            if chooses and _is_timed(reader, node, held):
                yield node
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and _is_timed(reader, node.test, held):
            parts = [part for each in node.body if isinstance(each, ast.Assign) for part in ast.walk(each)]
            kept = {reader.handle(part) for part in parts if isinstance(getattr(part, "ctx", None), ast.Store)} - {""}
            compared = {reader.handle(part) for part in ast.walk(node.test)}
            if kept & compared and kept - compared:
                yield node


def _held(reader: Reader) -> set[str]:
    """The names and attributes that have durations, and the functions that return one, as name()."""
    held: set[str] = set()
    for _ in range(3):
        for node in reader.nodes:
            value = getattr(node, "value", None)
            if isinstance(node, ast.Assign | ast.AnnAssign) and value:
                places = [part for target in targets(node) for part in getattr(target, "elts", [target])]
            elif isinstance(node, ast.Call) and reader.name(node.func).endswith(".append") and node.args:
                value, places = node.args[0], [node.func.value]
            elif isinstance(node, ast.Return) and value:
                if _is_timed(reader, value, held) and (inside := reader.function(node)):
                    outer = reader.function(inside)
                    held |= {f"{each.name}()" for each in (inside, *_decorated(reader, outer))}
                continue
            else:
                continue
            if _is_timed(reader, value, held):
                bases = (place.value if isinstance(place, ast.Subscript) else place for place in places)
                held |= {reader.handle(base) for base in bases} - {""}
    return held


def _decorated(reader: Reader, decorator: ast.AST | None) -> Iterator[ast.FunctionDef]:
    """The functions that a function of this file decorates."""
    for node in reader.nodes if decorator else ():
        if isinstance(node, ast.FunctionDef) and decorator.name in map(reader.name, node.decorator_list):
            yield node


def _is_timed(reader: Reader, value: ast.AST, held: set[str]) -> bool:
    """Whether a value has a duration in it."""
    for part in ast.walk(value):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub):
            ends = [part.left, reader.held.get(reader.handle(part.left))]
            if any(isinstance(end, ast.Call) and TIMES.fullmatch(reader.name(end.func)) for end in ends):
                return True
        called = isinstance(part, ast.Call) and f"{reader.name(part.func).rpartition('.')[2]}()" in held
        if called or reader.handle(part) in held:
            return True
    return False
