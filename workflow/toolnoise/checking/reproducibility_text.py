"""What `toolnoise check` prints: the verdict, what differs or what each seed changes, and what was forgotten."""

from typing import Any

from toolnoise.base.printing import aligned
from toolnoise.checking import reasons
from toolnoise.checking.causes import CAUSES, Suspect
from toolnoise.checking.differences import Difference
from toolnoise.checking.reproducibility import Checked
from toolnoise.study.outcome_files import LOGITS


def as_json(checked: Checked) -> dict[str, Any]:
    """The verdict for programs."""
    why = checked.diagnosis
    return {
        "command": checked.words,
        "passed": checked.passed,
        "reproducible": checked.reproducible,
        "difference": checked.difference._asdict() if checked.difference.files else None,
        "phase": why.phase if why else None,
        "equal_with_fixed_hash_seed": why.hash_seed if why else None,
        "likely": [_place(suspect) for suspect in why.likely] if why else [],
        "possible": [_place(suspect) for suspect in why.possible] if why else [],
        "seeds": {
            source: changed._asdict() | {"counts": bool(changed.files)} for source, changed in checked.seeds.items()
        },
        "ignored": [{**row._asdict(), "places": [_place(place) for place in row.places]} for row in checked.ignored],
        "left": checked.left,
        "not_compared": checked.not_compared,
        "seconds": checked.seconds,
    }


def as_text(checked: Checked) -> str:
    """The verdict for people."""
    if checked.reproducible:
        lines = _reproducible(checked)
    else:
        lines = reasons.different(checked.difference, checked.diagnosis)
        lines += ["", "The seeds of sources are tested once two equal runs are equal."]
    if checked.not_compared:
        lines.append(f"Not compared, since they are times: {', '.join(checked.not_compared)} of history.csv.")
    return "\n".join(lines)


def _reproducible(checked: Checked) -> list[str]:
    lines = [f"Reproducible: two runs with equal seeds are equal bit for bit ({', '.join(checked.left)})."]
    if not checked.seeds:
        return lines
    rows = [("seed", "predictions", "largest difference", "from epoch")]
    rows += [(source, *_changes(changed)) for source, changed in checked.seeds.items()]
    lines += ["", "Another seed changes:", *aligned(rows), ""]
    for row in checked.ignored:
        lines.append(f"{row.source} is ignored: {row.why}. Leave it out of --sources if the program has no such noise.")
        lines += [f"  {place.file}:{place.line}: {place.code}" for place in row.places[: reasons.MOST_PLACES]]
    if not checked.ignored:
        lines.append("Every declared seed counts.")
    elif LOGITS not in checked.left and not any(name.startswith("weights") for name in checked.left):
        lines.append(f"Without {LOGITS} or weights, a small change may not show.")
    return lines


def _changes(changed: Difference) -> tuple[str, str, str]:
    """What another seed changes, as a row."""
    if not changed.files:
        return "nothing", "", ""
    metrics = (f"{name} {reasons.number(a)} and {reasons.number(b)}" for name, (a, b) in changed.metrics.items())
    predictions = reasons.share(changed) or ", ".join(metrics) or ", ".join(changed.files)
    largest = "" if changed.largest is None else reasons.number(changed.largest)
    return predictions, largest, "" if changed.epoch is None else str(changed.epoch)


def _place(suspect: Suspect) -> dict[str, Any]:
    about = CAUSES[suspect.cause]
    return {**suspect._asdict(), "says": about.says, "remedy": about.remedy, "source": about.source}
