"""What a verb's module declares; the groups of the help, and arguments that several verbs share."""

import argparse
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

GAIN = "is a gain real, is a training reproducible?"
STUDY = "before, during and after a study"
VERIFY = "verify results"
SHARE = "share results"
DATA = "try data formats"

Arguments = Mapping[str, Mapping[str, Any]]


def flag(says: str) -> Mapping[str, Any]:
    """An argument that is given or not."""
    return {"action": "store_true", "help": says}


def option(metavar: str, says: str, **further: Any) -> Mapping[str, Any]:
    """An argument with a value, which the help calls `metavar`."""
    return {"metavar": metavar, "help": says, **further}


OF_THIS_FOLDER = {
    "--study": option("FILE", "a configuration, or the study.json among its results (the only study of this folder)")
}
AS_JSON = {"--json": flag("print JSON")}
RESULTS = {
    "RESULTS": {"nargs": "?", "default": "results", "help": "a results folder, or one study's folder in it (results)"}
}
RESULTS_OR_ARCHIVE = {
    "RESULTS": RESULTS["RESULTS"] | {"help": "a results folder, or the folder or archive of one study (results)"}
}
OF_ONE_STUDY = {"RESULTS": {"help": "a study's results folder, such as results/demo"}}
ANONYMOUS = {"--anonymous": flag("leave out host names, users, paths and credentials, for double-blind review")}
NO_CREDENTIAL = {
    "--no-credential": option(
        "TEXT", "share this text although it looks like a credential; repeat for each", action="append", default=[]
    )
}


class Verb(NamedTuple):
    """A verb: its group in the help, its help, an example, what performs it, and its arguments as argparse takes them.

    Capitals name a positional argument.
    """

    group: str
    says: str
    example: str
    run: Callable[[argparse.Namespace], None]
    arguments: Arguments
    usage: str = ""  # of a verb whose further options are another program's


def show(found: object) -> None:
    """Print a text, or values as JSON."""
    print(found if isinstance(found, str) else json.dumps(found, indent=1))
