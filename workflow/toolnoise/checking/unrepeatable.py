"""Values that differ between any two processes: times, numbers of the process, the system's entropy, what memory held.

A difference of two times is a duration, and times that are printed change nothing. What is left goes into a seed, into
a computation, or ends a loop. Durations matter where the least of them decides.
"""

import ast
import itertools
import re
from collections.abc import Iterator, Sequence

from toolnoise.checking.causes import LIKELY, POSSIBLE
from toolnoise.checking.reader import SEEDLIKE, Reader, targets

TIMES = re.compile(r"time\.(time|perf_counter|monotonic|process_time)(_ns)?")
CLOCKS = re.compile(
    rf"({TIMES.pattern}|datetime\.(datetime\.|date\.)?(now|utcnow|today)"
    r"|pandas\.Timestamp\.(now|utcnow|today)|uuid\.uuid[14]|os\.(getp?pid|urandom|getrandom|getloadavg)|secrets\.\w+|id"
    r"|psutil\.(virtual_memory|cpu_percent|getloadavg)|shutil\.disk_usage|torch\.cuda\.mem_get_info"
    r"|threading\.get_(native_id|ident))$"
)
# Folders and files with names that are drawn: they matter only where a name becomes a seed.
TEMPORARY = re.compile(r"tempfile\.(mk\w*temp|NamedTemporaryFile|TemporaryDirectory)$")
# What only shows a value, and what hands it on.
SHOWS = re.compile(r"(print|write|writerow|info|debug|warning|log\w*|format|strftime|isoformat|update|append|dumps?)$")
WRITES = re.compile(r"(^|\.)(write|writelines|writerows?|write_text|dumps?|save\w*|to_csv|to_json)$")
FILE = re.compile(r"[\w-]+\.[a-z]\w{1,5}")
CONVERTS = ("int", "float", "str", "round", "abs", "timestamp")
ARRAYS = re.compile(r"(numpy|torch|tensorflow|keras|jax)\.")
# What chooses by durations: with a key, or among pairs; or by their place.
CHOOSES = re.compile(r"(^|\.)(min|max|sorted|nsmallest|nlargest)$")
LEAST = re.compile(r"\.(idxmin|arg(min|max|sort))$")
# What makes an array without values, and what fills one.
EMPTY = re.compile(r"(numpy\.(empty|empty_like|ndarray)|torch\.(empty|empty_like|empty_strided))$")
FILLS = re.compile(r"\.(fill|copy_|zero_|\w+_)$|\.copyto$|\.init\.\w+_$")


class Clocks:
    """The functions and names of a program that have a time, and the functions whose result matters.

    A function or name that has only a path is True: folders may well have a name of their own.
    """

    def __init__(self, readers: Sequence[Reader]) -> None:
        self.makers: dict[str, bool] = {}
        self.held: dict[Reader, dict[str, bool]] = {reader: {} for reader in readers}
        known = None
        while known != self.makers:
            known = dict(self.makers)
            for reader in readers:
                kinds = {name: self._kind(reader, value) for name, value in reader.held.items()}
                self.held[reader] = {name: kind for name, kind in kinds.items() if kind is not None}
                for node in reader.nodes:
                    inside = reader.function(node) if isinstance(node, ast.Return) and node.value else None
                    kind = self._kind(reader, node.value, names=True) if inside else None
                    if kind is not None:
                        self.makers[inside.name] = kind and self.makers.get(inside.name, True)
        # Whether what such a function returns becomes a seed; those whose result does not matter are left out.
        self.results: dict[str, bool] = {}
        known = None
        while known != self.results:
            known = dict(self.results)
            for reader in readers:
                for node, is_seed in self.uses(reader):
                    for maker in self._makers(reader, node):
                        self.results[maker] = is_seed or self.results.get(maker, False)

    def uses(self, reader: Reader) -> Iterator[tuple[ast.AST, bool]]:
        """The places at which a time matters, and whether it becomes a seed there: also within a function."""
        for node in reader.nodes:
            kind = self._has(reader, node)
            if kind is None or getattr(reader.above.get(node), "func", None) is node:
                continue
            # Where a name has its time from.
            begins = [] if isinstance(node, ast.Call) else self._calls(reader, reader.held[reader.handle(node)])
            returned = self._returned(reader, node)
            if reader.in_seed(node):
                yield node, True
            elif returned in self.results:
                if self.results[returned] or not kind:
                    yield from ((begin, self.results[returned]) for begin in begins or [node])
            elif not kind and self._matters(reader, node) and not any(self._matters(reader, each) for each in begins):
                yield node, False

    def stamps(self, reader: Reader, outputs: set[str]) -> Iterator[tuple[ast.AST, bool]]:
        """Where a time is written, alone or in a table, and whether that is for sure into one of these files.

        A file that the text names, and that is none of them, is left out.
        """
        for call, name in reader.calls:
            if not WRITES.search(name) or name.startswith("sys."):
                continue
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
            held = [reader.held.get(reader.handle(part)) for each in given for part in ast.walk(each)]
            given += [value for value in held if value and not _is_drawn(reader, value)]
            if any(self._has(reader, part) is False for each in given for part in self._calls(reader, each)):
                opened = [item for above in reader.parents(call) if isinstance(above, ast.With) for item in above.items]
                texts = [node for each in (call, *opened, *given) for node in ast.walk(each)]
                names = {str(getattr(node, "value", "")).rpartition("/")[2] for node in texts}
                if outputs & names or not any(map(FILE.fullmatch, names)):
                    yield call, bool(outputs & names)

    def _kind(self, reader: Reader, value: ast.AST, *, names: bool = False) -> bool | None:
        """Whether a value has only a path, if it has a time at all; by a name too, if `names`."""
        if _is_drawn(reader, value):
            return None
        kinds = [
            kind
            for part in ast.walk(value)
            if (names or isinstance(part, ast.Call))
            if (kind := self._has(reader, part)) is not None and _hands_on(reader, part, value)
        ]
        return all(kinds) or _is_path(reader, value) if kinds else None

    def _has(self, reader: Reader, node: ast.AST) -> bool | None:
        """The same of a call, a name or an attribute by itself."""
        if isinstance(node, ast.Call):
            if _is_clock(reader, node):
                return False
            name = reader.name(node.func)
            return True if TEMPORARY.match(name) else self.makers.get(name.rpartition(".")[2])
        if isinstance(getattr(node, "ctx", None), ast.Load):
            return self.held[reader].get(reader.handle(node))
        return None

    def _calls(self, reader: Reader, value: ast.AST) -> list[ast.Call]:
        """The calls in a value that have a time."""
        return [part for part in ast.walk(value) if isinstance(part, ast.Call) and self._has(reader, part) is not None]

    def _makers(self, reader: Reader, node: ast.AST) -> set[str]:
        """The functions by which a call, or a name, has its time."""
        value = node if isinstance(node, ast.Call) else reader.held[reader.handle(node)]
        return {reader.name(call.func).rpartition(".")[2] for call in self._calls(reader, value)} & {*self.makers}

    def _returned(self, reader: Reader, node: ast.AST) -> str:
        """The function that returns a time, or nothing."""
        top = reader.within(node, ast.stmt)
        if not isinstance(top, ast.Return) or not _hands_on(reader, node, top):
            return ""
        return getattr(reader.function(top), "name", "")

    def _matters(self, reader: Reader, node: ast.AST) -> bool:
        """Whether a time that is no seed enters a computation, or ends a loop."""
        if _ends_loop(reader, node):
            return True
        computes, inner = False, node
        for above in reader.parents(node):
            if isinstance(above, ast.BinOp):
                other = above.right if above.left is inner else above.left
                if _is_duration(above) and any(self._has(reader, part) is False for part in ast.walk(other)):
                    return False
                # A time that is moved by a number or a name is still for watching, and folder / name is a path.
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


def _is_clock(reader: Reader, node: ast.Call) -> bool:
    name = reader.name(node.func)
    # What else the system has may stay as it is.
    return bool(CLOCKS.fullmatch(name)) or (name == "os.sysconf" and "AVPHYS" in ast.unparse(node))


def _is_drawn(reader: Reader, value: ast.AST) -> bool:
    """Whether a value is what a call makes from a seed: its draws are no times."""
    is_call = isinstance(value, ast.Call) and not _is_clock(reader, value)
    return is_call and bool(SEEDLIKE.search(reader.name(value.func)))


def _hands_on(reader: Reader, part: ast.AST, value: ast.AST) -> bool:
    """Whether a value is the time that a part of it is: no table with one, and no duration, unless it is compared."""
    between = [part, *itertools.takewhile(lambda above: above is not value, reader.parents(part)), value]
    if any(isinstance(above, ast.Compare) for above in between):
        return True
    return not any(isinstance(above, ast.Dict) or _is_duration(above) for above in between)


def _is_path(reader: Reader, node: ast.AST) -> bool:
    """Whether a value is where files lie, which may well have a run's own name."""
    return any(name.endswith(("Path", ".join", ".joinpath")) for name in reader.calls_in(node))


def _is_duration(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)


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


def choices(reader: Reader) -> Iterator[ast.AST]:
    """Where a choice among several falls by their durations."""
    held = _durations(reader)
    for node in reader.nodes:
        if isinstance(node, ast.Call):
            name = reader.name(node.func)
            # The least of durations is itself a duration; with a key, or in pairs, it is a choice.
            pairs = any(isinstance(part, ast.Call) and reader.name(part.func) == "zip" for part in node.args)
            chooses = LEAST.search(name) or (CHOOSES.search(name) and ("key" in reader.keywords(node) or pairs))
            if chooses and _is_timed(reader, node, held):
                yield node
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and _is_timed(reader, node.test, held):
            parts = [part for each in node.body if isinstance(each, ast.Assign) for part in ast.walk(each)]
            kept = {reader.handle(part) for part in parts if isinstance(getattr(part, "ctx", None), ast.Store)} - {""}
            compared = {reader.handle(part) for part in ast.walk(node.test)}
            if kept & compared and kept - compared:
                yield node


def _durations(reader: Reader) -> set[str]:
    """The names and attributes that have durations, and the functions that return one, as name()."""
    held: set[str] = set()
    for _ in range(3):
        for node in reader.nodes:
            value = getattr(node, "value", None)
            if isinstance(node, ast.Assign | ast.AnnAssign) and value:
                places = [part for target in targets(node) for part in getattr(target, "elts", [target])]
            elif isinstance(node, ast.Call) and reader.name(node.func).endswith(".append") and node.args:
                value, places = node.args[0], [node.func.value]
            elif isinstance(node, ast.Return) and value:
                if _is_timed(reader, value, held) and (inside := reader.function(node)):
                    outer = reader.function(inside)
                    held |= {f"{each.name}()" for each in (inside, *_decorated(reader, outer))}
                continue
            else:
                continue
            if _is_timed(reader, value, held):
                bases = (place.value if isinstance(place, ast.Subscript) else place for place in places)
                held |= {reader.handle(base) for base in bases} - {""}
    return held


def _decorated(reader: Reader, decorator: ast.AST | None) -> Iterator[ast.FunctionDef]:
    """The functions that a function of this file decorates."""
    for node in reader.nodes if decorator else ():
        if isinstance(node, ast.FunctionDef) and decorator.name in map(reader.name, node.decorator_list):
            yield node


def _is_timed(reader: Reader, value: ast.AST, held: set[str]) -> bool:
    """Whether a value has a duration in it."""
    for part in ast.walk(value):
        if isinstance(part, ast.BinOp) and isinstance(part.op, ast.Sub):
            ends = [part.left, reader.held.get(reader.handle(part.left))]
            if any(isinstance(end, ast.Call) and TIMES.fullmatch(reader.name(end.func)) for end in ends):
                return True
        called = isinstance(part, ast.Call) and f"{reader.name(part.func).rpartition('.')[2]}()" in held
        if called or reader.handle(part) in held:
            return True
    return False


def unfilled(reader: Reader) -> Iterator[tuple[ast.AST, int]]:
    """Where an array without values is made that nothing fills, as far as the text shows; or some part after part."""
    whole, parts = _filled(reader)
    for call, name in reader.calls:
        above = reader.above[call]
        if EMPTY.fullmatch(name) and isinstance(above, ast.Assign | ast.AnnAssign):
            handle = reader.handle(targets(above)[0])
            if handle and handle not in whole:
                yield call, POSSIBLE if handle in parts else LIKELY


def _filled(reader: Reader) -> tuple[set[str], set[str]]:
    """The names and attributes that are filled at once: by [:] = ..., by a method, as out=...; and those in parts."""
    filled, parts = set(), set()
    for node in reader.nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if not isinstance(reader.above[node], ast.AugAssign):
                at_once = ast.unparse(node.slice) in (":", "...")
                (filled if at_once else parts).add(reader.handle(node.value))
        elif isinstance(node, ast.Call):
            given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "out")]
            if FILLS.search(reader.name(node.func)):
                given += [node.func.value] if isinstance(node.func, ast.Attribute) else []
            elif any(keyword.arg == "out" for keyword in node.keywords):
                given = given[len(node.args) :]
            else:
                # A function of the program, or of a library, may fill what it is given.
                given = [part for part in node.args if not reader.name(node.func).startswith(("numpy.", "torch."))]
            filled |= {reader.handle(part) for part in given}
    return filled, parts
