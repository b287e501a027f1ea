"""The functions for programs and notebooks: `import toolnoise as tn`. The command line calls the same functions.

The functions import modules only when they are called, so that `import toolnoise` is fast. Of all packages beside the
kernel, only this one imports others: `comparison` and `checking`.
"""

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from toolnoise.base.errors import BadInput

P = ParamSpec("P")
R = TypeVar("R")


def public(function: Callable[P, R]) -> Callable[P, R]:
    """A function of `toolnoise`: the traceback of its errors ends where it was called."""

    @functools.wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> R:
        try:
            return function(*given, **named)
        except BadInput as error:
            raise error.with_traceback(None) from None

    called.__module__ = "toolnoise"  # users import it from there
    return called
