"""Lines, loops and imports of the user's own code, as opposed to Python, installed packages and toolnoise."""

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

# Names of library functions with a training loop; callbacks, which loop to save, have other names.
TRAINS = re.compile(r"run|advance|_?(inner_)?(fit|train)\w*")

Place = tuple[str, int]
NOWHERE: Place = ("", 0)
Loop = ast.For | ast.While | ast.AsyncFor
_names: dict[str, str] = {}


def name_of(file: str) -> str:
    """The name of a file of the user's code, relative to the start folder if below it; empty for any other code."""
    if file not in _names:
        # A program may change its folder, and some code has the name of a file that does not exist.
        path = os.path.normpath(os.path.join(STARTED, file))
        is_foreign = path.startswith((HERE, *INSTALLED)) or any(part in path for part in PACKAGES)
        name = path.removeprefix(STARTED) if os.path.isfile(path) and not is_foreign else ""
        _names[file] = "-c" if file == "<string>" and "-c" in sys.orig_argv else name
    return _names[file]


def place_of(frame: FrameType | None) -> Place:
    """The innermost line of the user's code on a stack; NOWHERE within an import, or if there is no such line."""
    while frame is not None and frame.f_code.co_filename != IMPORTS:
        if file := name_of(frame.f_code.co_filename):
            return file, frame.f_lineno
        frame = frame.f_back
    return NOWHERE


def current_place() -> Place:
    """The innermost line of the user's code; if this thread has none, as in a backward pass, the main thread's line."""
    place = place_of(sys._getframe(1))
    if place == NOWHERE and threading.current_thread() is not threading.main_thread():
        return place_of(sys._current_frames().get(threading.main_thread().ident or 0))
    return place


# Loops around a line, their counters, and running functions


@functools.cache
def _tree(file: str) -> ast.AST | None:
    try:
        return ast.parse(Path(file).read_text("utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None


def loops_around(frame: FrameType) -> list[Loop]:
    """The loops around a frame's current line, the outermost first."""
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


def loop_counters(loop: Loop) -> list[str]:
    """The names and attributes, such as self.epoch, that show how far a loop is."""
    nodes = list(ast.walk(loop.test if isinstance(loop, ast.While) else loop.target))
    inner = [each.value for each in nodes if isinstance(each, ast.Attribute)]
    return sorted({ast.unparse(n) for n in nodes if isinstance(n, ast.Name | ast.Attribute) and n not in inner})


def assigned_names(loop: Loop) -> set[str]:
    """The names that a loop assigns."""
    return {each.id for each in ast.walk(loop) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def value_of(name: str, frame: FrameType) -> Any:
    """The value of a name, or of an attribute such as self.epoch; None if there is none."""
    root, *attributes = name.split(".")
    value = frame.f_locals.get(root, frame.f_globals.get(root))
    for each in attributes:
        value = getattr(value, "__dict__", {}).get(each)
    return value


def user_frames(frame: FrameType | None) -> list[FrameType]:
    """The frames, from this one outwards, that belong to the program itself or to a library's training loop."""
    frames = []
    while frame:
        code = frame.f_code
        if name_of(code.co_filename) or ("site-packages" in code.co_filename and TRAINS.fullmatch(code.co_name)):
            frames.append(frame)
        frame = frame.f_back
    return frames


# Functions that are called once the program has imported a module


class _Finder:
    """Finds a module as usual, and calls the function for its name after the module has run."""

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
    """Call each function with the module of its name, once that is imported."""
    sys.meta_path.insert(0, _Finder(functions))
