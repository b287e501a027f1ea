"""What the first operation that differs was given, as far as two records show it."""

from toolnoise.checking.trace.traces import TracedEvent

ELSEWHERE = -1  # the number of what another thread has done


def explain(a: TracedEvent | None, b: TracedEvent | None) -> str:
    """What is known of two operations of one number that differ; None is one that a run has not made."""
    if a is None or b is None:
        rest = a or b
        return f"one run does it, and the other has ended after {rest.index:,} operations"
    if a.what != b.what:
        return f"the other run does {b.name} in {b.file}:{b.line} instead"
    inputs = list(zip(a.about.get("inputs") or [], b.about.get("inputs") or [], strict=False))
    for number, ((digest, written, _), (digest_b, written_b, _)) in enumerate(inputs, 1):
        if digest != digest_b:
            which = f"its input {number} of {len(inputs)}" if len(inputs) > 1 else "its only input"
            return _input(which, written, written_b)
    pairs = zip(a.about.get("numbers") or [], b.about.get("numbers") or [], strict=False)
    changed = next(((x, y) for x, y in pairs if x != y), None)
    if changed:
        return f"its tensors were equal, and it was given {changed[0]} and {changed[1]}"
    if a.about.get("draw"):
        return "it draws from a generator that was seeded equally, and whose state differs"
    for _, written, is_empty in (each for each, _ in inputs):
        if is_empty:
            return f"it reads memory that {written[1]} in {written[2]}:{written[3]} left uninitialised"
    if not inputs:
        return "it has no inputs: its values come from outside the framework"
    return "its inputs were equal, and its output was not: the operation itself is not deterministic"


def _input(which: str, written: list | None, written_b: list | None) -> str:
    if written is None or written_b is None:
        says = f"{which} differs, and {'in one run ' if written or written_b else ''}no recorded operation has made it"
        return f"{says}: it comes from outside the framework"
    index, name, file, line = written
    if ELSEWHERE in (index, written_b[0]):
        name, file, line = (written if index == ELSEWHERE else written_b)[1:]
        # Threads that make their own may still use it in another order.
        return f"{which} differs, and another thread made it or wrote it last, by {name} in {file}:{line}"
    if index != written_b[0]:
        says = f"{which} is another tensor: last written by operation {index + 1:,} ({name}) in one run"
        return f"{says} and {written_b[0] + 1:,} ({written_b[1]}) in the other"
    says = f"{which} differs, though operation {index + 1:,} ({name}) left it equal: another part of it was taken"
    return f"{says}, or something else changed it since, such as NumPy or a thread"
