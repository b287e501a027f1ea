"""Arrays that are made without values, and whether the program fills them before it reads them."""

import ast
import re
from collections.abc import Iterator

from toolnoise.checking.causes import LIKELY, POSSIBLE
from toolnoise.checking.reader import Reader, targets

EMPTY = re.compile(r"(numpy\.(empty|empty_like|ndarray)|torch\.(empty|empty_like|empty_strided))$")
FILLS = re.compile(r"\.(fill|copy_|zero_|\w+_)$|\.copyto$|\.init\.\w+_$")


def unfilled(reader: Reader) -> Iterator[tuple[ast.AST, int]]:
    """Where an array without values is made that nothing fills, as far as the text shows; or some part after part."""
    whole, parts = _filled(reader)
    for call, name in reader.calls:
        above = reader.above[call]
        if EMPTY.fullmatch(name) and isinstance(above, ast.Assign | ast.AnnAssign):
            handle = reader.handle(targets(above)[0])
            if handle and handle not in whole:
                yield call, POSSIBLE if handle in parts else LIKELY


def _filled(reader: Reader) -> tuple[set[str], set[str]]:
    """The names and attributes that are filled at once: by [:] = ..., by a method, as out=...; and those in parts."""
    filled, parts = set(), set()
    for node in reader.nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if not isinstance(reader.above[node], ast.AugAssign):
                at_once = ast.unparse(node.slice) in (":", "...")
                (filled if at_once else parts).add(reader.handle(node.value))
        elif isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "out")]
            if FILLS.search(reader.name(node.func)):
                given += [node.func.value] if isinstance(node.func, ast.Attribute) else []
            elif any(keyword.arg == "out" for keyword in node.keywords):
                given = given[len(node.args) :]
            else:
                # A function of the program, or of a library, may fill what it is given.
                given = [part for part in node.args if not reader.name(node.func).startswith(("numpy.", "torch."))]
            filled |= {reader.handle(part) for part in given}
    return filled, parts
