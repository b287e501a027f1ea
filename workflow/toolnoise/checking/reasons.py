"""What differs between two runs of a program, and what was probably forgotten, in a person's words."""

from collections.abc import Iterable, Sequence
from typing import Any

from toolnoise.checking.causes import ABOUT, CAUSES, Suspect
from toolnoise.checking.diagnosis import Diagnosis
from toolnoise.checking.differences import Difference

MOST_PLACES = 3
PHASES = {
    "start": "The runs differ before training (row 0 of history.csv): in the initial weights, or in the data.",
    "training": "The runs start alike: they part in training.",
    "evaluation": "The weights are equal: the runs part in the evaluation.",
    "order of examples": "Both runs have the same examples with the same results, in another order.",
}
EXPERIMENTS = {
    "hash seed": "By experiment: with PYTHONHASHSEED=0 two runs are equal. The hash seed is the cause.",
    "no": "By experiment: with PYTHONHASHSEED=0 two runs differ, too. So there is a cause besides the hash seed.",
    "first run": "By experiment: only the first run differs. It leaves what the others read: a checkpoint, or a cache.",
}


def different(difference: Difference, why: Diagnosis) -> list[str]:
    """What differs between two runs that should be equal, and what was probably forgotten."""
    lines = [f"Not reproducible: two runs with equal seeds differ in {', '.join(difference.files)}."]
    lines += [f"  {part}" for part in parts(difference)]
    lines += [PHASES[why.phase]] if why.phase else []
    lines += [EXPERIMENTS[why.experiment]] if why.experiment else []
    lines += ["", "Likely:", *places(why.likely)] if why.likely else []
    lines += ["", "Possible:", *places(why.possible)] if why.possible else []
    return [*lines, *_unseen(why)]


def _unseen(why: Diagnosis) -> list[str]:
    """Causes that the text does not show: a checklist where it shows nothing likely."""
    if why.likely or not why.unseen:
        return []
    return ["", "The text of the program shows no likely cause. Often forgotten:"] + [
        f"  {CAUSES[cause].says}{' without a seed' if CAUSES[cause].draws else ''}: {CAUSES[cause].remedy}"
        for cause in why.unseen
    ]


def places(found: Sequence[Suspect]) -> Iterable[str]:
    """Places that may be at fault, by cause, with what to do."""
    for cause, says in dict.fromkeys((place.cause, place.says) for place in found):
        alike = [place for place in found if (place.cause, place.says) == (cause, says)]
        yield from (f"  {place.file}:{place.line}: {place.code}" for place in alike[:MOST_PLACES])
        if len(alike) > MOST_PLACES:
            yield f"  and {len(alike) - MOST_PLACES} more places"
        yield f"    {says}: {ABOUT[cause].remedy}"


def place(suspect: Suspect) -> dict[str, Any]:
    """A place for programs."""
    about = ABOUT[suspect.cause]
    return {**suspect._asdict(), "says": suspect.says, "remedy": about.remedy, "source": about.source}


def parts(changed: Difference) -> list[str]:
    """What differs between two runs, in a person's words."""
    told = []
    if changed.examples:
        told.append(f"predictions: {share(changed)}")
    if changed.largest is not None:
        told.append(f"largest difference of a logit or value: {number(changed.largest)}")
    told += [f"{name}: {both(*pair)}" for name, pair in changed.metrics.items()]
    if changed.tensors:
        told.append(
            f"weights: {len(changed.tensors)} of {changed.n_tensors} tensors, the first is {changed.tensors[0]}"
        )
    told += [f"{name}: {change}" for name, change in changed.outputs.items()]
    if changed.column:
        where = "the columns" if changed.epoch is None else f"epoch {changed.epoch}"
        told.append(f"history: first in {where}, column {changed.column}")
    return told


def share(changed: Difference) -> str:
    """How many predictions differ."""
    if not changed.examples:
        return ""
    return f"{changed.changed} of {changed.examples} ({100 * changed.changed / changed.examples:.3g} %)"


def number(value: float | None) -> str:
    """A number, or that there is none."""
    return "missing" if value is None else f"{value:.3g}"


def both(value: float | None, other: float | None) -> str:
    """Two numbers that differ, with all their digits if three of them are alike."""
    short = number(value), number(other)
    return " and ".join(short if short[0] != short[1] else (repr(value), repr(other)))


def of_noise(changed: Difference, noise: int | None) -> str:
    """The answers that differ, as a share of those that a new seed changes."""
    if not changed.files:
        return ""
    if not noise or changed.changed is None:
        return "unknown"
    return f"{changed.changed / noise:.2g}"
