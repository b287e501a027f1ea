"""The recorder, which runs in the program's interpreter: it needs Python alone, and imports nothing of toolnoise.

PyTorch is hooked once the program has imported it. trace/traced_runs.py injects it as toolnoise_recorder.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from toolnoise_recorder import of_torch
from toolnoise_recorder.log import Log

FILE, WINDOW = "TOOLNOISE_TRACE", "TOOLNOISE_TRACE_WINDOW"
HOOKS = {"torch": of_torch.hook}


def start() -> None:
    """Record this process, if it is the first one of the program that computes; ranks other than 0 are not recorded."""
    path = os.environ.get(FILE, "")
    if not path or os.environ.get("RANK", "0") != "0":
        return
    first, _, end = os.environ.get(WINDOW, "0:0").partition(":")
    log = Log(path, range(int(first), int(end)), sys.modules)
    os.register_at_fork(before=log.flush, after_in_child=log.stop)
    _leave_out_threads(log)
    sys.meta_path.insert(0, _Finder(log))


def _leave_out_threads(log: Any) -> None:
    """Leave out what happens in threads that start from now on: their operations have no order of their own."""
    started = threading.Thread._bootstrap_inner

    def start(thread: threading.Thread) -> None:
        log.leave_out()
        for call in log.in_threads:
            call()
        started(thread)

    threading.Thread._bootstrap_inner = start


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any, done: Callable[[ModuleType], None]) -> None:
        self._loader, self._done = loader, done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        module.__loader__ = module.__spec__.loader = self._loader
        self._done(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that have a hook, which is called once the program has imported them."""

    def __init__(self, log: Any) -> None:
        self._hooks, self._log = dict(HOOKS), log

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        hook = self._hooks.pop(name, None)
        spec = importlib.util.find_spec(name) if hook else None
        if hook and spec and spec.loader:
            spec.loader = _Loader(spec.loader, lambda module: _hooked(name, hook, module, self._log))
        return spec


def _hooked(name: str, hook: Callable, module: ModuleType, log: Any) -> None:
    try:
        hook(module, log)
    except Exception as error:
        log.note(f"{name} {getattr(module, '__version__', '')} is not recorded: {type(error).__name__}: {error}")
    else:
        if version := getattr(module, "__version__", ""):
            log.note(f"{name} {version}", "version")
