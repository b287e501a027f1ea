"""How much of a trained network is noise, where it comes from, and what it costs to remove.

`import toolnoise as tn`, and then `tn.compare`, `tn.churn`, `tn.noise`, `tn.plan`, `tn.keep`, `tn.check` and `tn.read`.
Bad input raises a `tn.BadInput`. No other name is for programs: others may change in any version. `__init__.pyi` has
the types.
"""

import importlib
from typing import Any

__version__ = "0.1.0"
__all__ = ["BadInput", "__version__", "check", "churn", "compare", "keep", "noise", "plan", "read"]

# Imported when it is asked for: `import toolnoise` costs no more than this file.
_MODULES = {"BadInput": "toolnoise.base.errors"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_MODULES.get(name, f"toolnoise.api.{name}")), name)
    if name not in _MODULES:
        found = importlib.import_module("toolnoise.api.wording").for_programs(found)
    return globals().setdefault(name, found)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
