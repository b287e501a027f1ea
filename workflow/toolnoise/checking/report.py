"""What `toolnoise check` prints: the verdict, what differs or what each seed changes, and what was forgotten."""

from typing import Any

from toolnoise.base.printing import aligned
from toolnoise.checking import reasons
from toolnoise.checking.causes import CAUSES, Suspect
from toolnoise.checking.check import Checked, Ignored
from toolnoise.checking.differences import Difference
from toolnoise.study.outcome_files import LOGITS


def as_json(found: Checked) -> dict[str, Any]:
    """The verdict for programs."""
    why = found.diagnosis
    return {
        "command": found.words,
        "passed": found.passed,
        "reproducible": found.reproducible,
        "difference": found.difference._asdict() if found.difference.files else None,
        "phase": why.phase if why else None,
        "equal_with_fixed_hash_seed": why.hash_seed if why else None,
        "likely": [_place(one) for one in why.likely] if why else [],
        "possible": [_place(one) for one in why.possible] if why else [],
        "seeds": {
            source: changed._asdict() | {"counts": bool(changed.files)} for source, changed in found.seeds.items()
        },
        "ignored": [{**one._asdict(), "places": [_place(place) for place in one.places]} for one in found.ignored],
        "left": found.left,
        "not_compared": found.not_compared,
        "seconds": found.seconds,
    }


def as_text(found: Checked) -> str:
    """The verdict for people."""
    lines = _reproducible(found) if found.reproducible else _different(found)
    if found.not_compared:
        lines.append(f"Not compared, since they are times: {', '.join(found.not_compared)} of history.csv.")
    return "\n".join(lines)


def _reproducible(found: Checked) -> list[str]:
    lines = [f"Reproducible: two runs with equal seeds are equal bit for bit ({', '.join(found.left)})."]
    if not found.seeds:
        return lines
    rows = [("seed", "predictions", "largest difference", "from epoch")]
    rows += [(source, *_changes(changed)) for source, changed in found.seeds.items()]
    lines += ["", "Another seed changes:", *aligned(rows), ""]
    for one in found.ignored:
        lines += _ignored(one)
    if not found.ignored:
        lines.append("Every declared seed counts.")
    elif LOGITS not in found.left and not any(name.startswith("weights") for name in found.left):
        lines.append(f"Without {LOGITS} or weights, a small change may not show.")
    return lines


def _different(found: Checked) -> list[str]:
    lines = reasons.different(found.difference, found.diagnosis)
    return [*lines, "", "The seeds of sources are tested once two equal runs are equal."]


def _ignored(one: Ignored) -> list[str]:
    lines = [f"{one.source} is ignored: {one.why}. Leave it out of --sources if the program has no such noise."]
    return [*lines, *(f"  {place.file}:{place.line}: {place.code}" for place in one.places[: reasons.MOST_PLACES])]


def _changes(changed: Difference) -> tuple[str, str, str]:
    """What another seed changes, as a row."""
    if not changed.files:
        return "nothing", "", ""
    metrics = ", ".join(
        f"{name} {reasons.number(a)} and {reasons.number(b)}" for name, (a, b) in changed.metrics.items()
    )
    predictions = reasons.share(changed) or metrics or ", ".join(changed.files)
    return (
        predictions,
        "" if changed.largest is None else reasons.number(changed.largest),
        "" if changed.epoch is None else str(changed.epoch),
    )


def _place(one: Suspect) -> dict[str, Any]:
    about = CAUSES[one.cause]
    return {**one._asdict(), "says": about.says, "remedy": about.remedy, "source": about.source}
