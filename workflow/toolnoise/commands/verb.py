"""The declaration of a verb; the groups of the help, and arguments that several verbs share."""

import argparse
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

GAIN = "your results"
STUDY = "studies"
VERIFY = "trust"
MORE = "more"

Arguments = Mapping[str, Mapping[str, Any]]


def flag(says: str) -> Mapping[str, Any]:
    """An argument without a value."""
    return {"action": "store_true", "help": says}


def option(metavar: str | tuple[str, ...], says: str, **further: Any) -> Mapping[str, Any]:
    """An argument with a value, which the help calls `metavar`."""
    return {"metavar": metavar, "help": says, **further}


AS_JSON = {"--json": flag("print JSON")}


class Verb(NamedTuple):
    """A verb: its group in the help, its help, an example, the function behind it, and its arguments for argparse.

    The list of verbs shows the help up to the first semicolon. A name in capitals is a positional argument.
    """

    group: str
    says: str
    example: str
    run: Callable[[argparse.Namespace], None]
    arguments: Arguments
    usage: str = ""  # for a verb that passes further options to another program


def verb(
    group: str, example: str, arguments: Arguments, usage: str = ""
) -> Callable[[Callable[[argparse.Namespace], None]], Verb]:
    """Make a verb of the function that performs it; its docstring is the help."""
    return lambda run: Verb(group, (run.__doc__ or "").strip(), example, run, arguments, usage)


def show(found: object) -> None:
    """Print a text, or values as JSON."""
    print(found if isinstance(found, str) else json.dumps(found, indent=1))
