"""Where a program is in its own code: the loops around a line, what counts them, and the functions that run."""

import ast
import functools
import re
import types
from pathlib import Path
from typing import Any

from toolnoise_injected.places import name_of

# Functions of a library with a loop that trains; callbacks, which loop to save, have other names.
TRAINS = re.compile(r"run|advance|_?(inner_)?(fit|train)\w*")
Loop = ast.For | ast.While | ast.AsyncFor


@functools.cache
def _tree(file: str) -> ast.AST | None:
    try:
        return ast.parse(Path(file).read_text("utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None


def loops_around(frame: types.FrameType) -> list[Loop]:
    """The loops around the line at which a frame is, the outer one first."""
    loops, node, line = [], _tree(frame.f_code.co_filename), frame.f_lineno
    while node is not None:
        node = next((each for each in ast.iter_child_nodes(node) if _has(each, line)), None)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            loops = []
        elif isinstance(node, Loop) and line >= node.body[0].lineno:
            loops.append(node)
    return loops


def _has(node: ast.AST, line: int) -> bool:
    return getattr(node, "lineno", line + 1) <= line <= getattr(node, "end_lineno", line - 1)


def first_lines(loop: Loop) -> tuple[int, int]:
    """The first and last line of the first statement of a loop's body, without the block of that statement."""
    first = loop.body[0]
    block = getattr(first, "body", None)
    return first.lineno, max(first.lineno, block[0].lineno - 1) if isinstance(block, list) else first.end_lineno


def counters(loop: Loop) -> list[str]:
    """What says where a loop is: names, or attributes such as self.epoch."""
    nodes = list(ast.walk(loop.test if isinstance(loop, ast.While) else loop.target))
    inner = [each.value for each in nodes if isinstance(each, ast.Attribute)]
    return sorted({ast.unparse(n) for n in nodes if isinstance(n, ast.Name | ast.Attribute) and n not in inner})


def assigned(loop: Loop) -> set[str]:
    """The names that a loop assigns."""
    return {each.id for each in ast.walk(loop) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def value_of(name: str, frame: types.FrameType) -> Any:
    """The value of a name, or of an attribute such as self.epoch; None if there is none."""
    root, *attributes = name.split(".")
    value = frame.f_locals.get(root, frame.f_globals.get(root))
    for each in attributes:
        value = getattr(value, "__dict__", {}).get(each)
    return value


def stack(frame: types.FrameType | None) -> list[types.FrameType]:
    """The frames from a line outwards that are the program's own, or those of a library's loop that trains."""
    frames = []
    while frame:
        code = frame.f_code
        if name_of(code.co_filename) or ("site-packages" in code.co_filename and TRAINS.fullmatch(code.co_name)):
            frames.append(frame)
        frame = frame.f_back
    return frames
