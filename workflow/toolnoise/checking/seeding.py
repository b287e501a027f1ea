"""Whether a program seeds a generator before it draws from it, and with a seed, as far as the order of its text shows.

A place is reached by a chain of calls from the first file's first line: each link is a line of the function, or of the
module, that the link before it enters. Two chains part at one link, in one text, and there the higher line comes first.

A seed may be None: an option that the command lacks, a key that is not there, an argument left out.
"""

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from toolnoise.checking.causes import UNSEEDED
from toolnoise.checking.program_text import modules
from toolnoise.checking.reader import Reader, is_none

MOST_CHAINS, MOST_LINKS, MOST_STEPS = 50, 8, 4
# What a loader's workers seed for themselves.
IN_WORKERS = " in workers"
BRANCHES = (ast.If, ast.IfExp, ast.ExceptHandler)


class Link(NamedTuple):
    """A place in a chain: line and column, and the branches that it stands in."""

    place: tuple[int, int]
    branches: frozenset[ast.AST]


Chain = tuple[Link, ...]


class Seeded(NamedTuple):
    """What is known of a draw's generator: it is seeded `before` the draw, `behind` it, or it may be; and where."""

    order: str
    where: str

    @property
    def says(self) -> str:
        """The end of a sentence whose subject is the draw's generator."""
        return {
            "never": UNSEEDED,
            "behind": f", before {self.where} seeds it",
            "before": f", which {self.where} seeds first",
            "perhaps": f", which {self.where} may not have seeded by then",
        }[self.order]


NEVER = Seeded("never", "")


class Calls:
    """Who enters each function and each module of a program, from where."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        self.main = readers[0].source.tree if readers else None
        self.entries: dict[ast.AST, list[tuple[Reader, ast.AST]]] = {}
        self.known: dict[tuple[ast.AST, int], list[Chain]] = {}
        called: dict[str, list[tuple[Reader, ast.AST]]] = {}
        for reader in readers:
            for call, name in reader.calls:
                # A function that is given to a call is probably called by it.
                given = [argument.id for argument in call.args if isinstance(argument, ast.Name)]
                for each in (name.rpartition(".")[2], *given):
                    called.setdefault(each, []).append((reader, call))
        for reader in readers:
            for node in reader.nodes:
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    # A method cannot run before its object is made.
                    owner = reader.above[node]
                    name = owner.name if isinstance(owner, ast.ClassDef) else node.name
                    self.entries[node] = called.get(name, [])
            self.entries[reader.source.tree] = [
                (other, node)
                for other in readers
                if other is not reader
                for node in other.nodes
                if isinstance(node, ast.Import | ast.ImportFrom)
                and reader.source.file in _files(node, PurePosixPath(other.source.file).parent)
            ]

    def chains(self, reader: Reader, node: ast.AST, links: int = MOST_LINKS) -> list[Chain]:
        """The ways to a place, at most MOST_CHAINS; none if no call is known that leads there."""
        inside = reader.function(node) or reader.source.tree
        branches = (above for above in reader.parents(node) if isinstance(above, BRANCHES) and not _is_start(above))
        link = Link((node.lineno, node.col_offset), frozenset(branches))
        if inside is self.main:
            return [(link,)]
        return [(*chain, link) for chain in self._ways(inside, links - 1)]

    def _ways(self, inside: ast.AST, links: int) -> list[Chain]:
        if links and (inside, links) not in self.known:
            ways = (chain for entry in self.entries[inside] for chain in self.chains(*entry, links))
            self.known[inside, links] = list(itertools.islice(ways, MOST_CHAINS))
        return self.known.get((inside, links), [])


def _files(node: ast.Import | ast.ImportFrom, folder: PurePosixPath) -> Iterator[str]:
    """The files that an import statement in a folder may run."""
    for name in modules(node):
        path = name.replace(".", "/")
        for base in (PurePosixPath(), folder):
            yield from (str(base / f"{path}.py"), str(base / path / "__init__.py"))


def _is_start(branch: ast.AST) -> bool:
    """Whether a branch is `if __name__ == "__main__"`."""
    return isinstance(branch, ast.If) and "__name__" in ast.unparse(branch.test)


def seeded(
    calls: Calls, starts: Sequence[tuple[Reader, ast.AST]], reader: Reader, node: ast.AST, *, later: bool = False
) -> Seeded:
    """Whether one of `starts` seeds a generator before a place draws from it; `later` if the place only prepares it."""
    if not starts:
        return NEVER
    draws = calls.chains(reader, node)
    seedings = [(start, chain) for start in starts for chain in calls.chains(*start)]
    first = starts[0]
    if draws and seedings:
        sure = [next((start for start, seeding in seedings if _precedes(seeding, draw)), None) for draw in draws]
        if all(sure):
            return Seeded("before", _where(reader, sure[0]))
        if not later and any(all(_is_behind(seeding, draw) for _, seeding in seedings) for draw in draws):
            return Seeded("behind", _where(reader, first))
    return Seeded("perhaps", _where(reader, first))


def _where(reader: Reader, start: tuple[Reader, ast.AST]) -> str:
    other, node = start
    return f"line {node.lineno}" if other is reader else f"{other.source.file}:{node.lineno}"


def _precedes(seeding: Chain, draw: Chain) -> bool:
    """Whether a seeding comes first, and nothing decides on the way whether it happens."""
    for number, (link, other) in enumerate(zip(seeding, draw, strict=False)):
        if link.place != other.place:
            conditions = (each.branches for each in seeding[number + 1 :])
            return link.place < other.place and link.branches <= other.branches and not any(conditions)
    return False


def _is_behind(seeding: Chain, draw: Chain) -> bool:
    return next((a.place > b.place for a, b in zip(seeding, draw, strict=False) if a.place != b.place), False)


def by_kind(
    readers: Sequence[Reader], kinds_of: Mapping[str, Sequence[str]], of_all: Sequence[str], every: Sequence[str]
) -> dict[str, list[tuple[Reader, ast.Call]]]:
    """The calls that seed each kind of generator for the whole program, with a seed.

    A helper of the program's own seeds what its text seeds, whatever its name is.
    """
    own = {function.name for reader in readers for function in reader.local}
    begins = {
        name for reader in readers for node in reader.nodes if _is_worker(node) for name in reader.called(node.value)
    }
    starts: dict[str, list[tuple[Reader, ast.Call]]] = {}
    for reader in readers:
        for call, name in reader.calls:
            last = name.rpartition(".")[2]
            kinds = kinds_of.get(name) or (every if last in of_all and last not in own else ())
            if (call.args or call.keywords) and not reader.scope(call):
                within = IN_WORKERS if getattr(reader.function(call), "name", "") in begins else ""
                for kind in kinds:
                    starts.setdefault(kind + within, []).append((reader, call))
        for node in reader.nodes:
            # A seeding function in a list, or one that is handed on.
            called, kept = getattr(reader.above.get(node), "func", None) is node, reader.above.get(node)
            if isinstance(node, ast.Attribute | ast.Name) and not called and not _is_worker(kept):
                for kind in kinds_of.get(reader.name(node), ()):
                    starts.setdefault(kind, []).append((reader, node))
    return starts


def _is_worker(node: ast.AST | None) -> bool:
    """Whether it hands on what each worker of a loader begins with."""
    return isinstance(node, ast.keyword) and node.arg == "worker_init_fn"


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
