"""Values that lines of the user's code give to variables, for what no framework computes.

An array that differs is a difference of the run. Numbers and texts may be times or paths, and only explain one.
"""

import atexit
import dis
import functools
import sys
from types import CodeType, FrameType
from typing import Any

from toolnoise_recorder import places
from toolnoise_recorder.digests import of_array, plain

STORES = ("STORE_FAST", "STORE_NAME", "STORE_GLOBAL", "STORE_DEREF")
LOADS = ("LOAD_FAST", "LOAD_NAME", "LOAD_GLOBAL", "LOAD_DEREF")
MOST_LINES = 200_000  # of one function that are followed
ORDERED = "a set in the order"
LARGE = 1 << 20  # bytes of an array that is looked at after each change of an element


def start(log: Any) -> None:
    """Follow the lines of the main thread, unless a debugger does."""
    if sys.gettrace() is not None:
        return
    left: dict[CodeType, int] = {}

    def called(frame: FrameType, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        # Comprehensions have no variables that outlive them.
        if not places.name(code.co_filename) or (code.co_name[0] == "<" and code.co_name != "<module>"):
            return None
        if left.setdefault(code, MOST_LINES) <= 0 or not log.is_on:
            return None
        return _Followed(log, left).step

    sys.settrace(called)
    # What runs when Python ends finds no modules any more.
    atexit.register(sys.settrace, None)


class _Followed:
    """One call of a function."""

    __slots__ = ("_before", "_left", "_log")

    def __init__(self, log: Any, left: dict[CodeType, int]) -> None:
        self._log, self._left, self._before = log, left, 0

    def step(self, frame: FrameType, event: str, _argument: Any) -> Any:
        """Look at what the line before has changed."""
        if event in ("line", "return"):
            names = _changed(frame.f_code).get(self._before)
            if names:
                self._look(frame, *names)
            self._before = frame.f_lineno
            self._left[frame.f_code] -= 1
            if self._left[frame.f_code] <= 0:
                return None
        return self.step

    def _look(self, frame: FrameType, stored: tuple[str, ...], within: tuple[str, ...]) -> None:
        numpy, place = self._log.numpy, (places.name(frame.f_code.co_filename), self._before)
        variables = frame.f_locals
        for name in dict.fromkeys(stored + within):
            value = variables.get(name, frame.f_globals.get(name))
            if numpy is not None and type(value) is numpy.ndarray:
                if (name in stored or value.nbytes <= LARGE) and not value.dtype.hasobject:
                    self._log.event("line", name, of_array(value, numpy), place)
            elif type(value) in (set, frozenset) and len(value) <= 1000:
                # Its order is that of a loop over it.
                self._log.value(name, f"{ORDERED} {plain(list(value))}", place)
            elif value is not None and (text := plain(value)) is not None:
                self._log.value(name, text, place)


@functools.cache
def _changed(code: CodeType) -> dict[int, tuple[tuple[str, ...], tuple[str, ...]]]:
    """By line, the variables that it sets, and those in which it may set something."""
    stored: dict[int, list[str]] = {}
    loaded: dict[int, list[str]] = {}
    within: set[int] = set()
    line = code.co_firstlineno
    starts = dict(dis.findlinestarts(code))
    before = ""
    for each in dis.get_instructions(code):
        line = starts.get(each.offset) or line
        if each.opname.startswith(STORES):
            stored.setdefault(line, []).extend(_names(each.argval))
        elif each.opname.startswith(LOADS):
            loaded.setdefault(line, []).extend(_names(each.argval))
        # An element is set, or a call's result is not used, as after list.append.
        if each.opname in ("STORE_SUBSCR", "STORE_SLICE") or (each.opname == "POP_TOP" and before.startswith("CALL")):
            within.add(line)
        before = each.opname
    return {
        at: (tuple(stored.get(at, ())), tuple(loaded.get(at, ()) if at in within else ()))
        for at in stored.keys() | within
    }


def _names(argument: Any) -> tuple[str, ...]:
    return argument if isinstance(argument, tuple) else (argument,)
