"""The verbs of comparison: a module for each, with its arguments, help, group and function (`VERB`)."""

import argparse
import inspect
from collections.abc import Callable
from typing import Any


def arguments_of(function: Callable[..., Any], options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of a function of the API, whose names are those of the options."""
    return {name: getattr(options, name) for name in inspect.signature(function).parameters}
