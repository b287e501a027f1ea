"""Rewrite the user's code, so that each call, loop and awaited value goes through the recorder.

Code is rewritten when it is imported. The script that Python starts is rewritten, too: a path hook makes Python import
it. Installed code is left alone, and so are functions that a compiler reads (Numba, torch.compile).
"""

import ast
import builtins
import concurrent.futures
import copy
import importlib.util
import multiprocessing.pool
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType
from typing import Any

from toolnoise_injected import recording
from toolnoise_injected.user_code import name_of

# The names of the recorder's functions in rewritten code: no program uses them, and pickled functions keep them.
CALL, ITERATE, ADDED, AWAITED, STEPPED, HOT, STARTING = (
    f"_toolnoise_{what}" for what in ("call", "iterate", "added", "awaited", "stepped", "hot", "script")
)
# Functions that look at their caller's frame, and plain functions that give equal results for equal inputs.
FRAMES = {
    *("super", "locals", "globals", "vars", "dir", "eval", "exec", "compile", "breakpoint", "currentframe", "stack"),
    *("_getframe", "namedtuple", "NamedTuple", "TypedDict", "NewType", "TypeVar", "ParamSpec", "Enum", "IntEnum"),
    *("make_dataclass", "warn", "query", "evaluate"),
}
PLAIN = {
    *("len", "range", "isinstance", "issubclass", "abs", "bool", "callable", "chr", "ord", "divmod", "getattr"),
    *("hasattr", "setattr", "int", "float", "type", "zip", "enumerate", "round", "property", "print", "slice"),
    *("ValueError", "TypeError", "RuntimeError", "KeyError"),
}
# Statements that a hot version of a loop must not repeat.
DECLARATIONS = (ast.Global, ast.Nonlocal, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
PATIENCE = 20.0  # seconds to wait for a thread before the next one starts, since it may wait for another thread
COMPILED = re.compile(r"\b(njit|numba|vectorize|guvectorize|stencil|triton|torch\.compile)\b|\bcuda\.jit\b")


def start(task: Mapping[str, Any]) -> None:
    """Observe this process: rewrite all the user's code that it imports or starts from now on."""
    recording.start(task)
    if task["in_turn"]:
        _run_in_turn()
    for name, value in (
        (CALL, recording.call),
        (ITERATE, recording.iterate),
        (ADDED, recording.added),
        (AWAITED, recording.awaited),
        (STEPPED, recording.stepped),
        (HOT, recording.hot),
        (STARTING, _as_script),
    ):
        setattr(builtins, name, value)
    read = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, name: str) -> CodeType | None:
        path = loader.get_filename(name)
        if not name_of(path):
            return read(loader, name)
        try:
            return rewrite_code(loader.get_data(path), path, starts=isinstance(loader, _ScriptLoader))
        except (SyntaxError, ValueError, RecursionError, OSError):
            # Python itself reports the error.
            return read(loader, name)

    SourceFileLoader.get_code = get_code
    sys.path_hooks.insert(0, _hook)
    words = getattr(sys, "orig_argv", [])
    if sys.argv[:1] == ["-c"] and "-c" in words and "multiprocessing" not in words[words.index("-c") + 1]:
        _rewrite_command_line()


def rewrite_code(source: bytes | str, path: str, *, starts: bool = False) -> CodeType:
    """The compiled code of a file, with its calls going through the recorder."""
    tree = ast.parse(source, path)
    tree = _Rewriter(name_of(path)).visit(tree)
    if starts:
        first = ast.parse(f"{STARTING}(globals())").body[0]
        # Docstrings and imports from `__future__` must come before it.
        place = 0
        while place < len(tree.body) and (_is_docstring(tree.body[place]) or _is_future(tree.body[place])):
            place += 1
        tree.body.insert(place, first)
    ast.fix_missing_locations(tree)
    recording.rewritten_files.add(path)
    return compile(tree, path, "exec", dont_inherit=True)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


class _Rewriter(ast.NodeTransformer):
    def __init__(self, file: str) -> None:
        self._file, self._shared = file, [set[str]()]
        # Whether the visited code is the hot version of a loop, of which only the branches are recorded.
        self._is_hot = False

    def visit(self, node: ast.AST) -> Any:
        """Visit a node; in the hot version of a loop, expressions stay as they are."""
        return node if self._is_hot and isinstance(node, ast.expr) else super().visit(node)

    def _branch(self, node: ast.AST) -> ast.AST:
        """Visit a branch: it is recorded even within a hot loop."""
        before, self._is_hot = self._is_hot, False
        self.generic_visit(node)
        self._is_hot = before
        return node

    visit_If = visit_ExceptHandler = visit_match_case = visit_ClassDef = _branch

    def _place(self, node: ast.AST) -> ast.Constant:
        # All calls in a chain start at the same column, so the place has its end, too.
        return ast.Constant(f"{self._file}:{node.lineno}:{node.col_offset}-{node.end_lineno}.{node.end_col_offset}")

    def _handed(self, function: str, node: ast.AST, *parts: ast.expr) -> ast.expr:
        """A call of the recorder that replaces an expression."""
        call = ast.Call(ast.Name(function, ast.Load()), [self._place(node), *parts], [])
        return ast.copy_location(call, node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = getattr(getattr(node.func, "value", None), "id", "")
        is_plain = (isinstance(node.func, ast.Name) and name in PLAIN) or owner == "math"
        if name in FRAMES or is_plain:
            return node
        handed = self._handed(CALL, node, node.func)
        handed.args += node.args
        handed.keywords = node.keywords
        return handed

    def visit_For(self, node: ast.For) -> ast.AST:
        self.visit_While(node)
        if not self._is_hot:
            node.iter = self._handed(ITERATE, node.iter, node.iter)
        return node

    def visit_While(self, node: Any) -> Any:
        """Give a loop a second version of its body, for all steps after the first recording.OFTEN."""
        inner = [each for part in node.body for each in ast.walk(part)]
        if self._is_hot or any(isinstance(each, DECLARATIONS) for each in inner):
            self.generic_visit(node)
            return node
        self._is_hot = True
        hot = [self.visit(each) for each in copy.deepcopy(node.body)]
        self._is_hot = False
        self.generic_visit(node)
        test = ast.Compare(self._place(node), [ast.In()], [ast.Name(HOT, ast.Load())])
        counted = ast.Expr(self._handed(STEPPED, node))
        node.body = [ast.copy_location(ast.If(test, hot, [counted, *node.body]), node)]
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        if not node.is_async:
            node.iter = self._handed(ITERATE, node.iter, node.iter)
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = self._handed(ITERATE, node.value, node.value)
        return node

    def visit_Await(self, node: ast.Await) -> ast.expr:
        self.generic_visit(node)
        return self._handed(AWAITED, node, node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        # Only targets that threads may share: parts of an object, and global or nonlocal variables.
        if not self._is_hot and (not isinstance(node.target, ast.Name) or node.target.id in self._shared[-1]):
            node.value = self._handed(ADDED, node, node.value)
        return node

    def _function(self, node: Any) -> ast.AST:
        if any(COMPILED.search(ast.unparse(each)) for each in node.decorator_list):
            return node
        before, self._is_hot = self._is_hot, False
        inner = (each for each in ast.walk(node) if isinstance(each, ast.Global | ast.Nonlocal))
        self._shared.append({name for each in inner for name in each.names})
        # Annotations are left as they are: some are read as text.
        node.decorator_list = [self.visit(each) for each in node.decorator_list]
        node.args.defaults = [self.visit(each) for each in node.args.defaults]
        node.args.kw_defaults = [each and self.visit(each) for each in node.args.kw_defaults]
        node.body = [self.visit(each) for each in node.body]
        self._shared.pop()
        self._is_hot = before
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = node.value and self.visit(node.value)
        return node


class _ScriptLoader(SourceFileLoader):
    """Loads the script that Python was started with, or that is run by its path."""


class _Script:
    """Finds the code of one script, as Python looks for the code of a folder or an archive."""

    def __init__(self, path: str) -> None:
        self._path = path

    def find_spec(self, name: str, _target: Any = None) -> ModuleSpec | None:
        if name != "__main__":
            return None
        return importlib.util.spec_from_file_location(name, self._path, loader=_ScriptLoader(name, self._path))


def _hook(path: str) -> _Script:
    if os.path.isfile(path) and name_of(path) and (path.endswith(".py") or _has_interpreter(path)):
        return _Script(os.path.abspath(path))
    raise ImportError(path)


def _has_interpreter(path: str) -> bool:
    with open(path, "rb") as file:
        first = file.readline(200)
    return first.startswith(b"#!") and b"python" in first


def _as_script(names: dict[str, Any]) -> None:
    """Give a script the variables and the sys.path that Python itself would have given it."""
    names["__spec__"] = names["__package__"] = names["__cached__"] = None
    if sys.path and os.path.abspath(sys.path[0]) == os.path.abspath(names["__file__"]):
        folder = os.path.dirname(os.path.realpath(names["__file__"]))
        sys.path[:1] = [] if getattr(sys.flags, "safe_path", False) else [folder]


def _rewrite_command_line() -> None:
    """Run the rewritten text of `python -c` instead of the original."""
    is_running = False

    def instead(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal is_running
        if event != "cpython.run_command" or is_running:
            return
        is_running = True
        try:
            code = rewrite_code(arguments[0], "<string>")
        except (SyntaxError, ValueError):
            return
        exec(code, sys.modules["__main__"].__dict__)  # noqa: S102 (the program itself)
        raise SystemExit(0)

    sys.addaudithook(instead)


# An experiment


def _run_in_turn() -> None:
    """Let threads and submitted work run one after another: the starter waits for each, for at most PATIENCE."""
    start, submit = threading.Thread.start, concurrent.futures.ThreadPoolExecutor.submit

    def start_and_wait(thread: threading.Thread) -> None:
        start(thread)
        if not thread.daemon:
            thread.join(PATIENCE)

    def submit_and_wait(pool: Any, function: Callable, /, *args: Any, **kwargs: Any) -> Any:
        threading.Thread.start = start
        try:
            future = submit(pool, function, *args, **kwargs)
        finally:
            threading.Thread.start = start_and_wait
        concurrent.futures.wait([future], PATIENCE)
        return future

    def in_order(futures: Iterable[Any], timeout: float | None = None) -> Iterator[Any]:
        for future in list(futures):
            concurrent.futures.wait([future], timeout)
            yield future

    threading.Thread.start = start_and_wait
    concurrent.futures.ThreadPoolExecutor.submit = submit_and_wait
    concurrent.futures.as_completed = concurrent.futures._base.as_completed = in_order
    multiprocessing.pool.Pool.imap_unordered = multiprocessing.pool.Pool.imap
