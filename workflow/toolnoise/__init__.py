"""How much of a trained network is noise, where it comes from, and what it costs to remove.

`import toolnoise as tn`, and then `tn.compare_runs`, `tn.compare_predictions`, `tn.compare_values`,
`tn.compare_questions`, `tn.plan`, `tn.gate`, `tn.keep`, `tn.churn`, `tn.noise`, `tn.check` and `tn.read_results`. Bad
input raises a `tn.BadInput`. Only these names are for programs: all others may change in any version. `__init__.pyi`
has the types.
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any

__version__ = "0.1.0"
# Each public name, and the module of the API that has it.
_MODULES = dict.fromkeys(("compare_runs", "compare_predictions", "compare_values", "compare_questions"), "compare")
_MODULES |= dict.fromkeys(("churn", "noise"), "compare") | dict.fromkeys(("plan", "gate", "keep"), "decide")
_MODULES |= dict.fromkeys(("check", "read_results"), "study")
__all__ = ["BadInput", "__version__", *_MODULES]


def __getattr__(name: str) -> Any:
    # Names are imported on first use: `import toolnoise` costs no more than this file.
    if name == "BadInput":
        value = importlib.import_module("toolnoise.base.errors").BadInput
    elif name in _MODULES:
        value = _public(getattr(importlib.import_module(f"toolnoise.api.{_MODULES[name]}"), name))
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, value)


def _public(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `toolnoise`: the traceback of its errors ends where it was called."""
    bad_input = importlib.import_module("toolnoise.base.errors").BadInput

    @functools.wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        try:
            return function(*given, **named)
        except bad_input as error:
            raise error.with_traceback(None) from None

    called.__module__ = "toolnoise"  # where it is found by name
    return called


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
