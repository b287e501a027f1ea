"""Why the first operation that differs did so, as far as two records show it, and the line that comes first."""

from collections.abc import Iterable
from typing import NamedTuple

from toolnoise.checking.differences import is_time
from toolnoise.checking.trace import program_lines
from toolnoise.checking.trace.traces import Trace, TracedEvent, Value

SET = "a set in the order"
UNSEEDED = "nothing (state "  # what a generator that was given no seed is said to be seeded with
ELSEWHERE = -1  # the number of what another thread has done


class FirstCause(NamedTuple):
    """A line of the program that differs before all else, and how."""

    file: str
    line: int
    code: str
    says: str


class Explained(NamedTuple):
    """What is known of the first difference, and the lines that led to it, the first cause last."""

    says: str
    causes: list[FirstCause]


def cause(file: str, line: int, says: str) -> FirstCause:
    """A line, with its text."""
    return FirstCause(file, line, program_lines.text(file, line), says)


def explain(pair: tuple[TracedEvent | None, TracedEvent | None], one: Trace, other: Trace) -> Explained:
    """Explain two operations of the same number that differ."""
    a, b = pair
    if a is None or b is None or a.what != b.what:
        return _order(a, b, one, other)
    says, causes, goes_on = _operation(a, b, one, other)
    if goes_on and not any(each.file for each in causes):
        causes = variables(a.about.get("stack") or [(a.file, a.line)], a.index, one, other)
    return Explained(says, causes)


def _operation(a: TracedEvent, b: TracedEvent, one: Trace, other: Trace) -> tuple[str, list[FirstCause], bool]:
    """What is said of an operation, its causes, and whether the program's variables may tell more."""
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
        return f"its tensors were equal, and it was given {changed[0]} and {changed[1]}", [], True
    for _, written, is_empty in (each for each, _ in inputs):
        if is_empty:
            says = f"it reads memory that {written[1]} left uninitialised"
            return says, [cause(written[2], written[3], says.replace("it reads", "its"))], False
    if a.kind == "line":
        return f"{a.name} has other bits after this line", [], True
    if not inputs:
        return "it has no inputs: its values come from outside the framework", [], True
    return "its inputs were equal, and its output was not: the operation itself is not deterministic", [], False


def _input(which: str, written: list | None, written_b: list | None) -> tuple[str, list[FirstCause], bool]:
    if written is None:
        return f"{which} differs, and no recorded operation has made it: it comes from outside the framework", [], True
    index, name, file, line = written
    if index == ELSEWHERE or (written_b and written_b[0] == ELSEWHERE):
        name, file, line = (written if index == ELSEWHERE else written_b)[1:]
        if not name.split(".")[1].endswith("_"):
            # Each thread makes its own: what differs is when, or in which order, they are used.
            says = f"{which} differs, and another thread made it, by {name} in {file}:{line}"
            return f"{says}: they are used in another order, or they differ", [], False
        says = f"{which} differs, and another thread wrote it last, by {name}"
        return says, [cause(file, line, "threads write here, in an order of their own")], False
    says = f"{which} differs, though operation {index + 1:,} ({name}) left it equal: something else changed it since"
    return f"{says}, such as NumPy or a thread", [], True


def _draw(
    a: TracedEvent, generator: str, changed: tuple[str, str] | None, one: Trace, other: Trace
) -> tuple[str, list[FirstCause], bool]:
    """A draw, whose generator was seeded with something else, or was not seeded."""
    seeds = [
        [each for each in trace.seeds if each.name == generator and each.index <= a.index] for trace in (one, other)
    ]
    seed, seed_b = (each[-1] if each else None for each in seeds)
    if seed and seed_b and seed.text != seed_b.text:
        unseeded = seed.text.startswith(UNSEEDED) and seed_b.text.startswith(UNSEEDED)
        both = "made without a seed" if unseeded else f"seeded with {seed.text} and {seed_b.text}"
        found = variables([(seed.file, seed.line)], seed.index, one, other)
        return f"it draws, and its generator was {both}", found or [cause(seed.file, seed.line, both)], False
    if changed and not (changed[0].startswith("seed ") and seed is None):
        return f"it draws, and it had {changed[0]} and {changed[1]}", [], True
    if seed is None:
        return "it draws, and nothing has seeded its generator", [], False
    return "it draws from a generator that was seeded equally, and whose state differs", [], False


def _order(a: TracedEvent | None, b: TracedEvent | None, one: Trace, other: Trace) -> Explained:
    """Two runs that do different things."""
    if a is None or b is None:
        rest = a or b
        says = f"one run does it, and the other has ended after {rest.index:,} operations"
        at = program_lines.branch(rest.file, rest.line, 10**9)
    else:
        says = f"the other run does {b.name} in {b.file}:{b.line} instead"
        at = program_lines.branch(a.file, a.line, b.line) if a.file == b.file else None
        rest = a
    index = rest.index
    if at is None:
        stack = [*(a.about.get("stack") or [] if a else []), *(b.about.get("stack") or [] if b else [])]
        return Explained(says, variables(stack, index, one, other))
    found = variables([(rest.file, at)], index, one, other)
    return Explained(says, found or [cause(rest.file, at, "decides here, and differently")])


def variables(places: Iterable[tuple[str, int]], index: int, one: Trace, other: Trace) -> list[FirstCause]:
    """The variables that some lines read and that differ, back to the first one, which is the last of the list."""
    differing = _differing(one, other, index)
    found: list[FirstCause] = []
    seen, wanted = set(), [(file, name) for file, line in places for name in program_lines.names(file, line)]
    while True:
        earlier = [each for each in differing if (each[0].file, each[0].name) in wanted and each[0][1:4] not in seen]
        if not earlier:
            return found
        value, text = earlier[-1]
        seen.add(value[1:4])
        if value.text.startswith(SET):
            # A set is not at fault, but a loop over it.
            return found
        found.append(cause(value.file, value.line, f"{value.name} is {value.text} and {text}"))
        differing = differing[: differing.index((value, text))]
        wanted = [(value.file, name) for name in program_lines.names(value.file, value.line)]


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
    if not differing:
        return None
    value, text = differing[0]
    return cause(value.file, value.line, f"{value.name} is {value.text} and {text}")
