"""What claims add to a study: their figure and table, and checks beyond the schema."""

from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput
from toolnoise.study.kind import PUBLISHED, Kind

# What a test requires beside `of`, and the directions that it knows.
REQUIRED = {
    "ratio": ("over", "direction"),
    "equivalence": ("over", "margin"),
    "difference": ("over", "margin"),
    "level": ("direction", "reference"),
    "trend": ("along", "direction"),
    "presence": (),
}
DIRECTIONS = {"ratio": ("above", "below"), "level": ("above", "below"), "trend": ("rising", "falling")}
# Keys that only some tests have.
_ONLY = ("over", "direction", "margin", "along")

KINDS = {
    "claims": Kind(
        ("claims",),
        lambda grid: ([*grid.usual, *grid.networks], None),
        caption="""Claims of Zhuang et al. (arXiv:2106.11872), Summers & Dinneen (arXiv:2103.04514) and Pham et al.
            (doi:10.1145/3324884.3416545), and those of the study file, with a verdict on each: by the numbers that
            were published, and by study *{study}*. A dot is the effect with the interval that decides, after Holm's
            adjustment within its paper; small grey dots are its parts, by task and tooling. The blue band is what
            the claim says. A claim is supported if the interval lies on its side, and refuted if it lies on the
            other. Otherwise it is undecided, and n is about the number of independent runs per arm that would
            support or refute it with 80 % power at the observed effect. Claims that cannot fail are neither judged
            nor counted.""",
    ),
    "claim_parts": Kind(
        ("claims",),
        lambda grid: ([*grid.usual, *grid.networks], None),
        category=PUBLISHED,
        caption="""The parts of the claims, by task and tooling, on the published numbers and on study *{study}*: each
            with its effect, p-value after Holm's adjustment within its claim, and the interval that decides.""",
    ),
}


def check_registry(name: str, entries: dict[str, Any], path: Path) -> None:
    """Check the papers' claims."""
    if name == "claims":
        _require_possible(entries, (), "", path)


def check(config: dict[str, Any], registered: dict[str, Any], file: str | Path) -> None:
    """Check a study's own claims beside the papers'."""
    _require_possible(config["claims"], registered, "claims.", file)


def _require_possible(
    claims: Mapping[str, Mapping[str, Any]], taken: Container[str], at: str, file: str | Path
) -> None:
    """Refuse a claim that lacks what its test needs, has what its test does not use, or has the name of another."""
    for name, claim in claims.items():
        key, test = f"{at}{name}", claim["test"]
        if name in taken:
            raise BadInput(file, key, "a claim of resources/claims.yaml has this name", "a name of its own")
        for needed in REQUIRED[test]:
            if needed not in claim:
                raise BadInput(file, key, f"lacks the key {needed!r}", f"required with test {test!r}")
        for other in _ONLY:
            if other in claim and other not in REQUIRED[test]:
                wanted = f"test: {' or '.join(kind for kind, keys in REQUIRED.items() if other in keys)}"
                raise BadInput(file, f"{key}.{other}", f"found it with test {test!r}", wanted)
        if "direction" in claim and claim["direction"] not in DIRECTIONS[test]:
            what = f"found {claim['direction']!r} with test {test!r}"
            raise BadInput(file, f"{key}.direction", what, f"allowed: {', '.join(DIRECTIONS[test])}")
        if claim.get("margin", 2) <= 1 and not claim["measure"].endswith("_mean"):
            wanted = "allowed: the factor within which quantities count as equal, above 1"
            raise BadInput(file, f"{key}.margin", f"found {claim['margin']}", wanted)
