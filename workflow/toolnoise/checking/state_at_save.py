"""The state of a program at its save, and at the same line after it has resumed: seen from within its process.

This file runs in the program's interpreter, as its `sitecustomize`: it needs Python alone, and imports nothing of
toolnoise. `forgotten_state.py` copies it, starts the program under it, and compares what two processes wrote.

A save is a file that is written within a loop. The line that counts is the first of the loop's body, when it is reached
next: there, the process that saves writes its state and ends. A process that resumes writes its state when it first
reaches that line after it has read what was saved, and when it is at the same place in its loops. The state is all that
the program's variables lead to, and all generators.
"""

import ast
import gc
import hashlib
import importlib.machinery
import importlib.util
import inspect
import itertools
import json
import os
import re
import sys
import threading
import time
import types
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

# The variable that names a JSON file with what is to be observed.
TASK = "TOOLNOISE_STATE"
MOST_VALUES, MOST_SECONDS, MOST_LINES, MOST_NAMES = 100_000, 60, 5_000, 5
# What is written in a loop and hardly a checkpoint, where the places of checkpoints are not known.
NO_CHECKPOINT = (".csv", ".tsv", ".log", ".txt", ".jsonl", ".png", ".pdf", ".svg", ".pyc", ".lock", ".md", ".html")
NOT_WRITTEN_BY_A_PROGRAM = ("/dev/", "/proc/", "/sys/")
# Functions of a library with a loop that trains; callbacks, which loop to save, have other names.
TRAINS = re.compile(r"run|advance|_?(inner_)?(fit|train)\w*")
AVERAGE = re.compile(r"(^|[._])(ema|swa|shadow|polyak|avg|averaged?)(_|\d|\b)|(EMA|Averaged|MovingAverage)", re.ASCII)
GENERATOR, OPTIMISER, SCHEDULER, SCALER, AVERAGES = "generator", "optimiser", "scheduler", "scaler", "average"
SAMPLER, POSITION, WEIGHTS, ARRAY = "sampler", "position", "weights", "array"
NUMBER, ITEMS, OTHER = "number", "items", "other"
# By the name of a class in an object's line of descent.
CLASSES = {"Optimizer": OPTIMISER, "LRScheduler": SCHEDULER, "GradScaler": SCALER, "Sampler": SAMPLER}
# These names say nothing to a person.
SILENT = {"_parameters", "_buffers", "_modules"}
# Modules of Python's own whose objects hold values of the program.
HOLDERS = {"types", "collections", "functools", "itertools", "builtins"}
NO_STATE = (
    *(types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.GetSetDescriptorType),
    *(types.MemberDescriptorType, classmethod, staticmethod, property),
)
LIBRARY = (str(Path(os.__file__).parent) + os.sep, str(Path(__file__).resolve().parent) + os.sep)

Loop = ast.For | ast.While | ast.AsyncFor
Place = dict[str, int | str]
State = dict[str, Any]


def is_own(file: str) -> bool:
    """Whether a file is the program's own: no library's, and not this one."""
    return bool(file) and not file.startswith(("<", *LIBRARY)) and "site-packages" not in file


# Loops


class Loops:
    """The loops in files, by the lines within."""

    def __init__(self) -> None:
        """Read no file yet."""
        self._trees: dict[str, ast.AST | None] = {}

    def around(self, frame: types.FrameType) -> list[Loop]:
        """The loops around the line at which a frame is, the outer one first."""
        name = frame.f_code.co_filename
        if name not in self._trees:
            try:
                self._trees[name] = ast.parse(Path(name).read_text("utf-8"))
            except (OSError, SyntaxError, ValueError):
                self._trees[name] = None
        loops, node, line = [], self._trees[name], frame.f_lineno
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
        if is_own(code.co_filename) or ("site-packages" in code.co_filename and TRAINS.fullmatch(code.co_name)):
            frames.append(frame)
        frame = frame.f_back
    return frames


# Values


def own_modules() -> list[types.ModuleType]:
    """The program's own modules, the one that was started among them."""
    modules = [each for each in list(sys.modules.values()) if isinstance(each, types.ModuleType)]
    return [each for each in modules if each.__name__ == "__main__" or is_own(getattr(each, "__file__", None) or "")]


def roots(frame: types.FrameType) -> list[tuple[str, Any]]:
    """The program's variables: those of its modules, then those of its functions that run, the innermost last."""
    variables: dict[str, Any] = {}
    for each in stack(frame):
        if is_own(each.f_code.co_filename) and each.f_code.co_name != "<module>":
            variables = each.f_locals | variables
    for module in own_modules():
        prefix = "" if module.__name__ == "__main__" else f"{module.__name__}."
        variables = {f"{prefix}{each}": value for each, value in vars(module).items()} | variables
    return [(name, value) for name, value in variables.items() if not name.rpartition(".")[2].startswith("__")]


def scopes(frame: types.FrameType) -> dict[str, tuple[str, int, int]]:
    """Of each variable of a function that runs, the file and the lines of the function; the innermost counts."""
    found: dict[str, tuple[str, int, int]] = {}
    for each in reversed(stack(frame)):
        if each.f_code.co_name != "<module>":
            lines = [line for _, _, line in each.f_code.co_lines() if line]
            found |= dict.fromkeys(each.f_locals, (each.f_code.co_filename, min(lines), max(lines)))
    return found


class Values:
    """All values that some variables lead to, by path: the kind, a digest, what a person reads, and who has it."""

    def __init__(self, variables: Iterable[tuple[str, Any]]) -> None:
        """Look at everything, at most MOST_SECONDS."""
        self.leaves: dict[str, tuple[str, str, str, str]] = {}
        self.generators: dict[str, Callable[[], bytes]] = {}
        self.names: dict[str, list[str]] = {}
        # The objects are kept, so that no other one gets the number of one that was seen.
        self._paths: dict[int, str] = {}
        self._kept: list[Any] = []
        self.libraries = {name: sys.modules.get(name) for name in ("numpy", "torch", "jax", "keras")}
        until = time.monotonic() + MOST_SECONDS
        # Breadth first: each object has its shortest path. With it go its kind, and the object that has that kind.
        waiting = deque((path, OTHER, path, value) for path, value in variables)
        while waiting and len(self.leaves) < MOST_VALUES and time.monotonic() < until:
            # An object may refuse any question: then it is left out, and the program goes on.
            with suppress(Exception):
                waiting.extend(self._look(*waiting.popleft()))
        self.is_whole = not waiting
        self._without_names()
        self._of_libraries()

    def _add(self, path: str, kind: str, owner: str, content: bytes, shown: str = "") -> None:
        self.leaves[path] = kind, hashlib.blake2b(content, digest_size=16).hexdigest(), shown, owner

    def _generator(self, path: str, maker: str, state: Callable[[], bytes]) -> None:
        self.generators[path] = state
        self._add(path, GENERATOR, path, state(), maker)

    def _look(self, path: str, kind: str, owner: str, value: Any) -> list[tuple[str, str, str, Any]]:
        """Note a value, or return its parts."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            shown = repr(value)
            self._add(path, NUMBER if kind == OTHER else kind, owner, shown.encode(), shown[:80])
            return []
        if isinstance(value, types.ModuleType):
            return []
        if id(value) in self._paths:
            names = self.names.setdefault(self._paths[id(value)], [])
            names += [path] if len(names) < MOST_NAMES else []
            return []
        self._paths[id(value)] = path
        self._kept.append(value)
        is_class = isinstance(value, type)
        if not is_class and (state := state_of(value, self.libraries)):
            self._generator(path, class_of(value), state)
            return []
        if not is_class and (array := array_of(value, self.libraries)):
            its, content = array
            self._add(path, its if kind == OTHER or its == GENERATOR else kind, owner, content)
            return []
        its = self._kind(path, kind, value)
        owner = path if its == OTHER or its != kind else owner
        if isinstance(value, dict | list | deque):
            shown = str(len(value))
            self._add(f"len({path})", ITEMS if its == OTHER else its, owner, shown.encode(), shown)
        if isinstance(value, types.GeneratorType) and value.gi_frame:
            # One that has not begun has no variables yet.
            self._add(path, POSITION, path, str(value.gi_frame.f_lasti).encode())
        return [(key, its, owner, part) for key, part in parts_of(path, value)]

    @staticmethod
    def _kind(path: str, kind: str, value: Any) -> str:
        names = [each.__name__ for each in type(value).__mro__]
        if its := next((its for name, its in CLASSES.items() if name in names), None):
            return its
        return AVERAGES if AVERAGE.search(path) or AVERAGE.search(names[0]) else kind

    def _without_names(self) -> None:
        """The generators that no variable leads to."""
        count = 0
        for value in gc.get_objects():
            if type(value).__name__ in ("Generator", "RandomState", "SeedGenerator") and id(value) not in self._paths:
                state = state_of(value, self.libraries)
                if state and value is not getattr(sys.modules.get("numpy.random.mtrand"), "_rand", None):
                    count += 1
                    self._generator(f"without a name ({count})", class_of(value), state)

    def _of_libraries(self) -> None:
        """The global generators."""
        import random

        self._generator("random", "random", lambda: repr(random.getstate()).encode())
        numpy, torch = self.libraries["numpy"], self.libraries["torch"]
        if numpy and "numpy.random" in sys.modules:
            self._generator("numpy.random", "numpy.random", lambda: _plain(numpy, numpy.random.get_state(legacy=False)))
        if torch:
            self._generator("torch", "torch", lambda: _bytes(torch.get_rng_state()))
            if torch.cuda.is_available() and torch.cuda.is_initialized():
                states = torch.cuda.get_rng_state_all
                self._generator("torch.cuda", "torch.cuda", lambda: b"".join(map(_bytes, states())))


def class_of(value: Any) -> str:
    """The name of an object's class, with its library."""
    return f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"


def state_of(value: Any, libraries: Mapping[str, Any]) -> Callable[[], bytes] | None:
    """A function that returns a generator's state; None for anything else."""
    numpy, torch, name = libraries["numpy"], libraries["torch"], type(value).__name__
    if name == "Random" and hasattr(value, "getstate"):
        return lambda: repr(value.getstate()).encode()
    if numpy and name in ("Generator", "RandomState") and type(value).__module__.startswith("numpy"):
        bits = value.bit_generator if name == "Generator" else value._bit_generator
        return lambda: _plain(numpy, bits.state)
    if torch and isinstance(value, torch.Generator):
        return lambda: _bytes(value.get_state().cpu())
    if libraries["keras"] and name == "SeedGenerator":
        return lambda: numpy.asarray(value.state.value).tobytes()
    return None


def _plain(numpy: Any, state: Any) -> bytes:
    """A state of dictionaries, numbers and arrays as bytes."""
    with numpy.printoptions(threshold=sys.maxsize):
        return repr(state).encode()


def array_of(value: Any, libraries: Mapping[str, Any]) -> tuple[str, bytes] | None:
    """The kind of an array and its bytes; None for anything else."""
    numpy, jax = libraries["numpy"], libraries["jax"]
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "untyped_storage"):
        return WEIGHTS if value.requires_grad else ARRAY, _bytes(value.detach().cpu().contiguous())
    if numpy is None:
        return None
    if jax and isinstance(value, jax.Array):
        is_key = jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)
        content = numpy.asarray(jax.random.key_data(value) if is_key else value)
        # Keys of the older kind are plain arrays of two words.
        is_key = is_key or (content.dtype == numpy.uint32 and content.shape == (2,))
        return GENERATOR if is_key else ARRAY, content.tobytes()
    if hasattr(value, "shape") and callable(getattr(value, "numpy", None)):
        value = numpy.asarray(value.numpy())
    if isinstance(value, numpy.ndarray | numpy.generic) and not value.dtype.hasobject:
        return ARRAY, numpy.ascontiguousarray(value).tobytes() + str(value.shape).encode()
    return None


def _bytes(tensor: Any) -> bytes:
    return tensor.reshape(-1).view(sys.modules["torch"].uint8).numpy().tobytes()


def parts_of(path: str, value: Any) -> list[tuple[str, Any]]:
    """What an object leads to: its items, attributes and closures, each with its path."""
    if isinstance(value, dict):
        keys = (repr(key) if isinstance(key, str | int | float | tuple) else str(n) for n, key in enumerate(value))
        return [(f"{path}[{key}]", each) for key, each in zip(keys, list(value.values()), strict=False)]
    if isinstance(value, list | tuple | deque):
        names = getattr(value, "_fields", None)
        return [(f"{path}.{names[n]}" if names else f"{path}[{n}]", each) for n, each in enumerate(value)]
    if isinstance(value, types.FunctionType):
        kept = inspect.getclosurevars(value).nonlocals if is_own(value.__code__.co_filename) else {}
        return [(f"{path}.{name}", each) for name, each in kept.items()]
    if isinstance(value, types.MethodType):
        return [(path, value.__self__)]
    if isinstance(value, types.GeneratorType):
        variables = value.gi_frame.f_locals if value.gi_frame else {}
        return [(f"{path}.{name}", each) for name, each in variables.items()]
    if isinstance(value, itertools.count):
        return [(path, repr(value))]
    if isinstance(value, type) and not is_own(getattr(sys.modules.get(value.__module__), "__file__", None) or ""):
        return []
    module = type(value).__module__.partition(".")[0]
    if module == "keras":
        return _parts_of_keras(path, value)
    is_closed = module == "tensorflow" or (module in sys.stdlib_module_names and module not in HOLDERS)
    return [] if is_closed else _attributes(path, value)


def _attributes(path: str, value: Any) -> list[tuple[str, Any]]:
    """The attributes of an object, private ones too, but no methods."""
    parts = dict(getattr(value, "__dict__", {}))
    slots = [each for kind in type(value).__mro__ for each in getattr(kind, "__slots__", ())]
    parts |= {name: getattr(value, name) for name in slots if isinstance(name, str) and hasattr(value, name)}
    return [
        (path if name in SILENT else f"{path}.{name}", part)
        for name, part in parts.items()
        if not (name.startswith("__") or isinstance(part, NO_STATE))
    ]


def _parts_of_keras(path: str, value: Any) -> list[tuple[str, Any]]:
    """The variables of a Keras model or optimiser, and the generators of its layers."""
    if hasattr(value, "_flatten_layers"):
        layers = [each for each in value._flatten_layers() if hasattr(each, "seed_generator")]
        parts = [(f"{path}.{each.name}.seed_generator", each.seed_generator) for each in layers]
        parts += [(f"{path}.{each.path}", each) for each in value.weights]
        return parts + [(f"{path}.optimizer", value.optimizer)] * bool(getattr(value, "optimizer", None))
    if hasattr(value, "apply_gradients"):
        return [(f"{path}.{each.path}", each) for each in value.variables]
    return [(path, value.value)] if hasattr(value, "value") else []


# The process


class Observer:
    """Watches one process of a program."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        """Wait for a save, or for the line at which a process that saved has ended."""
        self.task, self.resumes = task, task["resumes"]
        self._loops, self._busy = Loops(), False
        # The lines that are waited for, by file; the files of this save; the number of saves.
        self._lines: dict[str, list[tuple[int, int]]] = {}
        self._written: list[str] = []
        self._saver: tuple[str, int] | None = None
        self._saves = 0
        # Of a process that resumes.
        self._has_read = False
        self._states: dict[str, State] = {}
        self._drawn: dict[str, tuple[str, int, bool]] = {}
        self._watched: dict[str, tuple[Callable[[], bytes], bytes]] = {}
        self._steps, self._reached, self._last = 0, 0, ("", 0)
        if self.resumes:
            self._saved = json.loads(Path(task["saved"]).read_text())
            file, *lines = self._saved["lines"]
            self._lines = {file: [tuple(lines)]}

    # Files

    def heard(self, event: str, arguments: tuple) -> None:
        """Hear of a file that is opened or renamed."""
        if event not in ("open", "os.rename") or self._is_elsewhere():
            return
        if event == "os.rename":
            self.wrote(arguments[1])
            return
        path, mode, flags = arguments
        if isinstance(path, str | bytes):
            opened = flags if isinstance(flags, int) and not mode else 0
            if any(letter in (mode or "") for letter in "wx+") or opened & (os.O_WRONLY | os.O_RDWR):
                self.wrote(path)
            elif "a" not in (mode or ""):
                self.read(path)

    def _is_elsewhere(self) -> bool:
        """Whether this is another thread than the first one of its process, or the observer's own doing."""
        return self._busy or threading.current_thread() is not threading.main_thread()

    def read(self, path: str | bytes | os.PathLike) -> None:
        """Note that what was saved is read, and wait for the line from then on."""
        if not self.resumes or self._has_read or str(Path(os.fsdecode(path)).absolute()) not in self._saved["written"]:
            return
        self._has_read = True
        for frame in stack(sys._getframe(2)):
            frame.f_trace = self._line
        sys.settrace(self._follow)

    def wrote(self, path: str | bytes | os.PathLike) -> None:
        """Note a file that may be a checkpoint, and wait for the next step of the loops that it is written in."""
        path = str(Path(os.fsdecode(path)).absolute())
        if not self._is_checkpoint(path):
            return
        if self.resumes:
            if self._states:
                self._end()
            return
        self._busy = True
        frames = stack(sys._getframe(2))
        lines: dict[str, list[tuple[int, int]]] = {}
        for frame in frames:
            for loop in self._loops.around(frame):
                lines.setdefault(frame.f_code.co_filename, []).append(first_lines(loop))
            frame.f_trace = self._line
        if lines:
            self._lines, own = lines, [each for each in frames if is_own(each.f_code.co_filename)]
            self._written.append(path)
            self._saver = (own[0].f_code.co_filename, own[0].f_lineno) if own else None
            sys.settrace(self._follow)
        self._busy = False

    def _is_checkpoint(self, path: str) -> bool:
        if any(path == place or path.startswith(place + os.sep) for place in self.task["places"]):
            return True
        out = (*self.task["left_out"], *LIBRARY, *NOT_WRITTEN_BY_A_PROGRAM)
        return self.task["anywhere"] and not path.endswith(NO_CHECKPOINT) and not path.startswith(out)

    # Lines

    def _follow(self, frame: types.FrameType, _event: str, _value: Any) -> Callable | None:
        """Follow the lines of functions that have a line which is waited for, and all if generators are watched."""
        code = frame.f_code
        waited = self._lines.get(code.co_filename, ())
        if waited and any(a <= line <= b for a, b in waited for _, _, line in code.co_lines() if line):
            return self._line
        return self._line if self._watched and is_own(code.co_filename) else None

    def _line(self, frame: types.FrameType, event: str, _value: Any) -> Callable:
        """Hear of a line that is reached."""
        if event == "line" and not self._is_elsewhere():
            self._busy = True
            if self._watched:
                self._watch(frame)
            if any(a <= frame.f_lineno <= b for a, b in self._lines.get(frame.f_code.co_filename, ())):
                (self._resumed if self.resumes else self._stepped)(frame)
            self._busy = False
        return self._line

    def _stepped(self, frame: types.FrameType) -> None:
        """Write the state at the first step after a save, and end if it is the save to stop after."""
        self._saves += 1
        sys.settrace(None)
        is_last = self._saves >= self.task["saves"]
        if self.task["stop_at"]:
            printed = Path(self.task["log"]).read_text("utf-8", errors="replace")
            is_last = re.search(self.task["stop_at"], printed)
        if is_last:
            file = frame.f_code.co_filename
            lines = next(each for each in self._lines[file] if each[0] <= frame.f_lineno <= each[1])
            self._write(
                self._state(frame)[0] | {"lines": [file, *lines], "written": self._written, "saver": self._saver}
            )
            os._exit(0)
        self._lines, self._written = {}, []

    def _resumed(self, frame: types.FrameType) -> None:
        """Write the state at the line for the first time after reading what was saved, and at the same place."""
        self._reached += 1
        place = self._place(frame)
        is_same = bool(place) and place == self._saved["place"]
        for name, is_now in (("first", True), ("same", is_same)):
            if not is_now or name in self._states:
                continue
            self._states[name], generators = self._state(frame)
            self._write({"states": self._states, "drawn": self._drawn})
            if len(self._states) == 1:
                self._last = frame.f_code.co_filename, frame.f_lineno
                now, saved = self._states[name]["leaves"], self._saved["leaves"]
                lost = [path for path in generators if path in saved and saved[path][1] != now[path][1]]
                self._watched = {path: (generators[path], generators[path]()) for path in lost}
                for each in stack(frame):
                    each.f_trace = self._line
        self._end_if_over()

    def _watch(self, frame: types.FrameType) -> None:
        """Find the line that draws first from each generator."""
        self._steps += 1
        for path in [path for path, (state, before) in self._watched.items() if state() != before]:
            del self._watched[path]
            # Whether it does so only after the line is reached again: what is used at once counts for more.
            self._drawn[path] = (*self._last, self._reached > 1)
        self._last = frame.f_code.co_filename, frame.f_lineno
        if self._steps >= MOST_LINES:
            self._watched = {}
        self._end_if_over()

    def _end_if_over(self) -> None:
        """End once the place is reached and each generator has drawn, or enough lines have run."""
        if not self._watched and ("same" in self._states or (self._states and not self._saved["place"])):
            self._end()

    def _end(self) -> NoReturn:
        self._busy = True
        self._write({"states": self._states, "drawn": self._drawn})
        os._exit(0)

    # State

    def _place(self, frame: types.FrameType) -> Place:
        """Where the program is in its loops, by what counts them."""
        place: Place = {}
        for each in stack(frame):
            for name in (name for loop in self._loops.around(each) for name in counters(loop)):
                value = value_of(name, each)
                if isinstance(value, int | str) and not isinstance(value, bool):
                    place.setdefault(name, value)
        return place

    def _state(self, frame: types.FrameType) -> tuple[State, Mapping[str, Callable[[], bytes]]]:
        """All that the program's variables lead to; and the generators among it."""
        values = Values(roots(frame))
        loops = [loop for each in stack(frame) for loop in self._loops.around(each)]
        state = {
            "place": self._place(frame),
            "line": (frame.f_code.co_filename, frame.f_lineno),
            "leaves": values.leaves,
            "names": values.names,
            "scopes": scopes(frame),
            "counters": sorted({name for loop in loops for name in counters(loop)}),
            "changed": sorted({name for loop in loops for name in assigned(loop)}),
            "files": [module.__file__ for module in own_modules() if getattr(module, "__file__", None)],
            "is_whole": values.is_whole,
        }
        return state, values.generators

    def _write(self, values: Mapping[str, Any]) -> None:
        """Write what is known, whole or not at all."""
        file = Path(self.task["state"])
        scratch = file.with_suffix(".new")
        scratch.write_text(json.dumps(values))
        scratch.replace(file)


class Finder:
    """Hears of libraries that open files past Python: their functions are wrapped once they are imported."""

    def __init__(self, observer: Observer) -> None:
        """Wrap functions by the number of the argument that is a path."""
        wrote, read = observer.wrote, observer.read
        both = {"save_file": (1, wrote), "load_file": (0, read)}
        self._wrapped: dict[str, dict[str, tuple[int, Callable]]] = {
            "torch": {"save": (1, wrote)},
            "h5py": {"File": (0, lambda path, mode: (read if mode == "r" else wrote)(path))},
            **{f"safetensors.{library}": both for library in ("torch", "numpy", "flax", "tensorflow")},
        }

    def find_spec(self, name: str, _path: Any, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Find a module as usual, and wrap its functions when it has run."""
        wrapped = self._wrapped.pop(name, None)
        spec = importlib.util.find_spec(name) if wrapped else None
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                execute(module)
                for function, (number, hear) in wrapped.items():
                    _wrap(module, function, number, hear)

            spec.loader.exec_module = exec_module
        return spec


def _wrap(module: types.ModuleType, name: str, number: int, hear: Callable) -> None:
    """Have a function report the path that it is given, or the making of an object the path and the mode."""
    original = getattr(module, name)
    is_class = inspect.isclass(original)
    called = original.__init__ if is_class else original

    def heard(*arguments: Any, **named: Any) -> Any:
        given = arguments[is_class + number :]
        if given and isinstance(given[0], str | os.PathLike):
            mode = [*given[1:], named.get("mode", "r")][0]
            hear(given[0], *[mode] * is_class)
        return called(*arguments, **named)

    if is_class:
        original.__init__ = heard
    else:
        setattr(module, name, heard)


def start() -> None:
    """Import the sitecustomize that would have been next, and observe this process if the environment asks for it."""
    here = str(Path(__file__).parent)
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", [each for each in sys.path if each != here])
    if spec and spec.loader:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    task = os.environ.get(TASK)
    if task and os.environ.get("RANK", "0") == "0":
        observer = Observer(json.loads(Path(task).read_text()))
        sys.addaudithook(observer.heard)
        sys.meta_path.insert(0, Finder(observer))


if __name__ == "sitecustomize":
    start()
