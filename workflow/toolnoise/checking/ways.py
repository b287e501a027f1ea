"""Other ways to run a program that should not matter: variables and options, and other numbers of processes."""

import ast
import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import command_words
from toolnoise.base.errors import BadArgument
from toolnoise.checking import program_text
from toolnoise.checking.program_text import SourceFile

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
# Options that have the size of a batch.
BATCHES = (
    *("--batch-size", "--batch", "--train-batch-size", "--micro-batch-size", "--per-device-batch-size"),
    "--per-device-train-batch-size",
)


class Way(NamedTuple):
    """A way to run a program: its name, the whole command, and variables.

    `instead` is the same way for a program whose option counts the examples of one process, and not those of the whole
    batch.
    """

    name: str
    words: list[str]
    variables: dict[str, str]
    instead: "Way | None" = None


class Asked(NamedTuple):
    """The ways to try, words that raise the precision, and words that switch draws off."""

    ways: Sequence[Way] = ()
    higher: Sequence[str] = ()
    without_draws: Sequence[str] = ()


def asked(words: Sequence[str], varied: Sequence[str], worlds: Sequence[str], higher: str, without_draws: str) -> Asked:
    """What a command line asks for: `NAME: [VARIABLE=VALUE ...] [WORD ...]`, and further numbers of processes."""
    start = torchrun(words, worlds[0]) if worlds else list(words)
    found = [_varied(start, text) for text in varied]
    found += [_of_world(words, worlds[0], number) for number in worlds[1:]]
    names = [way.name for way in found]
    for name in names:
        if names.count(name) > 1:
            raise BadArgument("vary", f"found {name!r} twice", "each name once")
    return Asked(
        found,
        command_words.words(higher, "--higher") if higher else [],
        command_words.words(without_draws, "--without-draws") if without_draws else [],
    )


def options_of(program: Sequence[SourceFile]) -> dict[str, str]:
    """The options in a program's text: all texts like one, with the default in the call that declares them."""
    nodes = [node for source in program for node in ast.walk(source.tree)]
    found = {
        str(node.value): ""
        for node in nodes
        if isinstance(node, ast.Constant) and re.fullmatch(r"--[a-z][a-z0-9_-]+", str(node.value))
    }
    for call in (node for node in nodes if isinstance(node, ast.Call)):
        for name in (word.value for word in call.args if isinstance(word, ast.Constant) and word.value in found):
            default = next((keyword.value for keyword in call.keywords if keyword.arg == "default"), None)
            found[name] = str(getattr(default, "value", ""))
    return found


def canonical(option: str) -> str:
    """An option with hyphens."""
    return "--" + option[2:].replace("_", "-")


def _of_world(words: Sequence[str], first: str, number: str) -> Way:
    """A way with another number of processes; and with a batch size for each of them, if the program has one."""
    way = Way(f"world {number}", torchrun(words, number), {})
    # The program's own spelling, with hyphens or underscores.
    options = options_of(program_text.sources(words, Path()))
    option = next((own for own in options if canonical(own) in BATCHES), "")
    size = _value(option, words) or options.get(option, "")
    if not size.isdigit() or int(size) * int(first) % int(number):
        return way
    more = [option, str(int(size) * int(first) // int(number))]
    return way._replace(instead=way._replace(name=f"{way.name} ({' '.join(more)})", words=[*way.words, *more]))


def _value(option: str, words: Sequence[str]) -> str:
    """The last value of an option among words, if it has one there."""
    joined = [word.partition("=")[2] for word in words if option and word.startswith(f"{option}=")]
    return ["", *joined, *(value for word, value in pairwise(words) if word == option)][-1]


def _varied(words: Sequence[str], text: str) -> Way:
    name, separator, rest = text.partition(":")
    parts = shlex.split(rest)
    if not (name.strip() and separator and parts):
        raise BadArgument("vary", f"found {text!r}", "NAME: VARIABLE=VALUE, or NAME: --option value")
    count = next((place for place, part in enumerate(parts) if not VARIABLE.match(part)), len(parts))
    variables = dict(part.split("=", 1) for part in parts[:count])
    more = command_words.required(parts[count:]) if parts[count:] else []
    return Way(name.strip(), [*words, *more], variables)


def worlds(text: str | None) -> list[str]:
    """Numbers of processes; what is unchanged has the first."""
    found = (text or "").split(",") if text else []
    for number in found:
        if not re.fullmatch("[1-9][0-9]?", number):
            raise BadArgument("world", f"found {number!r}", "numbers of processes, such as 1,2,4")
    return found


def torchrun(words: Sequence[str], number: str) -> list[str]:
    """A command that starts a Python program as several processes on this machine."""
    if not Path(words[0]).name.startswith("python"):
        raise BadArgument("world", f"found the program {words[0]!r}", "python SCRIPT ...")
    return [words[0], "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", number, *words[1:]]
