"""All that a program's variables lead to, and all generators: of each its kind, a digest, and what a person reads."""

import gc
import inspect
import itertools
import math
import re
import sys
import time
import types
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from toolnoise_injected import kinds
from toolnoise_injected.digests import digest
from toolnoise_injected.loops import stack
from toolnoise_injected.places import name_of
from toolnoise_injected.values import array_of, crc_of, global_generators, state_of

MOST_SECONDS, MOST_NAMES = 60, 5
AVERAGE = re.compile(r"(^|[._])(ema|swa|shadow|polyak|avg|averaged?)(_|\d|\b)|(EMA|Averaged|MovingAverage)", re.ASCII)
# By the name of a class in an object's line of descent.
CLASSES = {
    "Optimizer": kinds.OPTIMISER,
    "LRScheduler": kinds.SCHEDULER,
    "GradScaler": kinds.SCALER,
    "Sampler": kinds.SAMPLER,
}
# Classes of generators that are looked for where no variable leads.
WITHOUT_NAMES = ("Generator", "RandomState", "SeedGenerator")
# These names say nothing to a person.
SILENT = {"_parameters", "_buffers", "_modules"}
# Modules of Python's own whose objects hold values of the program.
HOLDERS = {"types", "collections", "functools", "itertools", "builtins"}
NO_STATE = (
    *(types.FunctionType, types.BuiltinFunctionType, types.ModuleType, types.GetSetDescriptorType),
    *(types.MemberDescriptorType, classmethod, staticmethod, property),
)


def own_modules() -> list[types.ModuleType]:
    """The program's own modules, the one that was started among them."""
    modules = [each for each in list(sys.modules.values()) if isinstance(each, types.ModuleType)]
    return [each for each in modules if each.__name__ == "__main__" or name_of(getattr(each, "__file__", None) or "")]


def roots(frame: types.FrameType) -> list[tuple[str, Any]]:
    """The program's variables: those of its modules, then those of its functions that run, the innermost last."""
    variables: dict[str, Any] = {}
    for each in stack(frame):
        if name_of(each.f_code.co_filename) and each.f_code.co_name != "<module>":
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
        self.leaves: dict[str, tuple[str, int, str, str]] = {}
        self.generators: dict[str, Callable[[], int]] = {}
        self.names: dict[str, list[str]] = {}
        # The objects are kept, so that no other one gets the number of one that was seen.
        self._paths: dict[int, str] = {}
        self._kept: list[Any] = []
        until = time.monotonic() + MOST_SECONDS
        # Breadth first: each object has its shortest path. With it go its kind, and the object that has that kind.
        waiting = deque((path, kinds.OTHER, path, value) for path, value in variables)
        while waiting and len(self.leaves) < kinds.MOST_VALUES and time.monotonic() < until:
            # An object may refuse any question: then it is left out, and the program goes on.
            with suppress(Exception):
                waiting.extend(self._look(*waiting.popleft()))
        self.is_whole = not waiting
        self._further_generators()

    def _generator(self, path: str, maker: str, *values: Any) -> None:
        self.generators[path] = lambda: digest([state_of(each) for each in values])
        self.leaves[path] = kinds.GENERATOR, self.generators[path](), maker, path

    def _look(self, path: str, kind: str, owner: str, value: Any) -> list[tuple[str, str, str, Any]]:
        """Note a value, or return its parts."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            kind = kinds.NUMBER if kind == kinds.OTHER else kind
            self.leaves[path] = kind, digest(value), repr(value)[:80], owner
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
            self.leaves[path] = kind, crc_of(array, digest(array.shape)), "", owner
            return []
        its = self._kind(path, kind, value)
        owner = path if its == kinds.OTHER or its != kind else owner
        if isinstance(value, dict | list | deque):
            kind, count = kinds.ITEMS if its == kinds.OTHER else its, len(value)
            self.leaves[f"len({path})"] = kind, digest(count), str(count), owner
        if isinstance(value, types.GeneratorType) and value.gi_frame:
            # One that has not begun has no variables yet.
            self.leaves[path] = kinds.POSITION, value.gi_frame.f_lasti, "", path
        return [(key, its, owner, part) for key, part in parts_of(path, value)]

    @staticmethod
    def _kind(path: str, kind: str, value: Any) -> str:
        names = [each.__name__ for each in type(value).__mro__]
        if its := next((its for name, its in CLASSES.items() if name in names), None):
            return its
        return kinds.AVERAGES if AVERAGE.search(path) or AVERAGE.search(names[0]) else kind

    def _further_generators(self) -> None:
        """The generators that no variable leads to, and the global ones."""
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
    # Keys of JAX; those of the older kind are plain arrays of two words.
    if is_jax and (str(value.dtype).startswith("key<") or (str(value.dtype), value.shape) == ("uint32", (2,))):
        return kinds.GENERATOR
    return kinds.WEIGHTS if getattr(value, "requires_grad", False) else kinds.ARRAY


def parts_of(path: str, value: Any) -> list[tuple[str, Any]]:
    """What an object leads to: its items, attributes and closures, each with its path."""
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
