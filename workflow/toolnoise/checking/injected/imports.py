"""Functions that are called once the program has imported a module."""

import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any


class _Finder:
    """Finds a module as usual, and calls its function when it has run."""

    def __init__(self, functions: Mapping[str, Callable[[ModuleType], object]]) -> None:
        self._functions = dict(functions)

    def find_spec(self, name: str, _path: Any, _target: Any = None) -> importlib.machinery.ModuleSpec | None:
        function = self._functions.pop(name, None)
        spec = importlib.util.find_spec(name) if function else None
        if function and spec and spec.loader:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                function(module)

            spec.loader.exec_module = exec_module
        return spec


def after_import(functions: Mapping[str, Callable[[ModuleType], object]]) -> None:
    """Call each function with the module of its name."""
    sys.meta_path.insert(0, _Finder(functions))
