"""The command line of a training program: its words, and the placeholders in them. docs/outside.md explains them."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import ALGORITHMIC

PLACEHOLDERS = (*ALGORITHMIC, "out", "checkpoint")
# A variable of the environment, such as {env:HF_TOKEN}: only its name is recorded.
VARIABLE = "env:"
# Not ${name}, which may be a variable of a shell that the command starts.
_PLACEHOLDER = re.compile(rf"(?<!\$)\{{([a-z_]+|{VARIABLE}[^{{}}]*)\}}")
_NAME = re.compile(rf"{VARIABLE}[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# A shorter value occurs in logs by chance, and could not be hidden there.
SHORTEST = 6


def split_command(command: str, where: str = "command") -> list[str]:
    """The words of a command line, split as a shell would split it; no other syntax of a shell is understood."""
    try:
        split_words = shlex.split(command)
    except ValueError as error:
        raise BadInput(where, command, f"cannot be split ({error})", "a command line with closed quotes") from None
    return require_words(split_words, where)


def require_words(words: Sequence[str], where: str = "command") -> list[str]:
    """The words of a command, if there are any and all their placeholders are known."""
    if not words:
        raise BadInput(where, "", "no program", "such as: python train.py --seed {init}")
    for name in placeholders_of(words):
        if name not in PLACEHOLDERS and not _NAME.fullmatch(name):
            allowed = ", ".join(f"{{{allowed_name}}}" for allowed_name in (*PLACEHOLDERS, f"{VARIABLE}NAME"))
            raise BadInput(where, "", f"unknown placeholder {{{name}}}", f"allowed: {allowed}")
    return list(words)


def placeholders_of(words: Sequence[str]) -> list[str]:
    """The names of the placeholders in a command, in their order."""
    return list(dict.fromkeys(name for word in words for name in _PLACEHOLDER.findall(word)))


def variable_names(*texts: str) -> list[str]:
    """The placeholders of variables in a command line, or in its words."""
    return [name for name in placeholders_of(texts) if name.startswith(VARIABLE)]


def variables_of(words: Sequence[str], where: str = "command") -> dict[str, str]:
    """The environment variables that a command names, by placeholder; unset and short ones are refused."""
    values = {}
    for placeholder in variable_names(*words):
        name = placeholder.removeprefix(VARIABLE)
        value = os.environ.get(name)
        if value is None:
            raise BadInput(
                where, f"{{{placeholder}}}", f"the variable {name} is not set", f"such as: export {name}=..."
            )
        if len(value) < SHORTEST:
            allowed = f"at least {SHORTEST} characters; what is no secret belongs into the command itself"
            raise BadInput(where, f"{{{placeholder}}}", f"the variable {name} has {len(value)} characters", allowed)
        values[placeholder] = value
    return values


def fill_placeholders(words: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    """A command with values in place of placeholders. A value stays within its word, whatever characters it has."""
    return [_PLACEHOLDER.sub(lambda match: str(values[match[1]]), word) for word in words]
