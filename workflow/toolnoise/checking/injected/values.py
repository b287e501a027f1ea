"""Digests of a program's values, states of generators, and the parts of values that can be kept for another run.

Equal values have equal digests in any process, whatever their addresses are. Numbers, texts, generators, arrays and
tensors of any framework that the program has imported, and containers of these count by value. Other objects count by
their type and their attributes. Folders that toolnoise gives a run count as equal. The work for a digest is bounded:
large values count by some of their parts.
"""

import _random
import ctypes
import datetime
import decimal
import fractions
import functools
import marshal
import os
import random
import sys
import uuid
import zlib
from collections import deque
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

NODES, DEPTH, PARTS = 400, 24, 3
ELEMENTS, ENDS = 1 << 16, 32  # elements that are read of a list of plain values, and from each end of other lists
# Bytes of arrays that one digest reads, and of an array on another device; larger arrays are sampled.
BYTES, SAMPLE = 1 << 22, 4096
BASES = (str, bytes, int, float, complex)
PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})
VALUES = (datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, fractions.Fraction, uuid.UUID)
ITERATORS = frozenset({
    *("list_iterator", "tuple_iterator", "range_iterator", "str_ascii_iterator", "str_iterator", "zip", "enumerate"),
    *("map", "filter", "reversed", "list_reverseiterator", "dict_keyiterator", "dict_valueiterator"),
    *("dict_itemiterator", "odict_iterator"),
})  # fmt: skip
# Modules whose objects count by their types alone: they have locks, process numbers and random names.
OPAQUE = frozenset({
    *("multiprocessing", "threading", "_thread", "asyncio", "socket", "logging", "subprocess", "weakref"),
    "concurrent",
})  # fmt: skip
# Attributes that differ between any two processes and affect no result.
ATTRIBUTES = frozenset({"pid", "_pid", "ident", "_ident", "native_id", "_native_id", "_cookies"})
# Names that count as equal: the name of this run's folder, and random names of temporary files and folders.
RUN = os.path.basename(os.environ.get("TOOLNOISE_OUT", ""))
equal_names = [RUN] if RUN else []
MOST_NAMES = 256


# Arrays and generators


def array_of(value: Any, most: float = BYTES) -> Any:
    """A NumPy array with the bits of an array of any framework; None for any other value."""
    kind, numpy = type(value), sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.ndarray | numpy.generic):
        return numpy.asarray(value)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, getattr(torch, "Tensor", ())):
        tensor = value.detach()
        if tensor.layout != torch.strided or tensor.is_meta or tensor.is_quantized:
            return None
        if tensor.numel() * tensor.element_size() > most and tensor.device.type != "cpu":
            tensor = tensor.reshape(-1)[:: max(1, tensor.numel() // SAMPLE)]
        if tensor.dtype.is_floating_point and tensor.dtype not in (torch.float16, torch.float32, torch.float64):
            # NumPy lacks this type.
            tensor = tensor.view(torch.int16 if tensor.element_size() == 2 else torch.uint8)
        return tensor.cpu().resolve_conj().resolve_neg().numpy()
    if str(getattr(value, "dtype", "")).startswith("key<"):
        # A key of JAX.
        return numpy.asarray(sys.modules["jax"].random.key_data(value))
    if hasattr(value, "dtype") and hasattr(value, "shape") and hasattr(value, "__array__"):
        # Traced values of a compiler have no bits yet.
        if "Tracer" in kind.__name__ or kind.__name__ in ("SymbolicTensor", "KerasTensor"):
            return None
        return numpy.asarray(value)
    return None


def crc_of(array: Any, start: int = 0) -> int:
    """A digest of the bits of a NumPy array."""
    array = array if array.flags.c_contiguous else array.copy()
    return zlib.crc32(array.reshape(-1).view("uint8"), start)


def state_of(value: Any) -> Any:
    """The state of a random-number generator; None for other values, and for a generator without a state."""
    if isinstance(value, random.Random):
        return None if isinstance(value, random.SystemRandom) else value.getstate()
    numpy, torch = sys.modules.get("numpy.random"), sys.modules.get("torch")
    if numpy is not None and hasattr(numpy, "Generator"):
        if isinstance(value, numpy.Generator | numpy.RandomState):
            return value.bit_generator.state if isinstance(value, numpy.Generator) else value.get_state(legacy=False)
        if isinstance(value, numpy.BitGenerator):
            return value.state
        if isinstance(value, numpy.SeedSequence):
            return [value.entropy, value.spawn_key, value.pool_size]
    if torch is not None and isinstance(value, getattr(torch, "Generator", ())):
        return value.get_state().numpy().tobytes()
    if type(value).__name__ == "SeedGenerator" and hasattr(value, "state"):
        # A generator of Keras.
        return array_of(value.state)
    return None


def set_state(value: Any, state: Any) -> None:
    """Set a generator to a state from `state_of`."""
    torch = sys.modules.get("torch")
    if isinstance(value, random.Random):
        value.setstate(state)
    elif torch is not None and isinstance(value, torch.Generator):
        value.set_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
    elif type(value).__name__ == "SeedGenerator":
        value.state.assign(state)
    elif hasattr(value, "set_state"):
        value.set_state(state)
    elif isinstance(state, dict) and state_of(value) is not None:
        getattr(value, "bit_generator", value).state = state


def global_generators() -> dict[str, Any]:
    """The global generators of this process, by name."""
    generators: dict[str, Any] = {"random": random._inst}
    mtrand, torch = sys.modules.get("numpy.random.mtrand"), sys.modules.get("torch")
    if mtrand is not None and hasattr(mtrand, "_rand"):
        generators["numpy.random"] = mtrand._rand
    if torch is not None and hasattr(torch, "default_generator"):
        generators["torch"] = torch.default_generator
    return generators


def global_digests() -> dict[str, int]:
    """A digest of the state of each global generator, computed faster than by `state_of`."""
    digests = {}
    for name, generator in global_generators().items():
        if name == "random":
            # Read the memory of its state: the generator's own functions are a hundred times slower.
            head = object.__basicsize__
            memory = ctypes.string_at(id(generator) + head, _random.Random.__basicsize__ - head)
            digests[name] = zlib.crc32(repr(generator.gauss_next).encode(), zlib.crc32(memory))
        elif name == "torch":
            digests[name] = zlib.crc32(generator.get_state().numpy())
        else:
            state = state_of(generator)
            inner = state["state"]
            rest = (inner.get("pos"), state.get("has_gauss"), state.get("gauss"))
            crc = zlib.crc32(inner["key"]) if "key" in inner else zlib.crc32(repr(inner).encode())
            digests[name] = zlib.crc32(repr(rest).encode(), crc)
    return digests


# Digests


def digest_of_value(value: Any) -> int:
    """The digest of a value; if a value cannot be read, its type counts."""
    return _Digest().of(value)


def count_as_equal(value: Any) -> None:
    """Let the name of a temporary file or folder, as returned by `tempfile`, count as equal in each run."""
    value = value[1] if isinstance(value, tuple) and len(value) == 2 else getattr(value, "name", value)
    name = os.path.basename(value) if isinstance(value, str | os.PathLike) else ""
    if len(name) > 8 and name not in equal_names and len(equal_names) < MOST_NAMES:
        equal_names.append(name)


def name_in(value: Any, depth: int = 0) -> str:
    """The first name in some arguments that counts as equal; empty if there is none."""
    if isinstance(value, str | bytes):
        text = value if isinstance(value, str) else value.decode("utf-8", "replace")
        return next((name for name in equal_names if name in text), "")
    if isinstance(value, PurePath):
        return name_in(str(value))
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    found = (name_in(part, depth + 1) for part in parts) if depth < 3 and len(parts) <= ENDS else ()
    return next(filter(None, found), "")


class _Digest:
    def __init__(self) -> None:
        # Objects in `_seen` are kept, so that no other object gets their address.
        self._nodes, self._bytes, self._seen = NODES, BYTES, dict[int, Any]()

    def of(self, value: Any) -> int:
        self._crc = 0
        try:
            self._feed(value, 0)
        except Exception:
            # Reading a value may raise any exception, such as for a tensor on another device or a locked frame.
            self._add(f"unread {type(value).__qualname__}")
        return self._crc

    def _add(self, text: str) -> None:
        self._crc = zlib.crc32(text.encode("utf-8", "surrogatepass"), self._crc)

    def _feed(self, value: Any, depth: int) -> None:
        kind = type(value)
        if kind in PLAIN:
            self._plain(value)
            return
        self._nodes -= 1
        if self._nodes < 0 or depth > DEPTH:
            return
        self._add(kind.__qualname__)
        if id(value) in self._seen:
            return
        if kind in (list, tuple, deque) or (isinstance(value, tuple) and hasattr(kind, "_fields")):
            self._sequence(value, depth)
        elif isinstance(value, set | frozenset):
            self._unordered(value)
        elif isinstance(value, KeysView | ValuesView | ItemsView):
            self._sequence([*value][: 2 * ENDS], depth)
            self._add(str(len(value)))
        elif isinstance(value, dict):
            self._seen[id(value)] = value
            self._sequence([part for pair in [*value.items()][: 2 * ENDS] for part in pair], depth)
            self._add(str(len(value)))
        elif isinstance(value, str | bytes | int | float | complex):
            self._plain(next(each for each in BASES if isinstance(value, each))(value))
        elif isinstance(value, PurePath):
            self._plain(str(value))
        elif isinstance(value, VALUES):
            self._add(repr(value))
        elif isinstance(value, bytearray | memoryview):
            self._crc = zlib.crc32(value, self._crc)
        elif isinstance(value, FunctionType | BuiltinFunctionType | type | ModuleType):
            self._add(getattr(value, "__qualname__", "") or value.__name__)
        elif isinstance(value, MethodType):
            self._add(value.__qualname__)
            self._feed(value.__self__, depth + 1)
        elif isinstance(value, functools.partial):
            self._sequence([value.func, value.args, value.keywords], depth)
        elif kind.__name__ == "set_iterator":
            self._unordered(value.__reduce__()[1][0])
        elif kind.__name__ in ITERATORS:
            # The remaining values are copied, so the iterator does not advance.
            self._feed(value.__reduce__()[1:], depth + 1)
        elif isinstance(value, GeneratorType):
            self._add(value.__qualname__)
            if value.gi_frame is not None:
                self._sequence([*value.gi_frame.f_locals.values()], depth)
        elif (state := state_of(value)) is not None:
            self._feed(state, depth + 1)
        elif kind.__module__.partition(".")[0] not in OPAQUE or kind.__name__ in ("CompletedProcess", "ApplyResult"):
            self._object(value, depth)

    def _plain(self, value: Any) -> None:
        if type(value) is str:
            for name in equal_names:
                value = value.replace(name, "")
        elif type(value) is bytes:
            value = _without_names(value)
        self._crc = zlib.crc32(marshal.dumps(value, 2), self._crc)

    def _sequence(self, values: Any, depth: int) -> None:
        self._seen[id(values)] = values
        self._add(str(len(values)))
        if set(map(type, values)) <= PLAIN and len(values) <= ELEMENTS:
            data = marshal.dumps(list(values), 2)
            # The data has the lengths of texts with their names: the names of all runs are equally long.
            self._crc = zlib.crc32(_without_names(data), self._crc)
            return
        values = list(values)
        for part in values if len(values) <= 2 * ENDS else [*values[:ENDS], *values[-ENDS:]]:
            self._feed(part, depth + 1)

    def _unordered(self, values: Any) -> None:
        parts = [_Digest().of(part) for part in [*values][:ELEMENTS]]
        self._add(f"{len(values)} {sum(parts)}")

    def _object(self, value: Any, depth: int) -> None:
        array = array_of(value)
        if array is not None:
            self._array(array, depth)
        elif hasattr(value, "to_numpy") and hasattr(value, "index"):
            # An object of pandas.
            names = [*getattr(value, "columns", ())]
            self._sequence([names, value.index.to_numpy(), *(value[name] for name in names)], depth)
            if not names:
                self._feed(value.to_numpy(), depth + 1)
        elif not isinstance(value, BaseException):
            self._seen[id(value)] = value
            for name, part in attributes_of(value).items():
                if name not in ATTRIBUTES:
                    self._add(name)
                    self._feed(part, depth + 1)

    def _array(self, array: Any, depth: int) -> None:
        self._add(f"{array.dtype.str}{array.shape}")
        if array.dtype.hasobject:
            self._sequence(array.ravel().tolist(), depth)
            return
        if array.nbytes > max(self._bytes, SAMPLE):
            flat = array.reshape(-1)
            array = flat[:: max(1, array.nbytes // SAMPLE)]
        self._bytes -= array.nbytes
        self._crc = crc_of(array, self._crc)


def _without_names(data: bytes) -> bytes:
    for name in equal_names:
        data = data.replace(name.encode(), b"")
    return data


def attributes_of(value: Any) -> dict[str, Any]:
    """The attributes of an object, with and without slots, including private ones."""
    kinds = [each for each in type(value).__mro__ if each.__module__ != "builtins"]
    slots = [vars(each).get("__slots__", ()) for each in kinds]
    names = [name for each in slots for name in ((each,) if isinstance(each, str) else tuple(each))]
    return {name: getattr(value, name) for name in names if hasattr(value, name)} | getattr(value, "__dict__", {})


# Parts of values that can be kept for another run


def parts_of(value: Any) -> list[tuple[tuple[str, ...], str, Any]]:
    """The parts of a value that can be kept: path of attributes, kind, content; an empty path is the whole value."""
    state = state_of(value)
    if state is not None:
        return [((), "state", state)]
    return [((), "value", value)] if is_value(value) else [*_attributes_to_keep(value, ())]


def _attributes_to_keep(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    if len(path) > PARTS or isinstance(value, type | ModuleType | FunctionType) or not hasattr(value, "__dict__"):
        return
    if type(value).__module__.partition(".")[0] in OPAQUE:
        # Its numbers are system handles: with those of another run, a program fails or waits for ever.
        return
    for name, part in [*vars(value).items()][:ELEMENTS]:
        state = state_of(part)
        if state is not None:
            yield (*path, name), "state", state
        elif type(part) in PLAIN:
            # Only plain values: another object may share any other value.
            yield (*path, name), "value", part
        else:
            yield from _attributes_to_keep(part, (*path, name))


def set_part(value: Any, path: tuple[str, ...], kind: str, content: Any) -> None:
    """Set an attribute of an object to a value, or a generator to a state."""
    for name in path[:-1] if kind == "value" else path:
        if not hasattr(value, "__dict__"):
            return
        value = vars(value).get(name)
    if kind == "state":
        set_state(value, content)
    elif path[-1] in getattr(value, "__dict__", ()):
        vars(value)[path[-1]] = content


def is_value(value: Any, depth: int = 0) -> bool:
    """Whether a value is the same when it is written and read again, as it has no identity and no system handle."""
    kind = type(value)
    if kind in PLAIN or isinstance(value, (PurePath, *VALUES)):
        return True
    if kind in (list, tuple, set, frozenset, deque) or (isinstance(value, tuple) and hasattr(kind, "_fields")):
        return depth < DEPTH and len(value) <= ELEMENTS and all(is_value(part, depth + 1) for part in value)
    if isinstance(value, Mapping) and kind.__module__ in ("builtins", "collections"):
        return depth < DEPTH and all(is_value(part, depth + 1) for pair in value.items() for part in pair)
    array = array_of(value)
    if array is not None:
        return not array.dtype.hasobject or all(is_value(part, depth + 1) for part in array.ravel().tolist())
    if kind.__module__.startswith("pandas."):
        return True
    return kind.__module__ == "subprocess" and kind.__name__ == "CompletedProcess"
