"""The command line of a training program: its words, and the placeholders in them. docs/outside.md explains them."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.base.noise_sources import ALGORITHMIC

PLACEHOLDERS = (*ALGORITHMIC, "out", "checkpoint")
# Not ${name}, which a shell that the command starts may know.
_PLACEHOLDER = re.compile(r"(?<!\$)\{([a-z_]+)\}")


def words(command: str, where: str = "command") -> list[str]:
    """The words of a command line, as a shell would split it; nothing else of a shell is understood."""
    try:
        found = shlex.split(command)
    except ValueError as error:
        raise BadInput(where, command, f"cannot be split ({error})", "a command line with closed quotes") from None
    return required(found, where)


def required(words: Sequence[str], where: str = "command") -> list[str]:
    """The words of a command, if there are any and all their placeholders are known."""
    if not words:
        raise BadInput(where, "", "no program", "such as: python train.py --seed {init} --out {out}")
    for name in placeholders(words):
        if name not in PLACEHOLDERS:
            allowed = ", ".join(f"{{{known}}}" for known in PLACEHOLDERS)
            raise BadInput(where, "", f"unknown placeholder {{{name}}}", f"allowed: {allowed}")
    return list(words)


def placeholders(words: Sequence[str]) -> list[str]:
    """The names of the placeholders in a command, in their order."""
    return list(dict.fromkeys(name for word in words for name in _PLACEHOLDER.findall(word)))


def filled(words: Sequence[str], values: Mapping[str, Any]) -> list[str]:
    """A command with values in place of placeholders. A value stays within its word, whatever characters it has."""
    return [_PLACEHOLDER.sub(lambda found: str(values[found[1]]), word) for word in words]
