"""Reads YAML strictly: a value is read as it is written, or its line is refused.

YAML 1.1, which PyYAML reads, changes values silently: 010 is 8, 1:20 is 80, 1_000 is 1000, `no` is false, 1e3 is text.
Here numbers are read as in JSON, and also with a plus sign or without digits on one side of the point. true, false and
null are read. Everything else that YAML 1.1 or 1.2 does not read as text is refused; such text must be in quotes.
"""

import math
import re
from typing import Any

import yaml
from yaml.composer import ComposerError

# The maximum number of values in a YAML file; an alias counts as all values that it stands for.
MOST_VALUES = 1_000_000
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_POINT = r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)"
# PyYAML only matches patterns at the start of a text, so they end in \Z.
_FLOAT = re.compile(rf"{_POINT}([eE][-+]?[0-9]+)?\Z")
# Text that other readers of YAML, or people, may take for a number.
_LIKE_A_NUMBER = re.compile(r"[-+]?(0[oObBxX])?([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][-+]?[0-9_]+)?\Z")
_BOOLEANS = ("true", "false", "True", "False", "TRUE", "FALSE")
_STR, _FLOAT_TAG = "tag:yaml.org,2002:str", "tag:yaml.org,2002:float"
_ALLOWED = {
    "bool": "allowed: true or false, or the text in quotes",
    "timestamp": "allowed: the text in quotes",
    "merge": "allowed: << as a key",
}
_NUMBERS = "allowed: a number such as 8, 0.5 or 1e-3 that a float holds, or the text in quotes"


class _StrictLoader(yaml.SafeLoader):
    """A loader that loses or changes no value silently, and limits the number of values that aliases produce."""

    def get_single_node(self) -> yaml.Node | None:
        node = super().get_single_node()
        if node is not None and _values(node, {}) > MOST_VALUES:
            found = f"more than {MOST_VALUES} values, with each alias in full"
            raise ComposerError(None, None, found, node.start_mark)
        return node

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node:
        event = self.peek_event()
        if getattr(event, "tag", None):
            raise ComposerError(None, None, f"found the tag {event.tag}; allowed: no tags", event.start_mark)
        return super().compose_node(parent, index)

    def compose_scalar_node(self, anchor: str | None) -> yaml.ScalarNode:
        node = super().compose_scalar_node(anchor)
        if node.style is None:
            self._require_plain(node)
        return node

    def _require_plain(self, node: yaml.ScalarNode) -> None:
        kind, text = node.tag.rpartition(":")[2], node.value
        if kind == "str" and not _LIKE_A_NUMBER.fullmatch(text):
            return
        if kind in ("null", "merge") or (kind == "bool" and text in _BOOLEANS):
            return
        is_number = (kind == "int" and _INTEGER.fullmatch(text)) or (kind == "float" and _FLOAT.fullmatch(text))
        if is_number and _is_held(text):
            return
        problem = f"found {text if len(text) <= 60 else text[:57] + '...'}"
        raise ComposerError(None, None, f"{problem}; {_ALLOWED.get(kind, _NUMBERS)}", node.start_mark)

    def compose_mapping_node(self, anchor: str | None) -> yaml.MappingNode:
        # Keys are as written at this point; later, YAML merging adds the keys of other mappings.
        node = super().compose_mapping_node(anchor)
        written = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in written:
                raise ComposerError(None, None, f"key {key.value!r} is repeated", key.start_mark)
            written.add(key.value)
            if key.tag.endswith(":int"):
                # Keys are text, such as the names of folders.
                key.tag = _STR
            elif not key.tag.endswith((":str", ":merge")):
                raise ComposerError(None, None, f"found the key {key.value}; allowed: text in quotes", key.start_mark)
        return node


# PyYAML tries integers before this pattern. Without the pattern, it reads +.5 as text.
_StrictLoader.add_implicit_resolver(_FLOAT_TAG, _FLOAT, list("-+.0123456789"))


class _Dumper(yaml.SafeDumper):
    """A dumper that quotes text which would be read as a number."""


_Dumper.add_implicit_resolver(_FLOAT_TAG, _LIKE_A_NUMBER, list("-+.0123456789"))


def _is_held(text: str) -> bool:
    """Whether a float holds the number, without overflow and without underflow to 0."""
    value = float(text)
    return math.isfinite(value) and (value != 0 or not re.search("[1-9]", re.split("[eE]", text)[0]))


def _values(node: yaml.Node, known: dict[int, float]) -> float:
    """The number of values that a node stands for; infinite if it contains itself."""
    if id(node) not in known:
        known[id(node)] = math.inf
        parts = node.value if isinstance(node, yaml.CollectionNode) else ()
        flat = (one for part in parts for one in (part if isinstance(part, tuple) else (part,)))
        known[id(node)] = 1 + sum(_values(one, known) for one in flat)
    return known[id(node)]


def load_yaml(text: str) -> Any:
    """Read YAML; raise a ValueError with the line and the problem if it is not allowed."""
    try:
        return yaml.load(text, _StrictLoader)  # noqa: S506 (derived from SafeLoader)
    except yaml.reader.ReaderError as error:
        line, problem = text.count("\n", 0, error.position) + 1, f"found the character #x{error.character:04x}"
        raise ValueError(f"line {line}: {problem}; expected YAML") from None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where, problem = f"line {mark.line + 1}: " if mark else "", getattr(error, "problem", None) or str(error)
        raise ValueError(where + problem + ("" if "; allowed: " in problem else "; expected YAML")) from None


def dump_yaml(value: Any) -> str:
    """Write YAML that `load_yaml` and other readers read back unchanged."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=110)
