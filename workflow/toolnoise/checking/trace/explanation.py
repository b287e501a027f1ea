"""Why the first operation that differs did so, as far as two records and the program's text show it.

What it was given is followed back, by the variables that a line reads, to the line that comes first.
"""

import ast
import functools
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from toolnoise.base import code_text
from toolnoise.base.times import is_time
from toolnoise.checking.trace.traces import Trace, TracedEvent, Value

SET = "a set in the order"
UNSEEDED = "nothing (state "  # what a generator that was given no seed is said to be seeded with
ELSEWHERE = -1  # the number of what another thread has done
BRANCHES = (ast.If, ast.While, ast.For)


class FirstCause(NamedTuple):
    """A line of the program that differs before all else, and how."""

    file: str
    line: int
    code: str
    says: str


def cause(file: str, line: int, says: str) -> FirstCause:
    """A line, with its text."""
    return FirstCause(file, line, text_of(file, line), says)


def explain(a: TracedEvent | None, b: TracedEvent | None, one: Trace, other: Trace) -> tuple[str, list[FirstCause]]:
    """What is known of two operations of one number that differ, and the lines that led to it, the first cause last."""
    if a is None or b is None or a.what != b.what:
        return _order(a, b, one, other)
    says, causes = _operation(a, b, one, other)
    if causes is None:
        causes = variables(a.about.get("stack") or [(a.file, a.line)], a.index, one, other)
    return says, causes


def _operation(a: TracedEvent, b: TracedEvent, one: Trace, other: Trace) -> tuple[str, list[FirstCause] | None]:
    """What is said of an operation, and its causes; None where the program's variables may tell them."""
    inputs = list(zip(a.about.get("inputs") or [], b.about.get("inputs") or [], strict=False))
    for number, ((digest, written, _), (digest_b, written_b, _)) in enumerate(inputs, 1):
        if digest != digest_b:
            which = f"its input {number} of {len(inputs)}" if len(inputs) > 1 else "its only input"
            return _input(which, written, written_b)
    pairs = zip(a.about.get("numbers") or [], b.about.get("numbers") or [], strict=False)
    changed = next(((x, y) for x, y in pairs if x != y), None)
    generator = a.about.get("generator") or (a.kind if a.about.get("draw") else "")
    if generator:
        return _draw(a, generator, changed, one, other)
    if changed:
        return f"its tensors were equal, and it was given {changed[0]} and {changed[1]}", None
    for _, written, is_empty in (each for each, _ in inputs):
        if is_empty:
            says = f"it reads memory that {written[1]} left uninitialised"
            return says, [cause(written[2], written[3], says.replace("it reads", "its"))]
    if a.kind == "line":
        return f"{a.name} has other bits after this line", None
    if not inputs:
        return "it has no inputs: its values come from outside the framework", None
    return "its inputs were equal, and its output was not: the operation itself is not deterministic", []


def _input(which: str, written: list | None, written_b: list | None) -> tuple[str, list[FirstCause] | None]:
    if written is None or written_b is None:
        says = f"{which} differs, and {'in one run ' if written or written_b else ''}no recorded operation has made it"
        return f"{says}: it comes from outside the framework", None
    index, name, file, line = written
    if ELSEWHERE in (index, written_b[0]):
        name, file, line = (written if index == ELSEWHERE else written_b)[1:]
        if not name.split(".")[1].endswith("_"):
            # Each thread makes its own: what differs is when, or in which order, they are used.
            says = f"{which} differs, and another thread made it, by {name} in {file}:{line}"
            return f"{says}: they are used in another order, or they differ", []
        says = f"{which} differs, and another thread wrote it last, by {name}"
        return says, [cause(file, line, "threads write here, in an order of their own")]
    if index != written_b[0]:
        says = f"{which} is another tensor: last written by operation {index + 1:,} ({name}) in one run"
        return f"{says} and {written_b[0] + 1:,} ({written_b[1]}) in the other", None
    says = f"{which} differs, though operation {index + 1:,} ({name}) left it equal: another part of it was taken"
    return f"{says}, or something else changed it since, such as NumPy or a thread", None


def _draw(
    a: TracedEvent, generator: str, changed: tuple[str, str] | None, one: Trace, other: Trace
) -> tuple[str, list[FirstCause] | None]:
    """A draw, whose generator was seeded with something else, or was not seeded."""
    seeds = [
        [each for each in trace.seeds if each.name == generator and each.index <= a.index] for trace in (one, other)
    ]
    seed, seed_b = (each[-1] if each else None for each in seeds)
    if seed and seed_b and seed.text != seed_b.text:
        unseeded = seed.text.startswith(UNSEEDED) and seed_b.text.startswith(UNSEEDED)
        both = "made without a seed" if unseeded else f"seeded with {seed.text} and {seed_b.text}"
        found = variables([(seed.file, seed.line)], seed.index, one, other)
        return f"it draws, and its generator was {both}", found or [cause(seed.file, seed.line, both)]
    if changed and not (changed[0].startswith("seed ") and seed is None):
        return f"it draws, and it had {changed[0]} and {changed[1]}", None
    if seed is None:
        return "it draws, and nothing has seeded its generator", []
    return "it draws from a generator that was seeded equally, and whose state differs", []


def _order(a: TracedEvent | None, b: TracedEvent | None, one: Trace, other: Trace) -> tuple[str, list[FirstCause]]:
    """Two runs that do different things."""
    if a is None or b is None:
        rest = a or b
        says = f"one run does it, and the other has ended after {rest.index:,} operations"
        at = _branch(rest.file, rest.line, 10**9)
    else:
        says = f"the other run does {b.name} in {b.file}:{b.line} instead"
        at = _branch(a.file, a.line, b.line) if a.file == b.file else None
        rest = a
    index = rest.index
    if at is None:
        stack = [*(a.about.get("stack") or [] if a else []), *(b.about.get("stack") or [] if b else [])]
        return says, variables(stack, index, one, other)
    found = variables([(rest.file, at)], index, one, other)
    return says, found or [cause(rest.file, at, "decides here, and differently")]


def variables(places: Iterable[tuple[str, int]], index: int, one: Trace, other: Trace) -> list[FirstCause]:
    """The variables that some lines read and that differ, back to the first one, which is the last of the list."""
    differing = _differing(one, other, index)
    found: list[FirstCause] = []
    seen, wanted = set(), [(file, name) for file, line in places for name in _names(file, line)]
    while True:
        earlier = [each for each in differing if (each[0].file, each[0].name) in wanted and each[0][1:4] not in seen]
        if not earlier:
            return found
        value, text = earlier[-1]
        seen.add(value[1:4])
        if value.text.startswith(SET):
            # A set is not at fault, but a loop over it.
            return found
        found.append(_told(value, text))
        differing = differing[: differing.index((value, text))]
        wanted = [(value.file, name) for name in _names(value.file, value.line)]


def _differing(one: Trace, other: Trace, index: int) -> list[tuple[Value, str]]:
    """Values that differ the first time at which their line gives one, in their order."""
    texts: dict[tuple, list[str]] = {}
    for value in other.values:
        texts.setdefault(value[1:4], []).append(value.text)
    turns: dict[tuple, int] = {}
    found = []
    for value in one.values:
        key = value[1:4]
        turn = turns[key] = turns.get(key, -1) + 1
        others = texts.get(key, [])
        if value.index <= index and turn < len(others) and others[turn] != value.text and not is_time(value.name):
            found.append((value, others[turn]))
    return found


def first_value(one: Trace, other: Trace) -> FirstCause | None:
    """The first variable that differs, where no operation does."""
    differing = _differing(one, other, max(one.count, other.count))
    return _told(*differing[0]) if differing else None


def _told(value: Value, other: str) -> FirstCause:
    return cause(value.file, value.line, f"{value.name} is {value.text} and {other}")


@functools.lru_cache(maxsize=64)
def _read(file: Path) -> tuple[list[str], ast.Module | None]:
    try:
        text = file.read_text("utf-8")
        return text.splitlines(), code_text.parse_python(text)
    except (OSError, UnicodeDecodeError, *code_text.UNREADABLE):
        return [], None


def text_of(file: str, line: int) -> str:
    """A line of a program."""
    lines, _ = _read(Path(file).resolve())
    return lines[line - 1].strip() if 0 < line <= len(lines) else ""


def _names(file: str, line: int) -> set[str]:
    """The variables that the statement of a line reads; those in the body of a loop do not count for its first line."""
    _, tree = _read(Path(file).resolve())
    statements = [node for node in ast.walk(tree) if isinstance(node, ast.stmt)] if tree else []
    around = [node for node in statements if node.lineno <= line <= (node.end_lineno or node.lineno)]
    if not around:
        return set()
    inner = min(around, key=lambda node: (node.end_lineno or node.lineno) - node.lineno)
    parts: list[ast.AST] = [inner]
    if isinstance(inner, BRANCHES):
        parts = [inner.iter] if isinstance(inner, ast.For) else [inner.test]
    elif isinstance(inner, (ast.With, ast.AsyncWith)):
        parts = list(inner.items)
    elif isinstance(inner, (ast.FunctionDef, ast.ClassDef)):
        return set()
    read = (node for part in parts for node in ast.walk(part) if isinstance(node, ast.Name))
    # x += 1 reads x.
    target = {inner.target.id} if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name) else set()
    return target | {node.id for node in read if isinstance(node.ctx, ast.Load)}


def _branch(file: str, line: int, other: int) -> int | None:
    """The line of the innermost branch or loop that has one of two lines in a part of it, and not the other."""
    _, tree = _read(Path(file).resolve())
    found = []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, BRANCHES):
            sides = [[_within(part, at) for part in (node.body, node.orelse)] for at in (line, other)]
            if sides[0] != sides[1]:
                # Both within it, in different parts: that is sure.
                found.append((not (any(sides[0]) and any(sides[1])), (node.end_lineno or 0) - node.lineno, node.lineno))
    return min(found)[2] if found else None


def _within(part: list[ast.stmt], line: int) -> bool:
    return any(each.lineno <= line <= (each.end_lineno or each.lineno) for each in part)
