"""Values as one line of text, `key=value key=value`: as parameters of rules and on command lines people can read them.

A value is a plain word, or JSON. What is read is what was written: numbers keep their kind and all their digits.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from toolnoise.base.errors import BadInput

_WORD = re.compile(r"[A-Za-z_./][A-Za-z0-9_.,:/+@%-]*(?=\s|$)")
# Words that JSON has for other things than texts.
_OF_JSON = ("true", "false", "null", "NaN", "Infinity")
_KEY = re.compile(r"([^\s=]+)=")
_DECODER = json.JSONDecoder()


def values_as_text(values: Mapping[str, Any]) -> str:
    """Values as text: the name first, then by their keys, so that the order in a file changes nothing."""
    return " ".join(f"{key}={_value(values[key])}" for key in sorted(values, key=lambda key: (key != "name", key)))


def _value(value: Any) -> str:
    if isinstance(value, str) and _WORD.fullmatch(value) and value not in _OF_JSON:
        return value
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def values_in_text(line: str, option: str) -> dict[str, Any]:
    """The values in a text, which an option of the command line gave."""
    values: dict[str, Any] = {}
    position = 0
    while position < len(line):
        found = _KEY.match(line, position)
        if not found or found[1] in values:
            raise BadInput("command line", option, f"found {line[position:][:60]!r}", "key=value, each key once")
        values[found[1]], position = _parsed_value(line, found.end(), option)
        if line[position : position + 1] not in ("", " "):
            raise BadInput("command line", option, f"found {line[position:][:60]!r}", "a space between values")
        position += 1
    return values


def _parsed_value(line: str, start: int, option: str) -> tuple[Any, int]:
    word = _WORD.match(line, start)
    if word and word[0] not in _OF_JSON:
        return word[0], word.end()
    try:
        return _DECODER.raw_decode(line, start)
    except ValueError:
        raise BadInput("command line", option, f"found {line[start:][:60]!r}", "a word, or JSON") from None
