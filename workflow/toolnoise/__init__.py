"""How much of a trained network is noise, where it comes from, and what it costs to remove.

`import toolnoise as tn`, and then `tn.compare`, `tn.churn`, `tn.noise`, `tn.plan`, `tn.check` and `tn.read`. Bad input
raises a `tn.BadInput`. No other name is for programs: others may change in any version.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from toolnoise.api.check import check as check
    from toolnoise.api.churn import churn as churn
    from toolnoise.api.compare import compare as compare
    from toolnoise.api.noise import noise as noise
    from toolnoise.api.plan import plan as plan
    from toolnoise.api.read import read as read
    from toolnoise.base.errors import BadInput as BadInput

__version__ = "0.1.0"
__all__ = ["BadInput", "__version__", "check", "churn", "compare", "noise", "plan", "read"]

# Imported when it is asked for: `import toolnoise` costs no more than this file.
_MODULES = {"BadInput": "toolnoise.base.errors"}


if not TYPE_CHECKING:  # else a checker would take any name for one that is there

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(_MODULES.get(name, f"toolnoise.api.{name}")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
