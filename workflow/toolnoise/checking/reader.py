"""What a program's text says of its calls: their full names, their arguments, and what contains them."""

import ast
import re
import sys
from collections.abc import Iterator, Sequence

from toolnoise.checking.program_text import SourceFile

LOADER = "torch.utils.data.DataLoader"
DROPOUT = re.compile(r"torch\.nn\.(functional\.\w*dropout\w*|\w*Dropout\w*)")


class Reader:
    """A file with the full names of what it calls, and what contains each node."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.nodes = list(ast.walk(source.tree))
        self.above = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}
        self.aliases = dict(_aliases(self.nodes))
        self.calls = [(node, self.name(node.func)) for node in self.nodes if isinstance(node, ast.Call)]
        given = [node for node in self.nodes if isinstance(node, ast.Assign | ast.AnnAssign) and node.value]
        given.sort(key=lambda node: node.lineno)
        pairs = [pair for node in given for target in targets(node) for pair in _pairs(target, node.value)]
        # What each name was last given.
        self.assigned = {target.id: value for target, value in pairs if isinstance(target, ast.Name)}

    def name(self, node: ast.AST) -> str:
        """The full name of what is called: numpy.random.rand for np.random.rand; .item for a method of anything."""
        if isinstance(node, ast.Name):
            # A variable may have the name of a module that the file does not import.
            return self.aliases.get(node.id, f".{node.id}" if node.id in sys.stdlib_module_names else node.id)
        return f"{self.name(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""

    def place(self, node: ast.AST) -> tuple[str, int, str]:
        """The file and the line that a node begins in, and the line's text."""
        return self.source.file, node.lineno, self.source.lines[node.lineno - 1].strip()

    def keywords(self, call: ast.Call) -> dict[str | None, ast.AST]:
        """The keyword arguments of a call; **rest stands under None."""
        return {keyword.arg: keyword.value for keyword in call.keywords}

    def argument(self, call: ast.Call, name: str, place: int) -> ast.AST | None:
        """What a call gives to an argument, by its name or by its place."""
        return self.keywords(call).get(name) or next(iter(call.args[place:]), None)

    def parents(self, node: ast.AST) -> Iterator[ast.AST]:
        """What contains a node, from the inside out."""
        while node in self.above:
            node = self.above[node]
            yield node


def targets(node: ast.Assign | ast.AnnAssign) -> list[ast.AST]:
    """What an assignment gives its value to."""
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _pairs(target: ast.AST, value: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What an assignment gives to each of its targets: both sides of `a, b = 1, 2`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        yield from zip(target.elts, value.elts, strict=True)
    else:
        yield target, value


def is_off(node: ast.AST | None) -> bool:
    """Whether an argument is left out, or is None, False or 0."""
    return node is None or (isinstance(node, ast.Constant) and not node.value)


def _aliases(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, str]]:
    """The full names of what a file imports, by the names that it gives them."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                # `import a.b` binds a, `import a.b as c` binds a.b.
                whole = alias.name if alias.asname else alias.name.partition(".")[0]
                yield alias.asname or whole, whole
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
