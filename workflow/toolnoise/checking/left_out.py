"""Whether a seed may be None: an option that the command lacks, a key that is not there, an argument left out."""

import ast
from collections.abc import Sequence

from toolnoise.checking.reader import Reader, is_none

MOST_STEPS = 4


class Given:
    """What a program's options and functions are given, as far as its text and its command line show."""

    def __init__(self, readers: Sequence[Reader], words: Sequence[str]) -> None:
        written = {word.partition("=")[0] for word in words}
        # An attribute that the program itself sets is no longer what the command line gave.
        set_later = {handle for reader in readers for handle in reader.held if handle.startswith(".")}
        self.missing: set[str] = set()
        self.calls: dict[str, list[tuple[Reader, ast.Call]]] = {}
        for reader in readers:
            for call, name in reader.calls:
                last, keywords = name.rpartition(".")[2], reader.keywords(call)
                self.calls.setdefault(last, []).append((reader, call))
                flags = [part.value for part in call.args if isinstance(part, ast.Constant)]
                if last == "add_argument" and not {*flags} & written and not {"action", "required", None} & {*keywords}:
                    names = [flag[2:].replace("-", "_") for flag in flags if str(flag).startswith("--")]
                    if names and is_none(keywords.get("default")):
                        self.missing |= {f".{name}" for name in names} - set_later

    def may_be_none(self, reader: Reader, node: ast.AST, steps: int = MOST_STEPS) -> bool:
        """Whether a value may be None, for a reason that the text shows."""
        if isinstance(node, ast.Constant):
            return node.value is None
        if isinstance(node, ast.Attribute):
            return reader.handle(node) in self.missing
        if isinstance(node, ast.Call):
            return reader.name(node.func).endswith(".get") and len(node.args) == 1 and not node.keywords
        if not isinstance(node, ast.Name) or not steps:
            return False
        inside = reader.function(node)
        arguments = inside.args if inside else None
        names = [each.arg for each in arguments.posonlyargs + arguments.args] if arguments else []
        if node.id not in names:
            value = reader.held.get(reader.handle(node))
            return value is not None and self.may_be_none(reader, value, steps - 1)
        if any(
            isinstance(part, ast.Name) and part.id == node.id and isinstance(part.ctx, ast.Store)
            for part in ast.walk(inside)
        ):
            return False
        default = dict(zip(reversed(names), reversed(arguments.defaults), strict=False)).get(node.id)
        method = names[:1] in (["self"], ["cls"])
        owner = reader.above[inside]
        called = owner.name if method and inside.name == "__init__" else inside.name
        for other, call in self.calls.get(called, ()):
            given = other.keywords(call)
            place = names.index(node.id) - method
            if None in given or any(isinstance(part, ast.Starred) for part in call.args):
                continue
            value = given.get(node.id) or (call.args[place] if place < len(call.args) else default)
            if value is not None and self.may_be_none(other, value, steps - 1):
                return True
        return False
