"""The parser of the command line: a verb for each job, and the verbs that people call by hand."""

import argparse
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from toolnoise import __version__
from toolnoise.base.errors import BadInput
from toolnoise.commands.arguments import ARGUMENTS

if TYPE_CHECKING:
    from toolnoise.steps import Step

SHELLS = ("bash", "zsh", "fish")
# Places of the demo, for examples.
_PLACES = {
    "model": "smallcnn",
    "dataset": "digits",
    "hardware": "cpu",
    "other-hardware": "cpu-eigen",
    "variant": "algo_impl",
    "seed": "1",
    "mode": "default",
    "repeat": "1",
    "kind": "stability",
    "figure": "table2",
}
GROUPS = {
    "is a gain real, is a training reproducible?": ("compare", "plan", "check"),
    "before, during and after a study": ("init", "adopt", "doctor", "estimate", "run", "status", "summary"),
    "verify results": ("audit", "diff", "rebuild", "sign"),
    "share results": ("page", "export", "import", "slim", "crate"),
    "try data formats": ("synthesise",),
}


class Verb(NamedTuple):
    """A verb, what performs it, its help, the names of its arguments and an example.

    Capitals name a positional argument, a question mark an optional one.
    """

    name: str
    run: Callable[[argparse.Namespace], None]
    says: str
    arguments: Sequence[str]
    example: str
    usage: str = ""  # of a verb whose further options are another program's


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        raise BadInput("command line", "", message, f"see {self.prog} --help")


def parser(
    by_hand: Sequence[Verb], steps: "Mapping[str, Step]", perform: Callable[[argparse.Namespace], None]
) -> tuple[argparse.ArgumentParser, Any]:
    """The parser of a command line, and its action that has a parser for each verb; `perform` performs a job."""
    raw = argparse.RawDescriptionHelpFormatter
    whole = _Parser(
        "toolnoise",
        usage="toolnoise VERB ...",
        description="Measure the noise of training deep networks.",
        epilog=_in_groups(by_hand, steps),
        formatter_class=raw,
        allow_abbrev=False,
    )
    whole.add_argument("--version", action="version", version=f"toolnoise {__version__}")
    whole.add_argument("--print-completion", choices=SHELLS, help="print the completion script for a shell")
    # The epilog has the verbs, in groups.
    verbs = whole.add_subparsers(dest="verb", prog="toolnoise", help=argparse.SUPPRESS)
    for verb in [*(_of_job(name, step, perform) for name, step in steps.items()), *by_hand]:
        epilog = f"example:\n  {verb.example}"
        one = verbs.add_parser(
            verb.name, help=verb.says, description=verb.says, epilog=epilog, formatter_class=raw, allow_abbrev=False
        )
        one.set_defaults(run=verb.run)
        if verb.usage:
            one.usage = verb.usage
        for name in verb.arguments:
            argument = name.removesuffix("?")
            about = ARGUMENTS.get((verb.name, argument), ARGUMENTS.get(argument, {}))
            step = steps.get(verb.name)
            if step and argument in step.several:
                optional = argument in step.reads and step.reads[argument].optional
                about = {"nargs": "*" if optional else "+", **about}
            if argument.isupper():
                one.add_argument(argument.lower(), metavar=argument, **about)
            else:
                one.add_argument(f"--{argument}", **{"required": argument == name, **about})
    return whole, verbs


def completion(whole: argparse.ArgumentParser, verbs: Any, shell: str) -> str:
    """The script that completes verbs, options and files in a shell."""
    import shtab

    # shtab leaves out what has no help.
    verbs.help = "what to do"
    for one in verbs.choices.values():
        for action in one._actions:
            if action.nargs != 0 and action.type is None and action.choices is None:
                action.complete = shtab.FILE
    return shtab.complete(whole, shell)


def _of_job(name: str, step: "Step", perform: Callable[[argparse.Namespace], None]) -> Verb:
    places = [field.replace("_", "-") for field in step.where.place._fields]
    arguments = ("study", *places, *step.reads, *step.writes, *step.work.aside, "planned?")
    study = " ".join(["--study results/demo/study.json", *(f"--{place} {_PLACES[place]}" for place in places)])
    example = f"toolnoise {name} {study} ...\n  (`snakemake --printshellcmds` prints the files, too)"
    return Verb(name, perform, step.says, arguments, example)


def _in_groups(by_hand: Sequence[Verb], steps: "Mapping[str, Step]") -> str:
    says = {name: step.says for name, step in steps.items()} | {verb.name: verb.says for verb in by_hand}
    lines = []
    for title, verbs in (GROUPS | {"jobs, which Snakemake runs": steps}).items():
        lines += ["", f"{title}:"]
        for verb in verbs:
            lines.append(textwrap.fill(says[verb], 80, initial_indent=f"  {verb:<20}", subsequent_indent=f"{'':22}"))
    return "\n".join([*lines[1:], "", "`toolnoise VERB --help` explains a verb and shows an example."])
