"""What `toolnoise check` prints: the verdict, what differs or what each seed changes, and what was forgotten."""

import shutil
from collections.abc import Sequence
from typing import Any

from toolnoise.base.printing import aligned
from toolnoise.checking import invariances, reasons, resume
from toolnoise.checking.differences import Difference
from toolnoise.checking.reproducibility import Checked
from toolnoise.checking.trace import traced_runs
from toolnoise.study.outcome_files import LOGITS


def as_json(checked: Checked) -> dict[str, Any]:
    """The verdict for programs."""
    why = checked.diagnosis
    return {
        "command": checked.words,
        "python": _python(checked.words),
        "passed": checked.passed,
        "reproducible": checked.reproducible,
        "difference": checked.difference._asdict() if checked.difference.files else None,
        "phase": why.phase if why else None,
        "experiment": why.experiment if why else None,
        "likely": [reasons.place(suspect) for suspect in why.likely] if why else [],
        "possible": [reasons.place(suspect) for suspect in why.possible] if why else [],
        "parting": traced_runs.as_json(checked.parting) if checked.parting else None,
        "seeds": {
            source: changed._asdict() | {"counts": bool(changed.files)} for source, changed in checked.seeds.items()
        },
        "ignored": [
            {**row._asdict(), "places": [reasons.place(place) for place in row.places]} for row in checked.ignored
        ],
        "no_seed_is_known": checked.seedless,
        "resumed": resume.as_json(checked.resumed) if checked.resumed else None,
        "other_ways": invariances.as_json(checked.breaks),
        "changed_by_a_new_seed": checked.noise,
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
        lines += ["", *traced_runs.as_text(checked.parting)] if checked.parting else []
        lines += ["", "The seeds of sources are tested once two equal runs are equal."]
    if checked.resumed:
        lines += ["", *resume.as_text(checked.resumed, checked.noise)]
    if checked.breaks:
        lines += ["", *invariances.as_text(checked.breaks, checked.noise, checked.without_draws)]
    if times := checked.difference.times:
        values = ", ".join(f"{name} ({reasons.both(*pair)})" for name, pair in times.items())
        looks = "it looks like a time" if len(times) == 1 else "they look like times"
        differs = "differs" if len(times) == 1 else "differ"
        lines.append(f"{'Also' if checked.difference.files else 'Only'} {values} {differs}, and {looks}.")
    if checked.not_compared:
        lines.append(f"Not compared, since they look like times: {', '.join(checked.not_compared)}.")
    if python := _python(checked.words):
        lines.append(f"{checked.words[0]} is {python}.")
    return "\n".join(lines)


def _python(words: Sequence[str]) -> str | None:
    """The interpreter that a command finds on PATH; none if it names a file, or another program."""
    return shutil.which(words[0]) if words[0].startswith("python") and "/" not in words[0] else None


def _reproducible(checked: Checked) -> list[str]:
    lines = [f"Reproducible: two runs with equal seeds are equal bit for bit ({', '.join(checked.left)})."]
    if checked.seedless:
        lines.append("No seed is known: the command has no placeholder, and other TOOLNOISE_SEED_* change nothing.")
        lines.append("Name its options for seeds, such as --seed {init}. If it has none, pass --sources ''.")
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
    metrics = ", ".join(f"{name} {reasons.both(*pair)}" for name, pair in changed.metrics.items())
    predictions = reasons.share(changed) or metrics or ", ".join(changed.files)
    return (
        predictions,
        "" if changed.largest is None else reasons.number(changed.largest),
        "" if changed.epoch is None else str(changed.epoch),
    )
