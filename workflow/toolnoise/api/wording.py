"""Errors in the words of programs: what the command line calls an option is an argument there."""

import functools
import inspect
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from toolnoise.base.errors import BadInput

OPTION = re.compile(r"(?<![\w-])--([a-z]+(?:-[a-z]+)*)(?![\w-])(:?)")
P = ParamSpec("P")
R = TypeVar("R")


def for_programs(function: Callable[P, R]) -> Callable[P, R]:
    """A function of the API whose errors name its arguments; their traceback ends where it was called."""

    @functools.wraps(function)
    def public(*given: P.args, **named: P.kwargs) -> R:
        try:
            return function(*given, **named)
        except BadInput as error:
            line = _as_arguments(str(error), {*inspect.signature(function).parameters}, repr((given, named)))
            raise error.saying(line).with_traceback(None) from None

    public.__module__ = "toolnoise"  # where it is found by name
    return public


def _as_arguments(line: str, known: set[str], own: str) -> str:
    """An error with arguments for options; those in the caller's own words stay, such as a program's."""

    def argument(match: re.Match[str]) -> str:
        name = match[1].replace("-", "_")
        if name not in known or f"--{match[1]}" in own:
            return match[0]
        return f"{name}:" if match[2] else f"`{name}`"

    return OPTION.sub(argument, re.sub("^ARMS:", "arms:", line.removeprefix("command line: ")))
