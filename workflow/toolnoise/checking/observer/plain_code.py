"""A function that is called very often gets its own code back: what it calls has been seen often enough."""

import os
from types import CodeType, FunctionType
from typing import Any


def give_back(function: Any) -> None:
    """Give a function the code that its text says."""
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if type(function) is not FunctionType or not os.path.isfile(code.co_filename):
        return
    try:
        with open(code.co_filename, "rb") as file:
            whole = compile(file.read(), code.co_filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OSError):
        return
    waiting = [whole]
    while waiting:
        inner = waiting.pop()
        names = (inner.co_qualname, inner.co_firstlineno, inner.co_freevars)
        if names == (code.co_qualname, code.co_firstlineno, code.co_freevars):
            function.__code__ = inner
            return
        waiting += [each for each in inner.co_consts if isinstance(each, CodeType)]
