"""Values that differ between any two processes: times, numbers of the process, the system's entropy; and their uses.

A difference of two times is a duration, and times that are printed change nothing. What is left goes into a seed, into
a computation, or ends a loop.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from toolnoise.checking.reader import SEEDLIKE, Reader

TIMES = re.compile(r"time\.(time|perf_counter|monotonic|process_time)(_ns)?")
CLOCKS = re.compile(
    rf"({TIMES.pattern}|datetime\.(datetime\.|date\.)?(now|utcnow|today)"
    r"|pandas\.Timestamp\.(now|utcnow|today)|uuid\.uuid[14]|os\.(getp?pid|urandom|getrandom)|secrets\.\w+|id)$"
)
# What only shows a value, and what hands it on.
SHOWS = re.compile(r"(print|write|writerow|info|debug|warning|log\w*|format|strftime|isoformat|update|append|dumps?)$")
CONVERTS = ("int", "float", "str", "round", "abs", "timestamp")
ARRAYS = re.compile(r"(numpy|torch|tensorflow|keras|jax)\.")


def functions(readers: Sequence[Reader]) -> set[str]:
    """The functions of a program that return a time, themselves or by another function."""
    names: set[str] = set()
    while True:
        more = {
            inside.name
            for reader in readers
            for node in reader.nodes
            if isinstance(node, ast.Return) and node.value and (inside := reader.function(node))
            if any(_is_clock(reader, part, names) for part in ast.walk(node.value)) and not _is_duration(node.value)
        }
        if more <= names:
            return names
        names |= more


def uses(reader: Reader, makers: set[str]) -> Iterator[tuple[ast.AST, bool]]:
    """The places at which a time matters, and whether it becomes a seed there."""
    clocked = {
        name
        for name, value in reader.held.items()
        if any(_is_clock(reader, part, makers) for part in ast.walk(value))
        if not (_is_duration(value) or _is_generator(reader, value) or _is_path(reader, value))
    }
    for node in reader.nodes:
        loaded = isinstance(getattr(node, "ctx", None), ast.Load) and reader.handle(node) in clocked
        if loaded and isinstance(node, ast.Attribute) and getattr(reader.above[node], "func", None) is node:
            continue
        if not (loaded or _is_clock(reader, node, makers)):
            continue
        if reader.in_seed(node):
            yield node, True
        elif _matters(reader, node, makers, clocked):
            yield node, False


def _is_clock(reader: Reader, node: ast.AST, makers: set[str]) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = reader.name(node.func)
    return bool(CLOCKS.fullmatch(name)) or name.rpartition(".")[2] in makers


def _is_generator(reader: Reader, node: ast.AST) -> bool:
    """Whether a value is what a call makes from a seed: its draws are no times."""
    return isinstance(node, ast.Call) and bool(SEEDLIKE.search(reader.name(node.func)))


def _is_path(reader: Reader, node: ast.AST) -> bool:
    """Whether a value is where files lie, which may well have a run's own name."""
    calls = (reader.name(part.func) for part in ast.walk(node) if isinstance(part, ast.Call))
    return any(name.endswith(("Path", ".join", ".joinpath")) for name in calls)


def _is_duration(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)


def _matters(reader: Reader, node: ast.AST, makers: set[str], clocked: set[str]) -> bool:
    """Whether a time that is no seed enters a computation, or ends a loop."""
    if _ends_loop(reader, node):
        return True
    computes, inner = False, node
    for above in reader.parents(node):
        if isinstance(above, ast.BinOp):
            other = above.right if above.left is inner else above.left
            if _is_duration(above) and any(
                _is_clock(reader, part, makers) or reader.handle(part) in clocked for part in ast.walk(other)
            ):
                return False
            # A time that is moved by a number or a name is still for watching the clock, and folder / name is a path.
            moves = isinstance(above.op, ast.Sub | ast.Add) and isinstance(other, ast.Constant | ast.Name)
            computes |= not (moves or (isinstance(above.op, ast.Div) and inner is above.right))
        elif isinstance(above, ast.Call) and inner is not above.func:
            name = reader.name(above.func)
            if ARRAYS.match(name):
                return True
            if name.rpartition(".")[2] not in CONVERTS:
                return computes and not SHOWS.search(name)
        elif isinstance(above, ast.keyword) and above.arg == "key":
            return True
        elif isinstance(above, ast.JoinedStr | ast.Compare) or (isinstance(above, ast.Subscript) and not computes):
            # An object is found by its id().
            return False
        elif isinstance(above, ast.stmt):
            return computes
        inner = above
    return False


def _ends_loop(reader: Reader, node: ast.AST) -> bool:
    """Whether a value decides when a loop ends."""
    inner = node
    for above in reader.parents(node):
        if isinstance(above, ast.While | ast.If) and inner is above.test:
            return isinstance(above, ast.While) or any(isinstance(each, ast.Break | ast.Return) for each in above.body)
        if isinstance(above, ast.stmt):
            return False
        inner = above
    return False
