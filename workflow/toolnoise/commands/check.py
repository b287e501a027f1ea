"""What `toolnoise check` prints: the verdict, what differs or what each seed changes, and what was forgotten."""

from collections.abc import Iterable, Sequence
from typing import Any

from toolnoise.base.printing import aligned
from toolnoise.outside.causes import CAUSES, Suspect
from toolnoise.outside.check import Checked, Ignored
from toolnoise.outside.diagnosis import Diagnosis
from toolnoise.outside.differences import Difference
from toolnoise.outside.outcome import LOGITS

MOST_PLACES = 3
PHASES = {
    "start": "The runs differ before training (row 0 of history.csv): in the initial weights, or in the data.",
    "training": "The runs start alike: they part in training.",
    "evaluation": "The weights are equal: the runs part in the evaluation.",
    "order of examples": "Both runs have the same examples with the same results, in another order.",
}
HASH_SEED = {
    True: "By experiment: with PYTHONHASHSEED=0 two runs are equal. The hash seed is the cause.",
    False: "By experiment: with PYTHONHASHSEED=0 two runs differ, too. The hash seed is not the only cause.",
}


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


def _ignored(one: Ignored) -> list[str]:
    lines = [f"{one.source} is ignored: {one.why}. Leave it out of --sources if the program has no such noise."]
    return [*lines, *(f"  {place.file}:{place.line}: {place.code}" for place in one.places[:MOST_PLACES])]


def _different(found: Checked) -> list[str]:
    why = found.diagnosis
    lines = [f"Not reproducible: two runs with equal seeds differ in {', '.join(found.difference.files)}."]
    lines += [f"  {part}" for part in _parts(found.difference)]
    lines += [PHASES[why.phase]] if why.phase else []
    lines += [HASH_SEED[why.hash_seed]] if why.hash_seed is not None else []
    lines += ["", "Likely:", *_causes(why.likely)] if why.likely else []
    lines += ["", "Possible:", *_causes(why.possible)] if why.possible else []
    return [*lines, *_unseen(why), "", "The seeds of sources are tested once two equal runs are equal."]


def _unseen(why: Diagnosis) -> list[str]:
    """Causes that the text does not show: a checklist where it shows nothing likely."""
    if why.likely or not why.unseen:
        return []
    return ["", "The text of the program shows no likely cause. Often forgotten:"] + [
        f"  {CAUSES[cause].says}: {CAUSES[cause].remedy}" for cause in why.unseen
    ]


def _causes(places: Sequence[Suspect]) -> Iterable[str]:
    for cause in dict.fromkeys(one.cause for one in places):
        mine = [one for one in places if one.cause == cause]
        yield from (f"  {one.file}:{one.line}: {one.code}" for one in mine[:MOST_PLACES])
        if len(mine) > MOST_PLACES:
            yield f"  and {len(mine) - MOST_PLACES} more places"
        yield f"    {CAUSES[cause].says}: {CAUSES[cause].remedy}"


def _changes(changed: Difference) -> tuple[str, str, str]:
    """What another seed changes, as a row."""
    if not changed.files:
        return "nothing", "", ""
    metrics = ", ".join(f"{name} {_number(a)} and {_number(b)}" for name, (a, b) in changed.metrics.items())
    predictions = _share(changed) or metrics or ", ".join(changed.files)
    return (
        predictions,
        "" if changed.largest is None else _number(changed.largest),
        "" if changed.epoch is None else str(changed.epoch),
    )


def _parts(changed: Difference) -> list[str]:
    """What differs between two runs, in a person's words."""
    found = []
    if changed.examples:
        found.append(f"predictions: {_share(changed)}")
    if changed.largest is not None:
        found.append(f"largest difference of a logit or value: {_number(changed.largest)}")
    found += [f"{name}: {_number(a)} and {_number(b)}" for name, (a, b) in changed.metrics.items()]
    if changed.tensors:
        found.append(
            f"weights: {len(changed.tensors)} of {changed.n_tensors} tensors, the first is {changed.tensors[0]}"
        )
    if changed.column:
        where = "the columns" if changed.epoch is None else f"epoch {changed.epoch}"
        found.append(f"history: first in {where}, column {changed.column}")
    return found


def _share(changed: Difference) -> str:
    if not changed.examples:
        return ""
    return f"{changed.changed} of {changed.examples} ({100 * changed.changed / changed.examples:.3g} %)"


def _number(value: float | None) -> str:
    return "missing" if value is None else f"{value:.3g}"


def _place(one: Suspect) -> dict[str, Any]:
    about = CAUSES[one.cause]
    return {**one._asdict(), "says": about.says, "remedy": about.remedy, "source": about.source}
