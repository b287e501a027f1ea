"""The record of one run: a digest for each thousand operations, and single operations where they are asked for.

A line of the file is one JSON list: its first word says what it is. It stays small: operations are written singly up to
DETAILED and in the window.
"""

import atexit
import json
import os
import threading
import zlib
from collections.abc import Callable
from typing import Any

from toolnoise_recorder import places

BLOCK, DETAILED = 1000, 20_000


class Log:
    """Operations of one process, in their order."""

    def __init__(self, path: str, window: range, modules: dict[str, Any]) -> None:
        self._path, self._file, self._waiting = path, None, list[str]()
        self._window, self._modules, self._process = window, modules, os.getpid()
        self._chain = 0
        self._lock, self._thread = threading.RLock(), threading.local()
        self.count, self.is_on = 0, True
        # Called at the start of each thread.
        self.in_threads: list[Callable[[], object]] = []
        atexit.register(self.end)

    @property
    def numpy(self) -> Any:
        """NumPy, if the program has imported it."""
        return self._modules.get("numpy")

    def here(self) -> bool:
        """Whether operations of this thread are recorded: not those of threads that the program started."""
        return self.is_on and not getattr(self._thread, "is_other", False)

    def leave_out(self, is_other: bool = True) -> bool:
        """Record no operation of this thread, or again: their order differs from run to run. Returns what was so."""
        before = not self.here()
        self._thread.is_other = is_other
        return before

    @property
    def in_detail(self) -> bool:
        """Whether the next operation is recorded singly."""
        return self.count < DETAILED or self.count in self._window

    def event(self, kind: str, name: str, result: str, place: places.Place, more: Callable[[], dict] = dict) -> int:
        """Record an operation and the digest of what came out of it; returns its number."""
        with self._lock:
            if self._file is None:
                self._claim()
            index, self.count = self.count, self.count + 1
            self._chain = zlib.crc32(f"{name}\n{place}\n{result}".encode(), self._chain)
            if index < DETAILED or index in self._window:
                self._write("event", index, kind, name, *place, result, more())
            if self.count % BLOCK == 0:
                self._end_block()
            return index

    def note(self, text: str, kind: str = "note") -> None:
        """Record what a reader should know."""
        self._write(kind, text)

    def _claim(self) -> None:
        """Be the process that is recorded: the first one with an operation, and not one that only starts another."""
        try:
            self._file = open(self._path, "x", encoding="utf-8")  # noqa: PTH123, SIM115 (until the process ends)
        except OSError:
            self.stop()
        else:
            self._file.writelines(self._waiting)
            self._waiting.clear()

    def flush(self) -> None:
        """Write what is left, as before a fork, after which it would be written twice."""
        if self._file is not None and self.is_on:
            self._file.flush()

    def failed(self, what: str, error: Exception) -> None:
        """Stop: the program must go on, whatever a recorder does not know."""
        self.note(f"recording stopped after {self.count:,} operations, at {what}: {type(error).__name__}: {error}")
        self._end_block()
        self.stop()

    def stop(self) -> None:
        """Record nothing more, as in a process that was forked."""
        self.is_on = False

    def end(self) -> None:
        """The end of the process."""
        if self.is_on and os.getpid() == self._process:
            self._end_block()
            self.stop()

    def _end_block(self) -> None:
        if self._file is None:
            self._claim()
        self._write("block", self.count, self._chain)
        self.flush()

    def _write(self, *parts: Any) -> None:
        if not self.is_on:
            return
        line = json.dumps(parts) + "\n"
        if self._file is None:
            self._waiting.append(line)
        else:
            self._file.write(line)
