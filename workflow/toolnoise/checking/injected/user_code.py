"""The user's own code, not that of Python, of installed packages or of toolnoise: its lines, loops and imports."""

import ast
import functools
import importlib.machinery
import importlib.util
import os
import re
import sys
import sysconfig
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))
STARTED = os.path.join(os.getcwd(), "")
INSTALLED = tuple(
    {os.path.join(sysconfig.get_paths()[kind], "") for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
)
PACKAGES = tuple(os.path.join(os.sep, each, "") for each in ("site-packages", "dist-packages", "workflow/toolnoise"))
IMPORTS = "<frozen importlib._bootstrap>"

# Functions of a library with a loop that trains; callbacks, which loop to save, have other names.
TRAINS = re.compile(r"run|advance|_?(inner_)?(fit|train)\w*")

Place = tuple[str, int]
NOWHERE: Place = ("", 0)
Loop = ast.For | ast.While | ast.AsyncFor
_names: dict[str, str] = {}


def name_of(file: str) -> str:
    """The file of some code as a person would write it; empty if it is not the user's."""
    if file not in _names:
        # A program may change its folder; compiled code has names of files that are not there.
        path = os.path.normpath(os.path.join(STARTED, file))
        is_foreign = path.startswith((HERE, *INSTALLED)) or any(part in path for part in PACKAGES)
        name = path.removeprefix(STARTED) if os.path.isfile(path) and not is_foreign else ""
        _names[file] = "-c" if file == "<string>" and "-c" in sys.orig_argv else name
    return _names[file]


def place_of(frame: FrameType | None) -> Place:
    """The innermost line of the user's code on a stack; nowhere if a package is being imported, or none is there."""
    while frame is not None and frame.f_code.co_filename != IMPORTS:
        if file := name_of(frame.f_code.co_filename):
            return file, frame.f_lineno
        frame = frame.f_back
    return NOWHERE


def current_place() -> Place:
    """The innermost line of the user's code; that of the main thread if this one has none, as in a backward pass."""
    place = place_of(sys._getframe(1))
    if place == NOWHERE and threading.current_thread() is not threading.main_thread():
        return place_of(sys._current_frames().get(threading.main_thread().ident or 0))
    return place


# The loops around a line, what counts them, and the functions that run


@functools.cache
def _tree(file: str) -> ast.AST | None:
    try:
        return ast.parse(Path(file).read_text("utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None


def loops_around(frame: FrameType) -> list[Loop]:
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


def value_of(name: str, frame: FrameType) -> Any:
    """The value of a name, or of an attribute such as self.epoch; None if there is none."""
    root, *attributes = name.split(".")
    value = frame.f_locals.get(root, frame.f_globals.get(root))
    for each in attributes:
        value = getattr(value, "__dict__", {}).get(each)
    return value


def stack(frame: FrameType | None) -> list[FrameType]:
    """The frames from a line outwards that are the program's own, or those of a library's loop that trains."""
    frames = []
    while frame:
        code = frame.f_code
        if name_of(code.co_filename) or ("site-packages" in code.co_filename and TRAINS.fullmatch(code.co_name)):
            frames.append(frame)
        frame = frame.f_back
    return frames


# Functions that are called once the program has imported a module


class _Finder:
    """Finds a module as usual, and calls its function when it has run."""

    def __init__(self, functions: Mapping[str, Callable[[ModuleType], object]]) -> None:
        self._functions = dict(functions)

    def find_spec(self, name: str, _path: Any, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        function = self._functions.pop(name, None)
        spec = importlib.util.find_spec(name) if function else None
        if function and spec and spec.loader:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                function(module)

            spec.loader.exec_module = exec_module
        return spec


def after_import(functions: Mapping[str, Callable[[ModuleType], object]]) -> None:
    """Call each function with the module of its name."""
    sys.meta_path.insert(0, _Finder(functions))
