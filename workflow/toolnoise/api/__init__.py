"""What programs and notebooks call: `import toolnoise as tn`. The command line calls the same functions.

Its functions import what they need when they are called, so that `import toolnoise` costs nothing. Of all that stands
beside the kernel, this room alone imports others: `comparison` and `checking`.
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

    called.__module__ = "toolnoise"  # where it is found by name
    return called
