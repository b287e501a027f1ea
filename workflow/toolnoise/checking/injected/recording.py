"""The functions that rewritten code calls: they make the call, and record digests of its inputs and of its result.

Each process writes one file, with a JSON list per line. A place is recorded at its first turns, then while there is
time, and else at powers of two. After OFTEN turns, it is no longer recorded, nor are the steps of a loop, but its
branches are. In later runs, the values of some places are kept, and in further runs they replace the results: only if
the inputs are the same (or `by_turn`), so that a place counts for the differences that arise in it.
"""

import atexit
import contextlib
import functools
import itertools
import json
import os
import pickle
import sys
import threading
import time
import weakref
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from toolnoise_injected.values import (
    RUN,
    count_as_equal,
    digest_of_value,
    global_digests,
    global_generators,
    is_value,
    name_in,
    parts_of,
    set_part,
    set_state,
    state_of,
)

ALWAYS, OFTEN = 32, 2000  # turns of a place that are always recorded, and that are recorded while there is time
# The share of the process's time that recording may take, and the seconds that it may take in any case. These are CPU
# seconds: waiting for other processes on a busy machine does not count.
SHARE, FREE = 0.15, 0.2
ORDERED = frozenset(
    {list, tuple, range, dict, str, bytes, bytearray, type({}.keys()), type({}.values()), type({}.items())}
)
# Modules whose functions give another result at each call.
SOURCES = frozenset({"numpy.random", "numpy.random._generator", "random", "secrets", "time", "uuid"})
MOST_OWNERS = 10_000
MOST_FIXED = 200_000  # turns of a place whose results are kept or forced
SHOWN = 60  # characters of a value
MUTABLE = (list, dict, set, bytearray)
START = "start"
# Kept instead of a result that cannot be pickled: no parts, no changed arguments, and no states of generators.
NOTHING = ([], [], {}, None)
# The prefix of the names of a loop's steps.
STEP = "next "

# Rewritten files: calls of their functions are not recorded, but the calls within these functions are.
rewritten_files: set[str] = set()
_turns: dict[str, int] = {}
# Loops and calls that are made so often that they are no longer recorded, and calls that may end a loop, which are
# always counted.
hot: set[str] = set()
_answers: set[str] = set()
# Places whose results are kept or forced; they are recorded at each turn, up to MOST_FIXED.
_fixed: set[str] = set()
_local = threading.local()
_numbers = itertools.count(1)
_owners: dict[int, tuple[int, Callable[[], Any] | None]] = {}


class _Log:
    """The record of one process."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        self.folder = task["folder"]
        self.kept, self.forced, self.generators = set(task["keep"]), set(task["force"]), task["generators"]
        self.is_constant, self.by_turn = task["constant"], task["by_turn"]
        _fixed.update(self.kept | self.forced)
        self.has_threads, self.spent, self.worked, self.began = False, 0.0, 0.0, time.perf_counter()
        self.children, self.counted = 0, False
        self._seen_globals: set[str] = set()
        words = getattr(sys, "orig_argv", sys.argv)
        # The file is named by the program that the process runs; its arguments may differ between runs.
        first = next((number for number, word in enumerate(words[1:], 1) if not word.startswith("-")), 0)
        self.open(f"{zlib.crc32(' '.join(words[1 : first + 1]).encode()):08x}")
        self.write("process", digest_of_value(words))

    def open(self, key: str) -> None:
        """Start a file; processes with the same command are numbered in the order in which they start."""
        for number in range(100_000):
            self.key = f"{key}-{number}"
            try:
                flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND
                self._file = os.open(os.path.join(self.folder, f"{self.key}.jsonl"), flags, 0o600)
                break
            except FileExistsError:
                continue
        self._inode = os.fstat(self._file).st_ino
        self._values: Any = None
        self._pins: dict[Any, list[Any]] = defaultdict(list)
        self._used: Counter[Any] = Counter()
        if self.forced or self.generators:
            self._read_pins()

    def write(self, *parts: Any) -> None:
        """Write a line at once, since a process may be killed."""
        with contextlib.suppress(OSError):
            # A program may close all files, and open its own in their place.
            if os.fstat(self._file).st_ino == self._inode:
                os.write(self._file, (json.dumps(parts) + "\n").encode())

    def end(self) -> None:
        """Write how often each place was called."""
        if not self.counted:
            self.counted = True
            self.write("turns", dict(_turns))

    def count_time(self, began: float, worked: float) -> None:
        """Count the wall time and CPU time that recording has taken since a moment."""
        self.spent += time.perf_counter() - began
        self.worked += time.thread_time() - worked

    def fork(self) -> None:
        """Start a new record in a forked process."""
        os.close(self._file)
        _turns.clear()
        # Python seeds its generator anew after a fork.
        self._seen_globals.discard("random")
        self.counted, self.spent, self.worked, self.began = False, 0.0, 0.0, time.perf_counter()
        self.open(f"{self.key}.{self.children}")
        with contextlib.suppress(KeyError, AttributeError):
            # A worker of multiprocessing ends without calling atexit functions.
            sys.modules["multiprocessing.util"].Finalize(None, self.end, exitpriority=0)

    # Values that are kept and forced. The program that wrote them reads them, from the folder of this check.

    def _store(self) -> str:
        return os.path.join(os.path.dirname(self.folder), "values")

    def keep(self, *parts: Any) -> None:
        """Keep a value for later runs."""
        if self._values is None:
            self._values = open(os.path.join(self._store(), f"{self.key}.pickle"), "wb")  # noqa: SIM115
        try:
            data = pickle.dumps(parts)
        except Exception:
            # A turn whose value cannot be pickled still counts as a turn.
            data = pickle.dumps((*parts[:2], NOTHING))
        self._values.write(data)
        self._values.flush()

    def _read_pins(self) -> None:
        # With one value for all turns, it may come from any process.
        names = sorted(os.listdir(self._store())) if self.is_constant else [f"{self.key}.pickle"]
        for name in names:
            with contextlib.suppress(OSError, EOFError), open(os.path.join(self._store(), name), "rb") as file:
                while True:
                    # Written by this program, in the folder of this check.
                    place, inputs, value = pickle.load(file)  # noqa: S301
                    self._pins[place, inputs].append(value)
                    if self.is_constant or self.by_turn:
                        self._pins[place, None].append(value)

    def pin(self, place: str, inputs: int) -> list[Any]:
        """A list with the value that a place had in the kept run, at this turn with these inputs, or an empty list."""
        key = place, None if self.by_turn else inputs
        turn, self._used[key] = self._used[key], self._used[key] + 1
        if self.is_constant:
            return self._pins[place, None][:1]
        return self._pins[key][turn : turn + 1]

    def start_globals(self) -> None:
        """Keep or force the states of global generators at the start."""
        for name, generator in global_generators().items():
            if name in self._seen_globals:
                continue
            self._seen_globals.add(name)
            if self.kept:
                self.keep(START, name, state_of(generator))
            if name in self.generators:
                for value in self._pins[START, name][:1]:
                    set_state(generator, value)


_log: Any = None


def start(task: Mapping[str, Any]) -> None:
    """Record this process and processes that are forked from it."""
    global _log
    _log = _Log(task)
    atexit.register(_log.end)

    def count() -> None:
        _log.children += 1

    os.register_at_fork(before=count, after_in_child=_log.fork)
    started = threading.Thread.start

    def start_thread(thread: threading.Thread) -> None:
        _log.has_threads = True
        started(thread)

    threading.Thread.start = start_thread


def _is_users(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    if code is None and isinstance(function, type):
        code = getattr(function.__init__, "__code__", None)
    return code is not None and code.co_filename in rewritten_files


def _is_due(place: str, turn: int) -> bool:
    """Whether this turn of a place is recorded: first turns and powers of two always, others while there is time."""
    if turn <= ALWAYS or not turn & (turn - 1) or (turn <= MOST_FIXED and place in _fixed):
        return True
    return turn <= OFTEN and (_log.worked < FREE or _log.spent < SHARE * (time.perf_counter() - _log.began))


def _is_recorded(place: str) -> bool:
    """Count a turn of a place, and return whether it is recorded."""
    _turns[place] = turn = _turns.get(place, 0) + 1
    return not getattr(_local, "busy", False) and _is_due(place, turn)


def call(place: str, function: Callable, /, *args: Any, **kwargs: Any) -> Any:
    """Make a call for the user's code, and record it if its turn is recorded."""
    # Each turn of a loop comes here, so the most frequent case stands first.
    if place in hot:
        return function(*args, **kwargs)
    _turns[place] = turn = _turns.get(place, 0) + 1
    if turn > OFTEN and not _fixed and place not in _answers:
        hot.add(place)
        if _is_users(function):
            _give_back(function)
        return function(*args, **kwargs)
    if not _is_due(place, turn) or getattr(_local, "busy", False) or _is_users(function):
        return function(*args, **kwargs)
    args = tuple(_followed(place, each) for each in args)
    kwargs = {name: _followed(place, each) for name, each in kwargs.items()}
    event = _Event(place, function, args, kwargs)
    try:
        result = function(*args, **kwargs)
    except BaseException as error:
        event.end(type(error).__name__, is_value_of=False)
        raise
    return event.end(result)


def stepped(place: str) -> None:
    """Count a step of a loop, and stop recording it after OFTEN steps."""
    _turns[place] = turn = _turns.get(place, 0) + 1
    if turn > OFTEN and not _fixed:
        hot.add(place)


def _give_back(function: Any) -> None:
    """Give a function that is called very often its original code again, which is not recorded."""
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if type(function) is not FunctionType or not os.path.isfile(code.co_filename):
        return
    try:
        with open(code.co_filename, "rb") as file:
            waiting = [compile(file.read(), code.co_filename, "exec", dont_inherit=True)]
    except (SyntaxError, ValueError, OSError):
        return
    while waiting:
        inner = waiting.pop()
        names = (inner.co_qualname, inner.co_firstlineno, inner.co_freevars)
        if names == (code.co_qualname, code.co_firstlineno, code.co_freevars):
            function.__code__ = inner
            return
        waiting += [each for each in inner.co_consts if isinstance(each, CodeType)]


def _followed(place: str, value: Any) -> Any:
    """Wrap an argument that is a function that draws or reads a clock, so that later calls of it are recorded."""
    module = getattr(value, "__module__", None)
    if module in SOURCES and callable(value) and not isinstance(value, type) and hasattr(value, "__name__"):
        return functools.partial(call, f"{place}:{value.__name__}", value)
    return value


def iterate(place: str, values: Any) -> Any:
    """Return the values for a loop of the user's code, with sets and iterators of libraries recorded."""
    kind = type(values)
    if kind in ORDERED or kind.__name__ == "ndarray":
        return values
    if isinstance(values, set | frozenset):
        return _in_order(place, values)
    code = getattr(getattr(kind, "__iter__", None), "__code__", None) or getattr(values, "gi_code", None)
    if code is not None and code.co_filename in rewritten_files:
        return values
    return _items(place, values)


def _in_order(place: str, values: Any) -> list[Any]:
    if not _is_recorded(place):
        return list(values)
    event = _Event(place, iterate, (values,), {})
    values = list(values)
    order = [digest_of_value(value) for value in values]
    forced = event.end(order)
    if forced != order and sorted(forced) == sorted(order):
        waiting = defaultdict(list)
        for value, one in zip(values, order, strict=True):
            waiting[one].append(value)
        values = [waiting[one].pop(0) for one in forced]
    return values


def _items(place: str, values: Any) -> Iterator[Any]:
    first = _Event(f"{place}:iter", iter, (), {}, owner=values) if _is_recorded(f"{place}:iter") else None
    try:
        iterator = iter(values)
    finally:
        if first:
            first.end(None)
    # The object that the loop iterates over is the input of each step.
    whole = first.owner if first else 0
    step = iterate if _walks_set(values) else next
    kind = values if hasattr(values, "__qualname__") else type(values)
    name = f"{STEP}{kind.__module__ if kind is type(values) else ''}.{kind.__qualname__}" if step is next else ""
    while True:
        event = _Event(place, step, (whole,), {}, name=name) if _is_recorded(place) else None
        try:
            value = next(iterator)
        except StopIteration:
            if event:
                event.end("StopIteration", is_value_of=False)
            return
        yield event.end(value) if event else value


def _result_of(value: Any) -> Any:
    """The result of a future that has one; any other value as it is."""
    is_future = type(value).__module__ == "concurrent.futures._base" and value.done() and not value.cancelled()
    return value.result() if is_future and value.exception() is None else value


def _walks_set(values: Any) -> bool:
    """Whether an iterator yields the elements of a set, alone or by `enumerate` or `zip`."""
    if type(values).__name__ not in ("enumerate", "zip", "set_iterator"):
        return False
    parts = values.__reduce__()[1]
    parts = parts[0] if type(values).__name__ == "zip" and len(parts) == 1 and isinstance(parts[0], tuple) else parts
    return type(values).__name__ == "set_iterator" or any(type(each).__name__ == "set_iterator" for each in parts)


def added(place: str, value: Any) -> Any:
    """Record and return a value that is added to something that threads may share."""
    if not _log.has_threads or not _is_recorded(place):
        return value
    _Event(place, added, (value,), {}).end(None)
    return value


def awaited(place: str, value: Any) -> Any:
    """Record and return the result of an `await`."""
    if not _is_recorded(place):
        return value
    return _Event(place, awaited, (), {}).end(value)


class _Event:
    """One call: its inputs are read before it, and its result after it."""

    def __init__(
        self, place: str, function: Callable, args: tuple, kwargs: dict[str, Any], *, owner: Any = None, name: str = ""
    ) -> None:
        began = time.perf_counter(), time.thread_time()
        _local.busy = True
        try:
            _log.start_globals()
            self._place, self._args, self._turn = place, args, _turns[place]
            owner = getattr(function, "__self__", None) if owner is None else owner
            owner = None if type(owner) is type(sys) else owner
            self._name = name or _name(function, owner)
            # A type that is called is no owner.
            if owner is None and not hasattr(function, "__qualname__"):
                owner = function
            # Other threads may draw during this call: then it is not this call that has made the generator's state.
            has_own = owner is not None and not _log.has_threads and state_of(owner) is not None
            self._generator = owner if has_own else None
            self._owner_id = _number_of(owner) if owner is not None and _log.has_threads else 0
            self.owner = digest_of_value(owner) if owner is not None else 0
            self.inputs = digest_of_value((args, kwargs))
            self._parts = [digest_of_value(each) if _is_mutable(each) else 0 for each in args]
            self._texts = [text for each in (owner, *args) if (text := _text(each))][:2]
            name = name_in((args, kwargs))
            # The arguments have the run's own folder or a temporary name, which count as equal; a set, whose order does
            # not count; or a keyword that names a seed.
            marks = {
                "folder": name and name == RUN,
                "temporary": name and name != RUN,
                "set": any(isinstance(each, set | frozenset) for each in (owner, *args)),
                "seed": any("seed" in name or name == "random_state" for name in kwargs),
            }
            self._marks = [mark for mark, holds in marks.items() if holds]
            self._globals = global_digests()
            self._began = time.monotonic()
        finally:
            _local.busy = False
            _log.count_time(*began)

    def end(self, result: Any, *, is_value_of: bool = True) -> Any:
        """Write the event, and return the result or its replacement."""
        began = time.perf_counter(), time.thread_time()
        _local.busy = True
        try:
            return self._end(result, is_value_of)
        finally:
            _local.busy = False
            _log.count_time(*began)

    def _end(self, result: Any, is_value_of: bool) -> Any:
        if self._name.startswith("tempfile."):
            count_as_equal(result)
        if isinstance(result, bool):
            _answers.add(self._place)
        # The progress of a future does not count, but the order in which futures are ready does.
        out = digest_of_value(_result_of(result) if self._name.startswith(STEP) else result)
        after = [digest_of_value(each) if before else 0 for each, before in zip(self._args, self._parts, strict=True)]
        if after != self._parts or self._generator is not None:
            out = digest_of_value((out, after, self._generator))
        now = global_digests()
        # If an import in this call made a generator, the call did not draw from it.
        before = self._globals
        drawn = {name: [before[name], now[name]] for name in before if name in now and now[name] != before[name]}
        inputs = digest_of_value((self.owner, self.inputs))
        _log.write(
            "event",
            time.monotonic(),
            self._began,
            self._place,
            self._turn,
            threading.current_thread().name if _log.has_threads else "",
            self._name,
            self.owner,
            self.inputs,
            out,
            {name: state for name, state in before.items() if name not in drawn},
            drawn,
            self._owner_id,
            _shown(result),
            self._texts if self._turn <= 2 else [],
            self._marks,
        )
        if self._place in _log.kept:
            self._keep(inputs, result, after, drawn, is_value_of)
        if self._place in _log.forced:
            for value in _log.pin(self._place, inputs):
                result = self._force(result, *value)
        return result

    def _keep(self, inputs: int, result: Any, after: list[int], drawn: dict, is_value_of: bool) -> None:
        """Keep all effects of this call: its result, changed arguments, and states of generators."""
        parts = parts_of(result) if is_value_of else []
        changed = [
            (number, each)
            for number, (each, one, other) in enumerate(zip(self._args, self._parts, after, strict=True))
            if one != other and is_value(each)
        ]
        own = state_of(self._generator) if self._generator is not None else None
        states = {name: state_of(generator) for name, generator in global_generators().items() if name in drawn}
        _log.keep(self._place, inputs, (parts, changed, states, own))

    def _force(self, result: Any, parts: list, changed: list, states: dict[str, Any], own: Any) -> Any:
        if own is not None:
            set_state(self._generator, own)
        for name, state in states.items():
            set_state(global_generators()[name], state)
        for number, content in changed:
            if number < len(self._args):
                _overwrite(self._args[number], content)
        for path, kind, value in parts:
            if path or kind == "state":
                set_part(result, path, kind, value)
            elif _may_replace(result, value):
                return value
        return result


def _name(function: Callable, owner: Any) -> str:
    if function in (iterate, added, awaited):
        return function.__name__
    kind = owner if isinstance(owner, type) else type(owner)
    if owner is not None and hasattr(function, "__name__"):
        return f"{kind.__module__}.{kind.__qualname__}.{function.__name__}"
    name = getattr(function, "__qualname__", "") or type(function).__qualname__
    return f"{getattr(function, '__module__', None) or type(function).__module__}.{name}"


def _number_of(owner: Any) -> int:
    """A number of an object that no other object gets, unlike its address. Objects without weak references are kept."""
    number, reference = _owners.get(id(owner), (0, None))
    if reference is None or reference() is not owner:
        number = next(_numbers)
        try:
            reference = weakref.ref(owner)
        except TypeError:
            if len(_owners) >= MOST_OWNERS:
                return 0

            def reference() -> Any:
                return owner

        _owners[id(owner)] = number, reference
    return number


def _text(value: Any) -> str:
    """The value if it is a short text or a path, or the name of an open file; else empty."""
    if type(value).__module__ == "_io":
        value = getattr(value, "name", "")
    return str(value) if isinstance(value, str | os.PathLike) and len(str(value)) <= 200 else ""


def _is_mutable(value: Any) -> bool:
    return isinstance(value, MUTABLE) or type(value).__name__ in ("ndarray", "Tensor", "DataFrame", "Series")


def _overwrite(value: Any, content: Any) -> None:
    """Give a changed argument the content that it had after this call in the kept run."""
    if isinstance(value, list | bytearray):
        value[:] = content
    elif isinstance(value, dict | set):
        value.clear()
        value.update(content)
    elif type(value).__name__ == "ndarray":
        value[...] = content
    elif type(value).__name__ == "Tensor":
        value.detach().copy_(content)


def _may_replace(result: Any, value: Any) -> bool:
    """Whether a value may replace a result; if the result is an existing file or folder, rename that to the value."""
    if type(result) is not type(value) and not (isinstance(result, int | float) and isinstance(value, int | float)):
        # None may replace a value of any type, or be replaced, as with a search that finds nothing in one run.
        return result is None or value is None
    if isinstance(result, str | os.PathLike) and result != value and os.path.exists(result):
        if os.path.exists(value):
            return False
        os.rename(result, value)
    return True


def _shown(value: Any) -> str:
    """A short text of a number, text or None; else empty."""
    if isinstance(value, bool | int | float | str | bytes | type(None)):
        text = repr(value)
        return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
    return ""
