"""What `keep` says: the answer in a sentence, what the loop has used and kept, and the false keeps to expect."""

from typing import Any

from toolnoise.base.printing import counted, decimals_by_uncertainty, rounded_text
from toolnoise.comparison.keep import Answer, Loop, false_keeps

SHOWN = 10  # names in a line


def as_json(loop: Loop, answer: Answer) -> dict[str, Any]:
    """The answer and the loop as plain values; gains are positive where a change is better."""
    changes = [
        {"change": each.name, "state": each.state, "runs": len(each.values), "tested_runs": each.tested}
        | {"gain": each.gain, "z": each.z, "threshold": loop.rule.get(each.tested)}
        for each in loop.tried
    ]
    return {
        "answer": answer.word,
        "change": answer.change.name if answer.change else None,
        "more": answer.more,
        "incumbent": loop.incumbent.name if loop.incumbent else None,
        "runs": loop.runs,
        "crashes": loop.crashes,
        "kept": [each.name for each in loop.tried if each.state == "kept"],
        "false_keeps_expected": false_keeps(len(changes), loop.rule),
        "changes": changes,
    }


def as_text(loop: Loop, answer: Answer, values: dict[str, Any], metric: str) -> str:
    """The answer, and below it what the loop has used and kept."""
    kept, tried = values["kept"], len(loop.tried)
    names = f" ({', '.join(kept[:SHOWN])}{', ...' if len(kept) > SHOWN else ''})" if kept else ""
    crashed = f", {loop.crashes} of which crashed" if loop.crashes else ""
    lines = [_sentence(loop, answer, metric)]
    lines += [f"runs used: {loop.runs}{crashed}; changes tried: {tried}; kept so far: {len(kept)}{names}"]
    if tried:
        expected = f"{values['false_keeps_expected']:.2g}"
        lines += [f"false keeps to expect if no change had an effect: {expected} of {tried}"]
    return "\n".join(lines)


def _sentence(loop: Loop, answer: Answer, metric: str) -> str:
    """The answer, and why."""
    word, change, more = answer
    times = counted(more, "more time")
    if change is None:
        name = loop.incumbent.name if loop.incumbent else ""
        return f"run a new change: the incumbent {name} has its {loop.needed} runs"
    if change is loop.incumbent and word == "run":
        return f"run the incumbent {change.name} {times}: before it has {loop.needed} runs, nothing can be kept"
    if change.state == "crashed":
        return f"drop {change.name}: a run of it crashed"
    if change.z is None or change.gain is None:
        return f"run {change.name} {times}"
    limit = f"{'at most' if word == 'drop' else 'above'} {loop.rule[change.tested]:g}"
    tested = f"z = {change.z:.2f} after {counted(change.tested, 'run')}, {limit}"
    gain = rounded_text(abs(change.gain), decimals_by_uncertainty(loop.sd()))
    side = f"{gain} {'better' if change.gain > 0 else 'worse'}"
    return (
        f"{word} {change.name}{f' {times}' if word == 'run' else ''}: {metric} {side} than the incumbent's ({tested})"
    )
