"""The command line, from its words to the verb that performs them.

Bad input ends in one line and exit code 2. The help lists the verbs for people, in groups; the verbs of rules can be
called, but are not listed. Each verb's own help begins with an example and fits on a screen. Only the requested verb is
imported.
"""

import argparse
import difflib
import importlib
import os
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from toolnoise import __version__
from toolnoise.base.errors import BadInput, errors_in_one_line
from toolnoise.base.printing import OUTPUT, printing_plainly
from toolnoise.commands.verb import Verb

WIDEST = 100  # columns of the help
# The verbs that people call, in the order of the help: each is a function of a module. The verbs of jobs are made from
# their functions: JOBS in study/job_code.py.
VERBS = {
    "compare": "toolnoise.verbs.gain:compare",
    "plan": "toolnoise.verbs.gain:plan",
    "gate": "toolnoise.verbs.gain:gate",
    "keep": "toolnoise.verbs.gain:keep",
    "check": "toolnoise.verbs.check:check",
    "init": "toolnoise.verbs.studies:init",
    "run": "toolnoise.verbs.studies:run",
    "summary": "toolnoise.verbs.studies:summary",
    "estimate": "toolnoise.verbs.studies:estimate",
    "audit": "toolnoise.verbs.trust:audit",
    "diff": "toolnoise.verbs.trust:diff",
    "rebuild": "toolnoise.verbs.trust:rebuild",
    "export": "toolnoise.verbs.trust:export",
    "import": "toolnoise.verbs.trust:import_",
    "sign": "toolnoise.verbs.trust:sign",
    "adopt": "toolnoise.verbs.studies:adopt",
    "doctor": "toolnoise.verbs.studies:doctor",
    "crate": "toolnoise.verbs.trust:crate",
}


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        raise BadInput("command line", "", message, f"see {self.prog} --help")


class _Layout(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal, up to 100 columns; an option with several values shows only one of them."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=24, width=min(WIDEST, shutil.get_terminal_size().columns))

    def _format_args(self, action: argparse.Action, default_metavar: str) -> str:
        if action.nargs in ("+", "*"):
            return f"{action.metavar or default_metavar} ..."
        return super()._format_args(action, default_metavar)


def main(arguments: Sequence[str] | None = None, started: str = "cold") -> None:
    """Run one verb; a job's statement says how its process started."""
    with printing_plainly(), errors_in_one_line(), _closed_output():
        options = parse_options(arguments)
        options.started, options.command_line = started, sys.argv[1:] if arguments is None else arguments
        options.run(options)


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of a command line; without a verb, print the help and end."""
    arguments = sys.argv[1:] if arguments is None else arguments
    asked = declared_verbs(*arguments[:1])
    if arguments and not arguments[0].startswith("-") and arguments[0] not in asked:
        near = difflib.get_close_matches(arguments[0], list(asked), 1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise BadInput("command line", "", f"no verb {arguments[0]!r}", f"{meant}see toolnoise --help")
    whole, _ = parser_of_verbs(asked)
    options, options.further = whole.parse_known_args(arguments)
    if options.further and not (options.verb and asked[options.verb].usage):
        whole.error(f"unrecognized arguments: {' '.join(options.further)}")
    if not options.verb:
        whole.print_help()
        sys.exit(0)
    return options


def declared_verbs(asked: str = "") -> dict[str, Verb]:
    """The requested verb; all verbs for people if no verb has this name."""
    if asked in VERBS:
        return {asked: _declared(asked)}
    from toolnoise.study.job_code import JOBS

    if asked in JOBS:
        # Imported here, because `check` needs only NumPy, and jobs need more.
        from toolnoise.commands import jobs

        return {asked: jobs.verb_of_job(asked)}
    return {name: _declared(name) for name in VERBS}


def _declared(name: str) -> Verb:
    module, _, function = VERBS[name].partition(":")
    return getattr(importlib.import_module(module), function)


def parser_of_verbs(verbs: Mapping[str, Verb]) -> tuple[argparse.ArgumentParser, Any]:
    """The parser of a command line, and its action that has a parser for each verb."""
    whole = _Parser(
        "toolnoise",
        usage="toolnoise VERB ...",
        description="Measure the noise of training deep networks.",
        epilog=_in_groups(verbs),
        formatter_class=_Layout,
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="version", version=f"toolnoise {__version__}")
    # The epilog has the verbs, in groups.
    parsers = whole.add_subparsers(dest="verb", prog="toolnoise", help=argparse.SUPPRESS)
    for name, verb in verbs.items():
        one = parsers.add_parser(
            name,
            help=verb.says,
            usage=verb.usage or _usage(name, verb),
            description=f"{verb.says}\n\nexample:\n  {verb.example}",
            formatter_class=_Layout,
            allow_abbrev=False,
        )
        one.set_defaults(run=verb.run)
        for argument, about in verb.arguments.items():
            named = {"metavar": argument} if argument.isupper() else {}
            one.add_argument(argument.lower() if named else argument, **named, **about)
    return whole, parsers


def _usage(name: str, verb: Verb) -> str:
    """The first line of a verb's help, with its positional arguments."""
    positional = [
        f"{argument} ..." if about.get("nargs") in ("+", "*", argparse.REMAINDER) else argument
        for argument, about in verb.arguments.items()
        if argument.isupper()
    ]
    return " ".join(["toolnoise", name, "[options]", *positional])


def _in_groups(verbs: Mapping[str, Verb]) -> str:
    """Each group with its verbs, a line each, in the order of the table."""
    lines = []
    for group in dict.fromkeys(verb.group for verb in verbs.values()):
        lines += [f"{group}:"]
        lines += [f"  {name:<10}{verb.says.partition(';')[0]}" for name, verb in verbs.items() if verb.group == group]
        lines += [""]
    return "\n".join([*lines, "`toolnoise VERB --help` explains a verb and begins with an example."])


@contextmanager
def _closed_output() -> Iterator[None]:
    """End well if the reader of the output, such as `head`, has closed it; a full disk under it is reported once."""
    try:
        try:
            yield
        finally:
            # Flushed here, because an error at the end of the interpreter could not be reported.
            sys.stdout.flush()
    except OSError as error:
        if error.filename != OUTPUT:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise


if __name__ == "__main__":
    main()
