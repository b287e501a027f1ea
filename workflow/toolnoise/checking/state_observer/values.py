"""All that a program's variables lead to, and all generators: of each its kind, a digest, and what a person reads."""

import gc
import hashlib
import inspect
import itertools
import re
import sys
import time
import types
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from toolnoise_state.kinds import (
    ARRAY,
    AVERAGES,
    GENERATOR,
    ITEMS,
    MOST_VALUES,
    NUMBER,
    OPTIMISER,
    OTHER,
    POSITION,
    SAMPLER,
    SCALER,
    SCHEDULER,
    WEIGHTS,
)
from toolnoise_state.loops import is_own, stack

MOST_SECONDS, MOST_NAMES = 60, 5
AVERAGE = re.compile(r"(^|[._])(ema|swa|shadow|polyak|avg|averaged?)(_|\d|\b)|(EMA|Averaged|MovingAverage)", re.ASCII)
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
