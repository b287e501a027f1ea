"""What differs between two runs of a program, and what was probably forgotten, in a person's words."""

from collections.abc import Iterable, Sequence

from toolnoise.checking.causes import CAUSES, Suspect
from toolnoise.checking.diagnosis import Diagnosis
from toolnoise.checking.differences import Difference

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


def different(difference: Difference, why: Diagnosis) -> list[str]:
    """What differs between two runs that should be equal, and what was probably forgotten."""
    lines = [f"Not reproducible: two runs with equal seeds differ in {', '.join(difference.files)}."]
    lines += [f"  {part}" for part in _parts(difference)]
    lines += [PHASES[why.phase]] if why.phase else []
    lines += [HASH_SEED[why.hash_seed]] if why.hash_seed is not None else []
    lines += ["", "Likely:", *_causes(why.likely)] if why.likely else []
    lines += ["", "Possible:", *_causes(why.possible)] if why.possible else []
    if why.unseen and not why.likely:
        # A checklist.
        lines += ["", "The text of the program shows no likely cause. Often forgotten:"]
        lines += [f"  {CAUSES[cause].says}: {CAUSES[cause].remedy}" for cause in why.unseen]
    return lines


def _causes(places: Sequence[Suspect]) -> Iterable[str]:
    for cause in dict.fromkeys(place.cause for place in places):
        alike = [place for place in places if place.cause == cause]
        yield from (f"  {place.file}:{place.line}: {place.code}" for place in alike[:MOST_PLACES])
        if len(alike) > MOST_PLACES:
            yield f"  and {len(alike) - MOST_PLACES} more places"
        yield f"    {CAUSES[cause].says}: {CAUSES[cause].remedy}"


def _parts(changed: Difference) -> list[str]:
    """What differs between two runs, in a person's words."""
    parts = []
    if changed.examples:
        parts.append(f"predictions: {share(changed)}")
    if changed.largest is not None:
        parts.append(f"largest difference of a logit or value: {number(changed.largest)}")
    parts += [f"{name}: {number(a)} and {number(b)}" for name, (a, b) in changed.metrics.items()]
    if changed.tensors:
        count = f"{len(changed.tensors)} of {changed.n_tensors}"
        parts.append(f"weights: {count} tensors, the first is {changed.tensors[0]}")
    if changed.column:
        where = "the columns" if changed.epoch is None else f"epoch {changed.epoch}"
        parts.append(f"history: first in {where}, column {changed.column}")
    return parts


def share(changed: Difference) -> str:
    """How many predictions differ."""
    if not changed.examples:
        return ""
    return f"{changed.changed} of {changed.examples} ({100 * changed.changed / changed.examples:.3g} %)"


def number(value: float | None) -> str:
    """A number, or that there is none."""
    return "missing" if value is None else f"{value:.3g}"
