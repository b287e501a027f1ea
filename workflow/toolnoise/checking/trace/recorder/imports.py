"""Hooks of modules, called when the program has imported them."""

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any, done: Callable[[ModuleType], None]) -> None:
        self._loader, self._done = loader, done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # Following each call within a framework's import takes longer than the import.
        follow = sys.gettrace()
        sys.settrace(None)
        try:
            self._loader.exec_module(module)
        finally:
            sys.settrace(follow)
        module.__loader__ = module.__spec__.loader = self._loader
        self._done(module)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, hooks: Mapping[str, Callable], log: Any) -> None:
        self._hooks, self._log = dict(hooks), log

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


def after(hooks: Mapping[str, Callable], log: Any) -> None:
    """Call the hook of each module once the module has been imported."""
    sys.meta_path.insert(0, _Finder(hooks, log))
