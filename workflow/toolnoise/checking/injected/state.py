"""The state of a program at a save, and at the same line after resuming, read from within its process.

A save is a file that is written within a loop. The process that saves writes its state and ends when it next reaches
the first line of the loop's body. A process that resumes writes its state when it first reaches that line after it has
read the saved file, and when it is at the same position in its loops. The state has all values that the program's
variables lead to, and all generators: for each its kind, a digest, and a short text.
"""

import functools
import gc
import inspect
import itertools
import json
import math
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

import toolnoise_injected as kinds
from toolnoise_injected.user_code import (
    HERE,
    INSTALLED,
    after_import,
    assigned_names,
    first_lines,
    loop_counters,
    loops_around,
    name_of,
    user_frames,
    value_of,
)
from toolnoise_injected.values import array_of, attributes_of, crc_of, digest_of_value, global_generators, state_of

MOST_LINES = 5_000
# Files that are hardly checkpoints, though written in a loop; used if the places of checkpoints are not known.
NO_CHECKPOINT = (".csv", ".tsv", ".log", ".txt", ".jsonl", ".png", ".pdf", ".svg", ".pyc", ".lock", ".md", ".html")
NOT_WRITTEN_BY_A_PROGRAM = ("/dev/", "/proc/", "/sys/")
MOST_SECONDS, MOST_NAMES = 60, 5
AVERAGE = re.compile(r"(^|[._])(ema|swa|shadow|polyak|avg|averaged?)(_|\d|\b)|(EMA|Averaged|MovingAverage)", re.ASCII)
# Kinds by the name of an object's class, or of one of its base classes.
CLASSES = {
    "Optimizer": kinds.OPTIMISER,
    "LRScheduler": kinds.SCHEDULER,
    "GradScaler": kinds.SCALER,
    "Sampler": kinds.SAMPLER,
}
# Classes of generators that are also looked for among objects that no variable leads to.
WITHOUT_NAMES = ("Generator", "RandomState", "SeedGenerator")
# Names that paths leave out, since they mean nothing to a user.
SILENT = {"_parameters", "_buffers", "_modules"}
# Modules of Python's library whose objects hold values of the program.
HOLDERS = {"types", "collections", "functools", "itertools", "builtins"}
NO_STATE = (
    *(types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.GetSetDescriptorType),
    *(types.MemberDescriptorType, classmethod, staticmethod, property),
)

Place = dict[str, int | str]
State = dict[str, Any]


def start(task: Mapping[str, Any]) -> None:
    """Observe this process; ranks other than 0 are not observed."""
    if os.environ.get("RANK", "0") != "0":
        return
    observer = _Observer(task)
    sys.addaudithook(observer.heard)
    # Libraries that open files without Python: for each function, the number of the argument that is a path.
    wrote, read = observer.wrote, observer.read
    both = {"save_file": (1, wrote), "load_file": (0, read)}
    functions: dict[str, dict[str, tuple[int, Callable]]] = {
        "torch": {"save": (1, wrote)},
        "h5py": {"File": (0, lambda path, mode: (read if mode == "r" else wrote)(path))},
        **{f"safetensors.{library}": both for library in ("torch", "numpy", "flax", "tensorflow")},
    }
    after_import({name: functools.partial(_wrap, wrapped) for name, wrapped in functions.items()})


class _Observer:
    """Watches one process of a program."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        """Wait for a save, or for the line at which a process that saved has ended."""
        self.task, self.resumes = task, task["resumes"]
        self._busy = False
        # The lines that are waited for, by file; the files of this save; the number of saves.
        self._lines: dict[str, list[tuple[int, int]]] = {}
        self._written: list[str] = []
        self._saver: tuple[str, int] | None = None
        self._saves = 0
        # Only for a process that resumes.
        self._has_read = False
        self._states: dict[str, State] = {}
        self._drawn: dict[str, tuple[str, int, bool]] = {}
        self._watched: dict[str, tuple[Callable[[], int], int]] = {}
        self._steps, self._reached, self._last = 0, 0, ("", 0)
        if self.resumes:
            self._saved = json.loads(Path(task["saved"]).read_text())
            file, *lines = self._saved["lines"]
            self._lines = {file: [tuple(lines)]}

    # Files

    def heard(self, event: str, arguments: tuple) -> None:
        """Handle the audit events of opened and renamed files."""
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
        """Whether this is not the main thread, or the observer itself is at work."""
        return self._busy or threading.current_thread() is not threading.main_thread()

    def read(self, path: str | bytes | os.PathLike) -> None:
        """Note that a saved file is read, and wait for the line from then on."""
        if not self.resumes or self._has_read or str(Path(os.fsdecode(path)).absolute()) not in self._saved["written"]:
            return
        self._has_read = True
        for frame in user_frames(sys._getframe(2)):
            frame.f_trace = self._line
        sys.settrace(self._follow)

    def wrote(self, path: str | bytes | os.PathLike) -> None:
        """Note a file that may be a checkpoint, and wait for the next step of the loops in which it is written."""
        path = str(Path(os.fsdecode(path)).absolute())
        if not self._is_checkpoint(path):
            return
        if self.resumes:
            if self._states:
                self._end()
            return
        self._busy = True
        frames = user_frames(sys._getframe(2))
        lines: dict[str, list[tuple[int, int]]] = {}
        for frame in frames:
            for loop in loops_around(frame):
                lines.setdefault(frame.f_code.co_filename, []).append(first_lines(loop))
            frame.f_trace = self._line
        if lines:
            self._lines, own = lines, [each for each in frames if name_of(each.f_code.co_filename)]
            self._written.append(path)
            self._saver = (own[0].f_code.co_filename, own[0].f_lineno) if own else None
            sys.settrace(self._follow)
        self._busy = False

    def _is_checkpoint(self, path: str) -> bool:
        if any(path == place or path.startswith(place + os.sep) for place in self.task["places"]):
            return True
        out = (*self.task["left_out"], HERE, *INSTALLED, *NOT_WRITTEN_BY_A_PROGRAM)
        return self.task["anywhere"] and not path.endswith(NO_CHECKPOINT) and not path.startswith(out)

    # Lines

    def _follow(self, frame: types.FrameType, _event: str, _value: Any) -> Callable | None:
        """Trace the functions that have a line to wait for; if generators are watched, trace all of the user's code."""
        code = frame.f_code
        waited = self._lines.get(code.co_filename, ())
        if waited and any(a <= line <= b for a, b in waited for _, _, line in code.co_lines() if line):
            return self._line
        return self._line if self._watched and name_of(code.co_filename) else None

    def _line(self, frame: types.FrameType, event: str, _value: Any) -> Callable:
        """Handle a line that is reached."""
        if event == "line" and not self._is_elsewhere():
            self._busy = True
            if self._watched:
                self._watch(frame)
            if any(a <= frame.f_lineno <= b for a, b in self._lines.get(frame.f_code.co_filename, ())):
                (self._resumed if self.resumes else self._stepped)(frame)
            self._busy = False
        return self._line

    def _stepped(self, frame: types.FrameType) -> None:
        """At the first step after a save, write the state and end if it is the save to stop after."""
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
        """Write the state when the line is first reached after reading the save, and again at the same position."""
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
                for each in user_frames(frame):
                    each.f_trace = self._line
        self._end_if_over()

    def _watch(self, frame: types.FrameType) -> None:
        """Find the line that first draws from each watched generator."""
        self._steps += 1
        for path in [path for path, (state, before) in self._watched.items() if state() != before]:
            del self._watched[path]
            # The flag says that it draws only after the line is reached again: an earlier draw matters more.
            self._drawn[path] = (*self._last, self._reached > 1)
        self._last = frame.f_code.co_filename, frame.f_lineno
        if self._steps >= MOST_LINES:
            self._watched = {}
        self._end_if_over()

    def _end_if_over(self) -> None:
        """End once the position is reached, and all watched generators have drawn or MOST_LINES lines have run."""
        if not self._watched and ("same" in self._states or (self._states and not self._saved["place"])):
            self._end()

    def _end(self) -> NoReturn:
        self._busy = True
        self._write({"states": self._states, "drawn": self._drawn})
        os._exit(0)

    # State

    def _place(self, frame: types.FrameType) -> Place:
        """The position of the program in its loops: the values of their counters."""
        place: Place = {}
        for each in user_frames(frame):
            for name in (name for loop in loops_around(each) for name in loop_counters(loop)):
                value = value_of(name, each)
                if isinstance(value, int | str) and not isinstance(value, bool):
                    place.setdefault(name, value)
        return place

    def _state(self, frame: types.FrameType) -> tuple[State, Mapping[str, Callable[[], int]]]:
        """The state, with all values that the program's variables lead to; and the generators among these values."""
        values = Values(program_variables(frame))
        loops = [loop for each in user_frames(frame) for loop in loops_around(each)]
        state = {
            "place": self._place(frame),
            "line": (frame.f_code.co_filename, frame.f_lineno),
            "leaves": values.leaves,
            "names": values.names,
            "scopes": scopes_of_variables(frame),
            "counters": sorted({name for loop in loops for name in loop_counters(loop)}),
            "changed": sorted({name for loop in loops for name in assigned_names(loop)}),
            "files": [module.__file__ for module in own_modules() if getattr(module, "__file__", None)],
            "is_whole": values.is_whole,
        }
        return state, values.generators

    def _write(self, values: Mapping[str, Any]) -> None:
        """Write the values to the state's file, whole or not at all."""
        file = Path(self.task["state"])
        scratch = file.with_suffix(".new")
        scratch.write_text(json.dumps(values))
        scratch.replace(file)


def _wrap(functions: Mapping[str, tuple[int, Callable]], module: types.ModuleType) -> None:
    """Let functions of a module report their path argument, and classes the path and mode of a new object."""
    for name, (number, hear) in functions.items():
        original = getattr(module, name)
        is_class = inspect.isclass(original)
        wrapped = _reporting(original.__init__ if is_class else original, number, hear, is_class=is_class)
        setattr(*((original, "__init__") if is_class else (module, name)), wrapped)


def _reporting(called: Callable, number: int, hear: Callable, *, is_class: bool) -> Callable:
    def reporting(*arguments: Any, **named: Any) -> Any:
        given = arguments[is_class + number :]
        if given and isinstance(given[0], str | os.PathLike):
            mode = [*given[1:], named.get("mode", "r")][0]
            hear(given[0], *[mode] * is_class)
        return called(*arguments, **named)

    return reporting


# All values that variables lead to


def own_modules() -> list[types.ModuleType]:
    """The program's own modules, including the main module."""
    modules = [each for each in list(sys.modules.values()) if isinstance(each, types.ModuleType)]
    return [each for each in modules if each.__name__ == "__main__" or name_of(getattr(each, "__file__", None) or "")]


def program_variables(frame: types.FrameType) -> list[tuple[str, Any]]:
    """The program's variables: those of its modules, then those of its running functions, the innermost last."""
    variables: dict[str, Any] = {}
    for each in user_frames(frame):
        if name_of(each.f_code.co_filename) and each.f_code.co_name != "<module>":
            variables = each.f_locals | variables
    for module in own_modules():
        prefix = "" if module.__name__ == "__main__" else f"{module.__name__}."
        variables = {f"{prefix}{each}": value for each, value in vars(module).items()} | variables
    return [(name, value) for name, value in variables.items() if not name.rpartition(".")[2].startswith("__")]


def scopes_of_variables(frame: types.FrameType) -> dict[str, tuple[str, int, int]]:
    """The file and lines of the function, for each variable of running functions; the innermost function counts."""
    found: dict[str, tuple[str, int, int]] = {}
    for each in reversed(user_frames(frame)):
        if each.f_code.co_name != "<module>":
            lines = [line for _, _, line in each.f_code.co_lines() if line]
            found |= dict.fromkeys(each.f_locals, (each.f_code.co_filename, min(lines), max(lines)))
    return found


class Values:
    """All values that some variables lead to, by path: the kind, a digest, a short text, and the path of the owner."""

    def __init__(self, variables: Iterable[tuple[str, Any]]) -> None:
        """Read all values, for at most MOST_SECONDS seconds."""
        self.leaves: dict[str, tuple[str, int, str, str]] = {}
        self.generators: dict[str, Callable[[], int]] = {}
        self.names: dict[str, list[str]] = {}
        # The objects are kept, so that no other object gets the id of one that was seen.
        self._paths: dict[int, str] = {}
        self._kept: list[Any] = []
        until = time.monotonic() + MOST_SECONDS
        # Breadth first, so that each object has its shortest path; its kind and the owner of that kind go with it.
        waiting = deque((path, kinds.OTHER, path, value) for path, value in variables)
        while waiting and len(self.leaves) < kinds.MOST_VALUES and time.monotonic() < until:
            # Reading an object may raise any exception: then it is left out, and the program goes on.
            with suppress(Exception):
                waiting.extend(self._look(*waiting.popleft()))
        self.is_whole = not waiting
        self._further_generators()

    def _generator(self, path: str, maker: str, *values: Any) -> None:
        self.generators[path] = lambda: digest_of_value([state_of(each) for each in values])
        self.leaves[path] = kinds.GENERATOR, self.generators[path](), maker, path

    def _look(self, path: str, kind: str, owner: str, value: Any) -> list[tuple[str, str, str, Any]]:
        """Note a value, or return its parts."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            kind = kinds.NUMBER if kind == kinds.OTHER else kind
            self.leaves[path] = kind, digest_of_value(value), repr(value)[:80], owner
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
        if not is_class and state_of(value) is not None:
            self._generator(path, class_of(value), value)
            return []
        array = None if is_class else array_of(value, math.inf)
        if array is not None and not array.dtype.hasobject:
            its = _kind_of_array(value)
            kind = its if kind == kinds.OTHER or its == kinds.GENERATOR else kind
            self.leaves[path] = kind, crc_of(array, digest_of_value(array.shape)), "", owner
            return []
        its = self._kind(path, kind, value)
        owner = path if its == kinds.OTHER or its != kind else owner
        if isinstance(value, dict | list | deque):
            kind, count = kinds.ITEMS if its == kinds.OTHER else its, len(value)
            self.leaves[f"len({path})"] = kind, digest_of_value(count), str(count), owner
        if isinstance(value, types.GeneratorType) and value.gi_frame:
            # A generator that has not begun has no variables yet.
            self.leaves[path] = kinds.POSITION, value.gi_frame.f_lasti, "", path
        return [(key, its, owner, part) for key, part in parts_of(path, value)]

    @staticmethod
    def _kind(path: str, kind: str, value: Any) -> str:
        names = [each.__name__ for each in type(value).__mro__]
        if its := next((its for name, its in CLASSES.items() if name in names), None):
            return its
        return kinds.AVERAGES if AVERAGE.search(path) or AVERAGE.search(names[0]) else kind

    def _further_generators(self) -> None:
        """Note the generators that no variable leads to, and the global ones."""
        every, count = global_generators(), 0
        for value in gc.get_objects():
            is_new = id(value) not in self._paths and not any(value is each for each in every.values())
            if type(value).__name__ in WITHOUT_NAMES and is_new and state_of(value) is not None:
                count += 1
                self._generator(f"without a name ({count})", class_of(value), value)
        for name, value in every.items():
            self._generator(name, name, value)
        torch = sys.modules.get("torch")
        if torch and torch.cuda.is_available() and torch.cuda.is_initialized():
            self._generator("torch.cuda", "torch.cuda", *torch.cuda.default_generators)


def class_of(value: Any) -> str:
    """The name of an object's class, with its library."""
    return f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"


def _kind_of_array(value: Any) -> str:
    is_jax = type(value).__module__.startswith("jax")
    # Keys of JAX; older keys are plain arrays of two words.
    if is_jax and (str(value.dtype).startswith("key<") or (str(value.dtype), value.shape) == ("uint32", (2,))):
        return kinds.GENERATOR
    return kinds.WEIGHTS if getattr(value, "requires_grad", False) else kinds.ARRAY


def parts_of(path: str, value: Any) -> list[tuple[str, Any]]:
    """The parts of an object: its items, attributes and closure variables, each with its path."""
    if isinstance(value, dict):
        keys = (repr(key) if isinstance(key, str | int | float | tuple) else str(n) for n, key in enumerate(value))
        return [(f"{path}[{key}]", each) for key, each in zip(keys, list(value.values()), strict=False)]
    if isinstance(value, list | tuple | deque):
        names = getattr(value, "_fields", None)
        return [(f"{path}.{names[n]}" if names else f"{path}[{n}]", each) for n, each in enumerate(value)]
    if isinstance(value, types.FunctionType):
        kept = inspect.getclosurevars(value).nonlocals if name_of(value.__code__.co_filename) else {}
        return [(f"{path}.{name}", each) for name, each in kept.items()]
    if isinstance(value, types.MethodType):
        return [(path, value.__self__)]
    if isinstance(value, types.GeneratorType):
        variables = value.gi_frame.f_locals if value.gi_frame else {}
        return [(f"{path}.{name}", each) for name, each in variables.items()]
    if isinstance(value, itertools.count):
        return [(path, repr(value))]
    if isinstance(value, type) and not name_of(getattr(sys.modules.get(value.__module__), "__file__", None) or ""):
        return []
    module = type(value).__module__.partition(".")[0]
    if module == "keras":
        return _parts_of_keras(path, value)
    is_closed = module == "tensorflow" or (module in sys.stdlib_module_names and module not in HOLDERS)
    return [] if is_closed else _attributes(path, value)


def _attributes(path: str, value: Any) -> list[tuple[str, Any]]:
    """The attributes of an object, without methods."""
    return [
        (path if name in SILENT else f"{path}.{name}", part)
        for name, part in attributes_of(value).items()
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
