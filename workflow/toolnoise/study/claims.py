"""Claims in a study's file and in resources/claims.yaml: what an entry must have, beyond the schema."""

from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput

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


def require_possible(claims: Mapping[str, Mapping[str, Any]], taken: Container[str], at: str, file: str | Path) -> None:
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
