"""What the toolings of a verdict are: whether their noise is emulated, and what stands for the word accelerator."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolnoise.analyses.claims.arms import Subject
from toolnoise.study.variants import variant

# The entries of the hardware registry by name; the published numbers have none.
Toolings = Mapping[str, Mapping[str, Any]]
EMULATED = "emulated"
# In what toolings of one device can differ, in words.
_DIFFERENCES = {
    "engine": "frameworks",
    "environment": "versions of a framework",
    "kernels": "kernel libraries",
    "isa": "instruction sets",
    "threads": "numbers of threads",
    "precision": "precisions",
    "tf32": "precisions",
    "formulas": "optimisers' formulas",
}
_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}


def injected(place: Subject, toolings: Toolings) -> bool:
    """Whether the implementation noise of some runs is put into them, and not found there."""
    known = variant(place.variant) if place.variant else None
    emulates = toolings.get(place.hardware, {}).get("impl_noise") == "reduction-order"
    return emulates and known is not None and "impl" in known.varying


def stand_for_accelerators(names: Sequence[str], toolings: Toolings) -> str:
    """What is compared if the toolings are all of one device: `two kernel libraries of one CPU`; else nothing."""
    entries = [toolings[name] for name in names if name in toolings]
    devices = {(entry["accelerator"], entry.get("device", "")) for entry in entries}
    if len(entries) < 2 or len(devices) > 1:
        return ""
    ((accelerator, device),) = devices
    what = dict.fromkeys(word for key, word in _DIFFERENCES.items() if len({entry.get(key) for entry in entries}) > 1)
    # Another framework brings its own kernels.
    words = [word for word in what if word != "kernel libraries" or "frameworks" not in what] or ["toolings"]
    count = _NUMBERS.get(len(entries), str(len(entries)))
    listed = words[0] if len(words) == 1 else f"toolings ({', '.join(words)})"
    return f"{count} {listed} of one {device or accelerator.upper()}"


def names_of(places: Iterable[Subject]) -> tuple[str, ...]:
    """The toolings of some places, each once."""
    return tuple(dict.fromkeys(place.hardware for place in places if place.hardware))
