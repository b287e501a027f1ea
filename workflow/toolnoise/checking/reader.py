"""What a program's text says of its calls: their full names, what contains them, which values are sets."""

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from toolnoise.checking.program_text import SourceFile

# Where the order of what is iterated over does not matter.
ORDERLESS = ("sorted", "len", "sum", "min", "max", "any", "all", "set", "frozenset", "bool", "isinstance")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# What hands on the values that it is given, in their order.
HANDS_ON = ("list", "tuple", "reversed", "filter", "map", "iter")
# What takes files away, and what fills a list or a set.
REMOVES = ("remove", "unlink", "rmdir", "rmtree", "removedirs")
GROWS = ("append", "extend", "add", "update", "insert")
COMBINES = ("union", "intersection", "difference", "symmetric_difference")
LOADER = "torch.utils.data.DataLoader"
DROPOUT = re.compile(r"torch\.nn\.(functional\.\w*dropout\w*|\w*Dropout\w*)")
SEEDLIKE = re.compile(r"seed|rng|random|prng|generator", re.IGNORECASE)


class Reader:
    """A file with the full names of what it calls, and what contains each node."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.nodes = list(ast.walk(source.tree))
        self.above = {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}
        self.aliases = dict(_aliases(self.nodes))
        self.calls = [(node, self.name(node.func)) for node in self.nodes if isinstance(node, ast.Call)]
        self.local = {node: own_names(node) for node in self.nodes if isinstance(node, FUNCTIONS)}
        given = [node for node in self.nodes if isinstance(node, ast.Assign | ast.AnnAssign) and node.value]
        given.sort(key=lambda node: node.lineno)
        pairs = [pair for node in given for target in targets(node) for pair in _pairs(target, node.value)]
        # What each name was last given; and, by its handle, what each function's own name and each attribute was.
        self.assigned = {target.id: value for target, value in pairs if isinstance(target, ast.Name)}
        self.held = {handle: value for target, value in pairs if (handle := self.handle(target))}
        self.sets: set[str] = set()
        self._asked: set[str] = set()
        self.find_sets(())

    def find_sets(self, others: Iterable[str]) -> None:
        """Learn which names, attributes and functions, as name(), have sets; `others` are functions of other files."""
        returned = [
            (inside, node.value)
            for node in self.nodes
            if isinstance(node, ast.Return) and node.value
            if (inside := self.function(node))
        ]
        functions = {*others}
        for _ in range(2):
            self.sets = functions | {name for name, value in self.held.items() if self.is_set(value)}
            functions |= {f"{inside.name}()" for inside, value in returned if self.is_set(value)}
        self.sets |= functions

    def handle(self, node: ast.AST) -> str:
        """How a name or an attribute is known: a function's own name with its line, an attribute as .name."""
        if isinstance(node, ast.Attribute):
            return f".{node.attr}"
        if not isinstance(node, ast.Name):
            return ""
        owners = (above for above in self.parents(node) if node.id in self.local.get(above, ()))
        return f"{node.id}:{owner.lineno}" if (owner := next(owners, None)) else node.id

    def name(self, node: ast.AST) -> str:
        """The full name of what is called: numpy.random.rand for np.random.rand; .item for a method of anything."""
        if isinstance(node, ast.Name):
            # A variable may have the name of a module that the file does not import.
            return self.aliases.get(node.id, f".{node.id}" if node.id in sys.stdlib_module_names else node.id)
        return f"{self.name(node.value)}.{node.attr}" if isinstance(node, ast.Attribute) else ""

    def place(self, node: ast.AST) -> tuple[str, int, str]:
        """The file and the line that a node begins in, and the line's text."""
        return self.source.file, node.lineno, self.source.lines[node.lineno - 1].strip()

    def called(self, node: ast.AST) -> list[str]:
        """What is called if a value is: a function by its name, or by that of what is given to partial; an object."""
        if isinstance(node, ast.Call):
            name = self.name(node.func)
            if name.endswith("partial") and node.args:
                return self.called(node.args[0])
            return [f"{name}.__call__"]
        if not isinstance(node, ast.Name | ast.Attribute):
            return []
        value = self.held.get(self.handle(node))
        made = self.called(value) if isinstance(value, ast.Call) else []
        return [node.id if isinstance(node, ast.Name) else node.attr, *made]

    def calls_in(self, node: ast.AST) -> list[str]:
        """The full names of what is called within a node."""
        return [self.name(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)]

    def choices(self, call: ast.Call) -> list[str]:
        """The full name of what a call calls, or of all that a table has for it: {"a": A}[name]()."""
        table = self.held.get(self.handle(call.func.value)) if isinstance(call.func, ast.Subscript) else None
        return [self.name(value) for value in table.values] if isinstance(table, ast.Dict) else [self.name(call.func)]

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

    def within(self, node: ast.AST, kinds: Any) -> Any:
        """The innermost node of some kinds that a node is in, if it is in one."""
        return next((above for above in self.parents(node) if isinstance(above, kinds)), None)

    def function(self, node: ast.AST) -> ast.AST | None:
        """The innermost function that a node is in, if it is in one."""
        return self.within(node, FUNCTIONS)

    def is_set(self, node: ast.AST) -> bool:
        """Whether an expression is a set for sure. One of plain numbers has the same order in every process."""
        if isinstance(node, ast.Set):
            return any(not isinstance(item, ast.Constant) or isinstance(item.value, str | bytes) for item in node.elts)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.BitOr | ast.BitAnd | ast.BitXor):
            return any(self.is_set(side) or self._is_view(side) for side in (node.left, node.right))
        if isinstance(node, ast.Name | ast.Attribute):
            return self.handle(node) in self.sets
        if isinstance(node, ast.Call):
            # One that begins empty is filled later.
            ranges = [isinstance(part, ast.Call) and self.name(part.func) == "range" for part in node.args]
            name = self.name(node.func)
            if isinstance(node.func, ast.Attribute) and node.func.attr in COMBINES:
                return name.startswith("set.") or self.is_set(node.func.value)
            return (name in ("set", "frozenset") and not any(ranges)) or f"{name.rpartition('.')[2]}()" in self.sets
        return isinstance(node, ast.SetComp)

    def _is_view(self, node: ast.AST) -> bool:
        """Whether it is the keys or items of a dictionary, of which a difference, a union and the like make sets."""
        return (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("keys", "items")
        )

    def scope(self, node: ast.AST) -> ast.With | None:
        """The innermost with-block that has a generator of its own, if a node is in one."""
        return next((above for above in self.parents(node) if isinstance(above, ast.With) and self.forks(above)), None)

    def forks(self, block: ast.With) -> bool:
        """Whether a with-block has a state of its own for PyTorch's global generator."""
        names = [self.name(getattr(item.context_expr, "func", item.context_expr)) for item in block.items]
        return any(re.search(r"(fork_rng|seeds?\.\w+)$", name) for name in names)

    def in_seed(self, node: ast.AST) -> bool:
        """Whether a value goes into a seed: given to a seeding call or a name like one, or returned as a seed."""
        for above in self.parents(node):
            if isinstance(above, ast.Call) and node is not above.func and SEEDLIKE.search(self.name(above.func)):
                return True
            if isinstance(above, ast.keyword) and above.arg and SEEDLIKE.search(above.arg):
                return True
            if isinstance(above, ast.Assign | ast.AnnAssign):
                return any(SEEDLIKE.search(ast.unparse(target)) for target in targets(above))
            if isinstance(above, ast.Return):
                inside = self.function(above)
                return bool(inside and re.search("seed", inside.name, re.IGNORECASE))
            if isinstance(above, ast.stmt):
                return False
        return False

    def iterates_over_set(self, node: ast.AST) -> bool:
        """Whether a loop or comprehension goes through a set, and its order matters."""
        if not (isinstance(node, ast.For | ast.comprehension) and self.is_set(node.iter)):
            return False
        return not self.is_orderless(node.iter)

    def is_orderless(self, node: ast.AST) -> bool:
        """Whether a value, or a list made of it, goes into that alone for which its order does not matter."""
        above = self.above.get(node)
        if isinstance(above, ast.comprehension):
            above = self.above[above]
            return isinstance(above, ast.SetComp) or (not isinstance(above, ast.DictComp) and self.is_orderless(above))
        if isinstance(above, ast.Call) and above.func is not node:
            name = self.name(above.func)
            return name in ORDERLESS or (name in HANDS_ON and self.is_orderless(above))
        if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Add):
            return self.is_orderless(above)
        if isinstance(above, ast.Compare):
            return isinstance(above.ops[0], ast.In | ast.NotIn)
        if isinstance(above, ast.If | ast.While | ast.UnaryOp):
            # Whether there is any.
            return True
        if isinstance(above, ast.For):
            # As in `for folder, folders, files in os.walk(...)`.
            names = (part for part in ast.walk(above.target) if isinstance(part, ast.Name))
            calls = [getattr(each.value, "func", None) if isinstance(each, ast.Expr) else None for each in above.body]
            removes = all(call and self.name(call).rpartition(".")[2] in REMOVES for call in calls)
            return removes or any("sort" in self._methods(self.handle(name)) for name in names)
        given = targets(above) if isinstance(above, ast.Assign | ast.AnnAssign) else []
        return bool(given) and all(self.is_sorted(self.handle(target)) for target in given)

    def is_sorted(self, handle: str) -> bool:
        """Whether what a name or an attribute has is sorted in place, or used only where its order does not matter."""
        if handle in self._asked:
            return False
        self._asked.add(handle)
        loads, calls = self._loads.get(handle, []), self._methods(handle)
        # Numbers with fractions have another sum in another order.
        sums = (isinstance(above := self.above[load], ast.Call) and self.name(above.func) == "sum" for load in loads)
        orderless = [self.is_orderless(load) for call, load in zip(calls, loads, strict=True) if call not in GROWS]
        is_sorted = "sort" in calls or (bool(orderless) and all(orderless) and not any(sums))
        self._asked.discard(handle)
        return is_sorted

    def _methods(self, handle: str) -> list[str]:
        """The attribute that each place takes of what a name or an attribute has, if it takes one."""
        return [getattr(self.above[load], "attr", "") for load in self._loads.get(handle, [])]

    @cached_property
    def _loads(self) -> dict[str, list[ast.AST]]:
        """The places that read each name and each attribute."""
        loads: dict[str, list[ast.AST]] = {}
        for node in self.nodes:
            if isinstance(getattr(node, "ctx", None), ast.Load) and (handle := self.handle(node)):
                loads.setdefault(handle, []).append(node)
        return loads


def own_names(function: ast.AST) -> set[str]:
    """The names that are a function's own: its arguments, and what it stores."""
    inside = [*ast.walk(function)]
    shared = {name for node in inside if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    stored = {node.id for node in inside if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    given = {each.arg for node in inside if isinstance(node, ast.arguments) for each in _arguments(node)}
    return (stored | given) - shared


def _arguments(node: ast.arguments) -> list[ast.arg]:
    return [*node.posonlyargs, *node.args, *node.kwonlyargs, *filter(None, (node.vararg, node.kwarg))]


def targets(node: ast.Assign | ast.AnnAssign) -> list[ast.AST]:
    """What an assignment gives its value to."""
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _pairs(target: ast.AST, value: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What an assignment gives to each of its targets: both sides of `a, b = 1, 2`."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        yield from zip(target.elts, value.elts, strict=True)
    else:
        yield target, value


def is_none(node: ast.AST | None) -> bool:
    """Whether an argument is left out, or is None."""
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


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
